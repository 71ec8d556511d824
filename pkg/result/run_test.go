package result

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

func ptr[T any](v T) *T { return &v }

const second = record.Stamp(1e9)

// sampleFacts is a run of 100 s with 2 lanes under a rule set.
func sampleFacts() *Facts {
	origin := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	return &Facts{
		Program: Program{Name: "agentx", Version: "0.1.0"}, RunID: "run-1", Mode: ModeAgentic,
		OriginAt: origin, StartedAt: origin, EndedAt: origin.Add(130 * time.Second), Command: []string{"agentx", "replay"},
		Scenario: Scenario{Name: "inferencex-agentx-mvp", Version: "1", StartMinRatio: ptr(0.0), StartMaxRatio: ptr(1.0), CoverageRequired: ptr(0.95)},
		Settings: Settings{Concurrency: 2, DurationS: ptr(100.0), Seed: ptr[int64](42), StartMinRatio: ptr(0.0), StartMaxRatio: ptr(1.0),
			WarmupRequestsPerLane: ptr(1), History: "recorded", Counting: record.CountServer, Model: "sim", SliceS: ptr(30.0)},
		Corpus: &Corpus{Name: "sample", SourceType: "folder", Digest: "abc", Traces: 11, Kept: 11, PeakTokens: 9000},
		Phases: []Phase{{Name: record.PhaseWarmup, Start: 1 * second, End: 10 * second}, {Name: record.PhaseProfiling, Start: 10 * second, End: 110 * second, EndedBy: "duration"}},
		Engine: EngineFacts{URL: "http://127.0.0.1:1", Name: "sim", MaxModelLen: ptr[int64](131072), ColdStart: &ColdStart{PromptTokensBefore: ptr(0.0)},
			Profiling: &Counters{PrefixCacheQueries: ptr(1000.0), PrefixCacheHits: ptr(900.0), PromptTokensBySource: map[string]float64{"local_cache_hit": 3, "local_compute": 1}}},
		GPUs:        &GPUs{Model: "H200", Count: 2},
		Calibration: &Calibration{TemplateConstant: ptr(3.0), TemplatePerMessage: ptr(4.0)},
	}
}

// sampleRecords plays 11 traces on 2 lanes, a request a second and lane, with
// one error, one overflow, one censored request and one of warm-up.
func sampleRecords() []record.Record {
	rnd := rand.New(rand.NewPCG(1, 2))
	var out []record.Record
	for i := range 200 {
		lane, k := i%2, i/2
		r := record.Record{
			Asked: record.Asked{Num: i, Phase: record.PhaseProfiling, Kind: record.KindTurn, TraceID: "trace_" + string(rune('a'+k%11)), Lane: lane, Tree: lane,
				Turn: k % 20, RequestID: "r", CorrelationID: "c", Model: "sim", MaxTokens: 20, RecordedIn: 640, RecordedOut: 20, TextTokens: 640, MarkTokens: 12, Messages: 3,
				BlockSize: 64, Blocks: 10, HitInstant: 9, HitCausal: 8, IdealEnded: 8, IdealBegun: 9},
		}
		r.Asked.StreamID = r.Asked.TraceID
		at := 10*second + record.Stamp(k)*second + record.Stamp(lane)*second/2
		first := at + record.Stamp(1e8+rnd.Int64N(1e8))
		end := first + record.Stamp(2e8+rnd.Int64N(2e8))
		r.Asked.Due, r.Asked.Ready, r.Asked.Issued = at, at, at+1e5
		r.Seen = record.Seen{Outcome: record.OK, Status: 200, Sent: at + 2e5, Headers: at + 3e5, FirstByte: first, FirstToken: first, FirstOutput: first, SecondToken: first + 1e7, LastToken: end - 1e6, End: end,
			Chunks: 3, ChunkGapsNs: []int64{1e7, int64(end-1e6-first) - 1e7},
			Usage: &record.Usage{PromptTokens: ptr[int64](640 + 12 + 3 + 12), CompletionTokens: ptr[int64](20), CachedTokens: ptr[int64](512)},
			HTTP:  record.HTTP{BlockedNs: ptr[int64](1000)}}
		switch i {
		case 0:
			r.Asked.Phase, r.Asked.Kind = record.PhaseWarmup, record.KindPrimer
		case 50:
			r.Seen = record.Seen{Outcome: record.Failed, Status: 500, Sent: at + 2e5, End: end, Error: &record.Error{Code: 500, Type: "http_status", Message: "boom"}}
		case 60:
			r.Seen = record.Seen{Outcome: record.Overflow, Status: 400, Sent: at + 2e5, End: end, Error: &record.Error{Code: 400, Type: "context_overflow", Message: "maximum context"}}
		case 199:
			r.Seen.Outcome, r.Seen.Usage = record.Censored, nil
		}
		out = append(out, r)
	}
	return out
}

func sampleTrees() []record.Tree {
	return []record.Tree{
		{Num: 0, Lane: 0, TraceID: "trace_a", Start: 1 * second, Why: record.TreeCut, Requests: 90, Children: 2, Joins: 1, PeakLive: 3},
		{Num: 1, Lane: 1, TraceID: "trace_b", Start: 1 * second, End: 60 * second, Why: record.TreeDrained, Requests: 50, PeakLive: 1},
		{Num: 2, Lane: 1, TraceID: "trace_c", Pass: 1, Whole: true, Start: 60 * second, End: 100 * second, RecordedNs: 20e9, Why: record.TreeDrained, Requests: 40, PeakLive: 2},
		{Num: 3, Lane: 1, TraceID: "trace_d", Start: 100 * second, Why: record.TreeCut},
	}
}

// writeLines writes one value a line.
func writeLines[T any](t testing.TB, w io.Writer, values []T) {
	t.Helper()
	out := record.NewWriter[T](w)
	for i := range values {
		if err := out.Write(&values[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

func writeFile[T any](t testing.TB, dir, name string, values []T) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	writeLines(t, f, values)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// sampleDir is a folder as a run leaves it, without any result.
func sampleDir(t testing.TB, facts *Facts) string {
	t.Helper()
	dir := t.TempDir()
	if err := WriteFacts(dir, facts); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, FileRecords, sampleRecords())
	writeFile(t, dir, FileTrees, sampleTrees())
	var samples []record.Sample
	for s := record.Stamp(12); s < 110; s += 2 {
		samples = append(samples, record.Sample{At: s * second, Phase: record.PhaseProfiling, CPUShare: ptr(0.1), HeapBytes: 1 << 20})
	}
	writeFile(t, dir, FileSamples, samples)
	return dir
}

func finished(t testing.TB, facts *Facts) (string, *Document) {
	t.Helper()
	dir := sampleDir(t, facts)
	d, err := Finish(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, d
}
