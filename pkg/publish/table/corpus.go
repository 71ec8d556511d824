package table

import (
	"fmt"
	"io"
)

// TraceRow holds the figures of one trace, or of a whole set.
type TraceRow struct {
	ID        string
	Requests  int
	Subagents int
	// Sums over the requests, in tokens.
	InTokens  int64
	OutTokens int64
	// Prefix hits of the input that an endless cache allows, 0..1
	// (decisions.md 3). Without input tokens there is no rate.
	HitInstant float64
	HitCausal  float64
	// Largest input plus output, in tokens.
	MaxContext int64
	// From the first start to the last end, in seconds.
	SpanS float64
	// Streams (root and children); 0 means not known.
	Streams int
}

// Corpus shows the figures of traces and of all of them together.
func Corpus(w io.Writer, traces []TraceRow, total TraceRow) error {
	streams := total.Streams > 0
	for _, t := range traces {
		streams = streams || t.Streams > 0
	}
	g := grid{
		head: []string{"Trace", "requests", "subagents", "input", "output", "hits", "causal", "max ctx", "span"},
		max:  20,
		foot: total.cells(streams),
	}
	if streams {
		g.head = append(g.head, "streams")
	}
	for _, t := range traces {
		g.rows = append(g.rows, t.cells(streams))
	}
	if len(g.rows) == 0 {
		g.rows = [][]string{{"no traces"}}
	}
	p := &page{}
	p.table(g)
	p.note("Input, output and max ctx (largest input plus output of a request) in tokens. Hits: share of the input that an endless " +
		"prefix cache could reuse; causal: only of requests that had been answered by then.")
	if p.err != nil {
		return fmt.Errorf("table: %w", p.err)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

func (t *TraceRow) cells(streams bool) []string {
	instant, causal := absent, absent
	if t.InTokens > 0 {
		instant, causal = percent(t.HitInstant), percent(t.HitCausal)
	}
	row := []string{t.ID, whole(t.Requests), whole(t.Subagents), count(float64(t.InTokens)), count(float64(t.OutTokens)),
		instant, causal, count(float64(t.MaxContext)), seconds(t.SpanS)}
	if streams {
		row = append(row, some(t.Streams))
	}
	return row
}
