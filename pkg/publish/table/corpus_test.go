package table

import (
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

func TestCorpusGolden(t *testing.T) {
	traces := []TraceRow{
		{ID: "trace_0014", Requests: 123, Subagents: 1, InTokens: 12_345_678, OutTokens: 54_321, HitInstant: 0.9514, HitCausal: 0.951, MaxContext: 167_990, SpanS: 4_711.3, Streams: 3},
		{ID: "a|b\n\x1b[31mc\x1b[0m 漢字漢字漢字漢字漢字漢字漢字漢字漢字", Requests: 1, InTokens: 100, OutTokens: 1, HitInstant: 0, HitCausal: 0, MaxContext: 101, SpanS: 0.25},
		{ID: "empty"},
	}
	total := TraceRow{ID: "all 3", Requests: 124, Subagents: 1, InTokens: 12_345_778, OutTokens: 54_322, HitInstant: 0.9513, HitCausal: 0.95, MaxContext: 167_990, SpanS: 4_711.55, Streams: 4}
	var b strings.Builder
	if err := Corpus(&b, traces, total); err != nil {
		t.Fatal(err)
	}
	golden(t, "corpus.txt", b.String())
	harmless(t, b.String(), false)
	for _, line := range strings.Split(b.String(), "\n") {
		if w := twwidth.Width(line); w > lineWidth {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	for i := range traces {
		traces[i].Streams = 0
	}
	total.Streams = 0
	b.Reset()
	if err := Corpus(&b, traces, total); err != nil || strings.Contains(b.String(), "streams") {
		t.Errorf("streams that nobody counted (%v):\n%s", err, b.String())
	}
}

func BenchmarkCorpus(b *testing.B) {
	traces := make([]TraceRow, 1000)
	for i := range traces {
		traces[i] = TraceRow{ID: "trace", Requests: i, InTokens: int64(i) * 1000, SpanS: float64(i)}
	}
	for b.Loop() {
		if err := Corpus(&strings.Builder{}, traces, TraceRow{ID: "all"}); err != nil {
			b.Fatal(err)
		}
	}
}
