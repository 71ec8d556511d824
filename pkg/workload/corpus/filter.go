package corpus

import (
	"fmt"
	"math"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// Selection says what the filters kept and dropped, and why.
type Selection struct {
	Read, Kept        int // traces
	OverContext       int // dropped: a request exceeds MaxContextTokens
	OverEntries       int // dropped: behind the first Entries
	MaxContextTokens  int // the limits, as asked
	Entries           int
	PeakContextTokens int // the largest prompt and answer before the filters
	KeptContextTokens int // the same of the traces that were kept
}

// Dropped is the number of traces that the filters took out.
func (s Selection) Dropped() int { return s.OverContext + s.OverEntries }

// String is one sentence: kept 20 of 25 traces; 5 need more than …
func (s Selection) String() string {
	text := fmt.Sprintf("kept %d of %d traces", s.Kept, s.Read)
	if s.OverContext > 0 {
		text += fmt.Sprintf("; %d need more than %d tokens of context (the largest %d)", s.OverContext, s.MaxContextTokens, s.PeakContextTokens)
	}
	if s.OverEntries > 0 {
		text += fmt.Sprintf("; %d stand behind the first %d", s.OverEntries, s.Entries)
	}
	return text
}

// selectFrom applies the filters in the order of spec/replay.md §2.1: a trace is
// dropped whole or not at all, and the context limit comes before the count.
func (o Options) selectFrom(traces []*trace.Trace) ([]*trace.Trace, Selection, error) {
	s := Selection{Read: len(traces), MaxContextTokens: o.MaxContextTokens, Entries: o.Entries}
	var kept []*trace.Trace
	smallest := math.MaxInt
	for _, t := range traces {
		peak := o.peakContext(t)
		s.PeakContextTokens = max(s.PeakContextTokens, peak)
		smallest = min(smallest, peak)
		switch {
		case o.MaxContextTokens > 0 && peak > o.MaxContextTokens:
			s.OverContext++
		case o.Entries > 0 && len(kept) == o.Entries:
			s.OverEntries++
		default:
			kept = append(kept, t)
			s.KeptContextTokens = max(s.KeptContextTokens, peak)
		}
	}
	s.Kept = len(kept)
	if s.Kept == 0 {
		return nil, s, fmt.Errorf("none of the %d traces fits into %d tokens of context; the smallest needs %d: raise the limit, or take a corpus with shorter contexts", s.Read, o.MaxContextTokens, smallest)
	}
	return kept, s, nil
}

// peakContext is the most context that a request of the trace needs, its answer
// included. An answer has at least one token (decisions.md 8).
func (o Options) peakContext(t *trace.Trace) int {
	peak := 0
	for r, sub := range t.All {
		out := r.Out
		if sub == nil && o.MaxOutputTokens > 0 {
			out = min(out, o.MaxOutputTokens)
		}
		peak = max(peak, r.In+max(out, 1))
	}
	return peak
}
