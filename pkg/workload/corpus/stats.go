package corpus

import (
	"cmp"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// Stats are the figures of a corpus. Names and definitions are those of the
// oracle (spec/traces.md §14, §5.2; decisions.md 3). Ratios are of tokens, from
// 0 to 1, rounded to six digits.
type Stats struct {
	Total  Total        `json:"total"`
	Traces []TraceStats `json:"traces"`
}

// Counts are the sums that a trace and a corpus both have.
type Counts struct {
	Requests          int   `json:"requests"`
	MainRequests      int   `json:"main_requests"`
	InnerRequests     int   `json:"inner_requests"` // inside subagents
	Subagents         int   `json:"subagents"`
	RelativeSubagents int   `json:"relative_subagents"` // inner times counted from the subagent's start
	AbsoluteSubagents int   `json:"absolute_subagents"`
	EmptySubagents    int   `json:"empty_subagents"`
	InTokens          int64 `json:"in_tokens"`
	OutTokens         int64 `json:"out_tokens"`
	HashIDs           int64 `json:"hash_ids"`        // as recorded
	UsableBlocks      int64 `json:"usable_blocks"`   // whole ones (decisions.md 2)
	DistinctBlocks    int64 `json:"distinct_blocks"` // different beginnings, inside each trace
	TailTokens        int64 `json:"tail_tokens"`     // of prompts, in no usable block

	HitBlocksInstant  int64   `json:"hit_blocks_instant"`
	HitTokensInstant  int64   `json:"hit_tokens_instant"`
	HitRatioInstant   float64 `json:"hit_ratio_instant"`
	HitBlocksCausal   int64   `json:"hit_blocks_causal"`
	HitTokensCausal   int64   `json:"hit_tokens_causal"`
	HitRatioCausal    float64 `json:"hit_ratio_causal"`
	HitBlocksPrevTurn int64   `json:"hit_blocks_prev_turn"`
	HitTokensPrevTurn int64   `json:"hit_tokens_prev_turn"`
	HitRatioPrevTurn  float64 `json:"hit_ratio_prev_turn"`

	RequestsByType   map[string]int `json:"requests_by_type"`
	Models           []string       `json:"models"` // of all requests, sorted
	MaxIn            int            `json:"max_in"`
	MaxOut           int            `json:"max_out"`
	MaxInPlusOut     int            `json:"max_in_plus_out"`
	MaxSubagentDepth int            `json:"max_subagent_depth"`
	PeakInFlight     int            `json:"peak_in_flight"` // of one trace; ends count before starts
}

// TraceStats are the figures of one trace. Times are seconds since its start.
type TraceStats struct {
	File      string `json:"file"`
	ID        string `json:"id"`
	BlockSize int    `json:"block_size"`
	Counts
	FirstStartS float64 `json:"first_start_s"`
	LastStartS  float64 `json:"last_start_s"`
	LastEndS    float64 `json:"last_end_s"`
	SpanS       float64 `json:"span_s"`
	TotalsMatch *bool   `json:"totals_match,omitzero"` // absent where the trace states none
}

// Total are the figures of the corpus.
type Total struct {
	TraceCount int `json:"traces"`
	Counts
	TracesWithSubagents      int     `json:"traces_with_subagents"`
	MeanTraceHitRatioInstant float64 `json:"mean_trace_hit_ratio_instant"`
	MeanTraceHitRatioCausal  float64 `json:"mean_trace_hit_ratio_causal"`
	MeanTraceHitRatioPrev    float64 `json:"mean_trace_hit_ratio_prev_turn"`
	MaxSpanS                 float64 `json:"max_span_s"`
	SumSpanS                 float64 `json:"sum_span_s"`
	TotalsMismatches         int     `json:"totals_mismatches"`
}

// Stats counts the traces that the filters left, on all cores. Means over traces
// are of the rounded ratios.
func (c *Corpus) Stats() Stats {
	s := Stats{Traces: make([]TraceStats, len(c.Traces))}
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range c.Traces {
		work.Go(func() error {
			s.Traces[i] = traceStats(t)
			return nil
		})
	}
	_ = work.Wait() // no task fails
	s.Total = total(s.Traces)
	return s
}

func traceStats(t *trace.Trace) TraceStats {
	s := TraceStats{File: filepath.Base(t.File), ID: t.ID, BlockSize: t.BlockSize}
	s.RequestsByType = map[string]int{}
	hits := t.Hits()
	models := map[string]bool{}
	first := true
	for r, sub := range t.All {
		s.count(r, sub, hits[r], int64(t.BlockSize))
		models[r.Model] = true
		if first {
			s.FirstStartS, first = r.StartS, false
		}
		s.FirstStartS = min(s.FirstStartS, r.StartS)
		s.LastStartS = max(s.LastStartS, r.StartS)
		s.LastEndS = max(s.LastEndS, r.EndS())
	}
	s.SpanS = s.LastEndS - s.FirstStartS
	s.DistinctBlocks = s.UsableBlocks - s.HitBlocksInstant // an endless cache misses each once
	s.Models = slices.Sorted(maps.Keys(models))
	s.PeakInFlight = peakInFlight(t)
	s.ratios()
	s.FirstStartS, s.LastStartS = round(s.FirstStartS), round(s.LastStartS)
	s.LastEndS, s.SpanS = round(s.LastEndS), round(s.SpanS)
	for _, e := range t.Entries {
		s.countSubagent(e.Subagent)
	}
	if t.Totals != nil {
		agree := t.TotalsAgree()
		s.TotalsMatch = &agree
	}
	return s
}

func (c *Counts) count(r *trace.Request, sub *trace.Subagent, hit trace.Hit, block int64) {
	c.Requests++
	if sub == nil {
		c.MainRequests++
	} else {
		c.InnerRequests++
	}
	kind := "n"
	if r.Streamed {
		kind = "s"
	}
	c.RequestsByType[kind]++
	c.InTokens += int64(r.In)
	c.OutTokens += int64(r.Out)
	c.HashIDs += int64(r.Path.Len)
	c.UsableBlocks += int64(r.Whole)
	c.TailTokens += int64(r.In) - int64(r.Whole)*block
	c.HitBlocksInstant += int64(hit.Instant)
	c.HitBlocksCausal += int64(hit.Causal)
	c.HitBlocksPrevTurn += int64(hit.PrevTurn)
	c.HitTokensInstant += int64(hit.Instant) * block
	c.HitTokensCausal += int64(hit.Causal) * block
	c.HitTokensPrevTurn += int64(hit.PrevTurn) * block
	c.MaxIn = max(c.MaxIn, r.In)
	c.MaxOut = max(c.MaxOut, r.Out)
	c.MaxInPlusOut = max(c.MaxInPlusOut, r.In+r.Out)
}

func (c *Counts) countSubagent(sub *trace.Subagent) {
	if sub == nil {
		return
	}
	c.Subagents++
	c.MaxSubagentDepth = 1 // the format knows one level
	switch {
	case len(sub.Requests) == 0:
		c.EmptySubagents++
	case sub.Relative:
		c.RelativeSubagents++
	default:
		c.AbsoluteSubagents++
	}
}

func (c *Counts) ratios() {
	c.HitRatioInstant = share(c.HitTokensInstant, c.InTokens)
	c.HitRatioCausal = share(c.HitTokensCausal, c.InTokens)
	c.HitRatioPrevTurn = share(c.HitTokensPrevTurn, c.InTokens)
}

// add sums up; the largest stay the largest.
func (c *Counts) add(d *Counts) {
	c.Requests += d.Requests
	c.MainRequests += d.MainRequests
	c.InnerRequests += d.InnerRequests
	c.Subagents += d.Subagents
	c.RelativeSubagents += d.RelativeSubagents
	c.AbsoluteSubagents += d.AbsoluteSubagents
	c.EmptySubagents += d.EmptySubagents
	c.InTokens += d.InTokens
	c.OutTokens += d.OutTokens
	c.HashIDs += d.HashIDs
	c.UsableBlocks += d.UsableBlocks
	c.DistinctBlocks += d.DistinctBlocks
	c.TailTokens += d.TailTokens
	c.HitBlocksInstant += d.HitBlocksInstant
	c.HitTokensInstant += d.HitTokensInstant
	c.HitBlocksCausal += d.HitBlocksCausal
	c.HitTokensCausal += d.HitTokensCausal
	c.HitBlocksPrevTurn += d.HitBlocksPrevTurn
	c.HitTokensPrevTurn += d.HitTokensPrevTurn
	for kind, n := range d.RequestsByType {
		c.RequestsByType[kind] += n
	}
	c.Models = append(c.Models, d.Models...)
	c.MaxIn = max(c.MaxIn, d.MaxIn)
	c.MaxOut = max(c.MaxOut, d.MaxOut)
	c.MaxInPlusOut = max(c.MaxInPlusOut, d.MaxInPlusOut)
	c.MaxSubagentDepth = max(c.MaxSubagentDepth, d.MaxSubagentDepth)
	c.PeakInFlight = max(c.PeakInFlight, d.PeakInFlight)
}

func total(traces []TraceStats) Total {
	var t Total
	t.TraceCount = len(traces)
	t.RequestsByType = map[string]int{}
	for i := range traces {
		one := &traces[i]
		t.add(&one.Counts)
		if one.Subagents > 0 {
			t.TracesWithSubagents++
		}
		t.MeanTraceHitRatioInstant += one.HitRatioInstant
		t.MeanTraceHitRatioCausal += one.HitRatioCausal
		t.MeanTraceHitRatioPrev += one.HitRatioPrevTurn
		t.MaxSpanS = max(t.MaxSpanS, one.SpanS)
		t.SumSpanS += one.SpanS
		if one.TotalsMatch != nil && !*one.TotalsMatch {
			t.TotalsMismatches++
		}
	}
	slices.Sort(t.Models)
	t.Models = slices.Compact(t.Models)
	t.ratios()
	n := float64(max(len(traces), 1))
	t.MeanTraceHitRatioInstant = round(t.MeanTraceHitRatioInstant / n)
	t.MeanTraceHitRatioCausal = round(t.MeanTraceHitRatioCausal / n)
	t.MeanTraceHitRatioPrev = round(t.MeanTraceHitRatioPrev / n)
	t.MaxSpanS, t.SumSpanS = round(t.MaxSpanS), round(t.SumSpanS)
	return t
}

// peakInFlight is the most requests of the trace that ran at once. At one moment
// ends count before starts, so that a request without a recorded time adds nothing.
func peakInFlight(t *trace.Trace) int {
	type event struct {
		atS  float64
		step int
	}
	var events []event
	for r := range t.All {
		events = append(events, event{r.StartS, 1}, event{r.EndS(), -1})
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.atS, b.atS), cmp.Compare(a.step, b.step))
	})
	now, peak := 0, 0
	for _, e := range events {
		now += e.step
		peak = max(peak, now)
	}
	return peak
}

func share(part, of int64) float64 {
	if of == 0 {
		return 0
	}
	return round(float64(part) / float64(of))
}

// round keeps six decimal digits.
func round(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 6, 64), 64) // cannot fail on its own output
	return y
}
