package summary

import (
	"cmp"
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
)

// Load is what was in flight over time.
type Load struct {
	// Time-weighted curves under AIPerf's names: effective_* over the whole
	// window from the first request sent to the last end, active_* only while
	// something is in that phase (spec/replay.md §7.6). Failed and censored
	// requests count in effective_concurrency, because they occupied the engine;
	// the curves of prefill, decode and tokens are of successes.
	Curves map[string]Weighted `json:"curves"`
	// Requests in flight over the phase as asked, without the grace period:
	// the load at which runs are matched (decisions.md 23).
	RequestsInFlight *Weighted `json:"requests_in_flight,omitzero"`
	// Live trees over the phase as asked.
	LiveTrees *Weighted `json:"live_trees,omitzero"`
}

// Weighted is a step curve, each value weighted by how long it lasted.
type Weighted struct {
	// Unit of every figure but seconds.
	Unit string `json:"unit"`
	// Length of the window, in seconds.
	Seconds float64 `json:"seconds"`
	// Mean over time.
	Avg float64 `json:"avg"`
	// Standard deviation, weighted by time.
	Std float64 `json:"std"`
	// Lowest value.
	Min float64 `json:"min"`
	// Value that the curve stays at or below for that share of the window.
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	// Highest value.
	Max float64 `json:"max"`
}

// step is a value and how long it lasted, in ns.
type step struct {
	v, ns float64
}

// weigh sorts steps in place; false when they have no length.
func weigh(steps []step, unit string) (Weighted, bool) {
	total, sum := 0.0, 0.0
	steps = slices.DeleteFunc(steps, func(s step) bool { return !(s.ns > 0) || math.IsNaN(s.v) || math.IsInf(s.v, 0) })
	for _, s := range steps {
		total += s.ns
		sum += s.v * s.ns
	}
	if total <= 0 {
		return Weighted{}, false
	}
	avg, squares := sum/total, 0.0
	for _, s := range steps {
		squares += (s.v - avg) * (s.v - avg) * s.ns
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.v, b.v) })
	w := Weighted{Unit: unit, Seconds: total / 1e9, Avg: avg, Std: math.Sqrt(squares / total), Min: steps[0].v, Max: steps[len(steps)-1].v}
	at := 0.0
	quantiles := []struct {
		q   float64
		out *float64
	}{{0.5, &w.P50}, {0.9, &w.P90}, {0.95, &w.P95}, {0.99, &w.P99}}
	for _, s := range steps {
		at += s.ns
		for len(quantiles) > 0 && at >= quantiles[0].q*total {
			*quantiles[0].out = s.v
			quantiles = quantiles[1:]
		}
	}
	for _, q := range quantiles { // only rounding leaves any
		*q.out = w.Max
	}
	return w, true
}

// span is a stretch of the run.
type span struct {
	start, end record.Stamp
}

// window is the profiling phase as asked. Without options it is what the
// profiling requests cover.
func (b *Builder) window() span {
	var w span
	for _, k := range b.kept {
		if w.start == 0 || k.sent < w.start {
			w.start = k.sent
		}
		w.end = max(w.end, k.end)
	}
	if b.opt.ProfilingStart.Seen() {
		w.start = b.opt.ProfilingStart
	}
	if b.opt.DurationS > 0 {
		w.end = w.start.Add(seconds(b.opt.DurationS))
	}
	if end := b.opt.ProfilingEnd; end.Seen() {
		w.end = min(w.end, end)
	}
	return w
}

// event changes the state of the sweep line.
type event struct {
	at                    record.Stamp
	conc, prefill, decode int32
	prefillTPS, decodeTPS float64
	tokens                float64
}

// segment is the state between two events.
type segment struct {
	event // at is its start
	end   record.Stamp
}

func (b *Builder) load(w span) Load {
	segments := sweep(b.events())
	l := Load{Curves: map[string]Weighted{}}
	for _, c := range curves {
		steps := make([]step, 0, len(segments))
		for _, s := range segments {
			if v, ok := c.of(s); ok {
				steps = append(steps, step{v, float64(s.end - s.at)})
			}
		}
		if weighted, ok := weigh(steps, c.unit); ok {
			l.Curves[c.key] = weighted
		}
	}
	l.RequestsInFlight = clip(segments, w, unitRequests)
	trees := make([]event, 0, 2*len(b.trees))
	for _, t := range b.trees {
		end := t.End
		if !end.Seen() {
			end = max(w.end, t.Start)
		}
		if t.Start.Seen() {
			trees = append(trees, event{at: t.Start, conc: 1}, event{at: end, conc: -1})
		}
	}
	if len(trees) > 0 {
		l.LiveTrees = clip(sweep(trees), w, "trees")
	}
	return l
}

// events turns the requests into changes. Prefill is the time to first token
// as the client sees it. Rates are spread evenly: input tokens over prefill,
// output tokens from the first token to the end. Tokens in flight are the input
// from sending on plus the whole output from the first token on.
func (b *Builder) events() []event {
	out := make([]event, 0, 3*len(b.kept))
	for _, k := range b.kept {
		if k.end <= k.sent {
			continue
		}
		open, mid, shut := event{at: k.sent, conc: 1}, event{at: k.first}, event{at: k.end, conc: -1}
		in, gen := float64(max(k.isl, 0)), float64(max(k.osl, 0))
		open.tokens, shut.tokens = in, -in-gen
		if !k.ok || !k.first.Seen() {
			out = append(out, open, shut)
			continue
		}
		mid.tokens = gen
		open.prefill, mid.prefill, mid.decode, shut.decode = 1, -1, 1, -1
		if d := secondsBetween(k.sent, k.first); d > 0 {
			open.prefillTPS, mid.prefillTPS = in/d, -in/d
		}
		if d := secondsBetween(k.first, k.end); d > 0 {
			mid.decodeTPS, shut.decodeTPS = gen/d, -gen/d
		}
		out = append(out, open, mid, shut)
	}
	return out
}

// sweep adds the events up, in time order. Sums of rates are set to zero when
// nothing is in their phase, so that rounding can't leave a rest.
func sweep(events []event) []segment {
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	out := make([]segment, 0, len(events))
	var now event
	for i, e := range events {
		now.conc += e.conc
		now.prefill += e.prefill
		now.decode += e.decode
		now.prefillTPS += e.prefillTPS
		now.decodeTPS += e.decodeTPS
		now.tokens += e.tokens
		now.at = e.at
		if now.prefill == 0 {
			now.prefillTPS = 0
		}
		if now.decode == 0 {
			now.decodeTPS = 0
		}
		if now.conc == 0 {
			now.tokens = 0
		}
		if i+1 < len(events) && events[i+1].at > e.at {
			out = append(out, segment{now, events[i+1].at})
		}
	}
	return out
}

// clip weighs the concurrency inside w; time without a segment counts as 0.
func clip(segments []segment, w span, unit string) *Weighted {
	left := float64(w.end - w.start)
	steps := make([]step, 0, len(segments)+1)
	for _, s := range segments {
		if d := float64(min(s.end, w.end) - max(s.at, w.start)); d > 0 {
			steps = append(steps, step{float64(s.conc), d})
			left -= d
		}
	}
	if left > 0.5 {
		steps = append(steps, step{0, left})
	}
	if out, ok := weigh(steps, unit); ok {
		return &out
	}
	return nil
}

type curve struct {
	key, unit string
	of        func(segment) (float64, bool)
}

const unitTPSPerUser = "tokens/sec/user"

var curves = []curve{
	{"effective_concurrency", unitRequests, func(s segment) (float64, bool) { return float64(s.conc), true }},
	{"effective_prefill_concurrency", unitRequests, func(s segment) (float64, bool) { return float64(s.prefill), true }},
	{"effective_decode_concurrency", unitRequests, func(s segment) (float64, bool) { return float64(s.decode), true }},
	{"effective_prefill_throughput", unitTokensPerSec, func(s segment) (float64, bool) { return s.prefillTPS, true }},
	{"effective_decode_throughput", unitTokensPerSec, func(s segment) (float64, bool) { return s.decodeTPS, true }},
	{"effective_total_throughput", unitTokensPerSec, func(s segment) (float64, bool) { return s.prefillTPS + s.decodeTPS, true }},
	{"effective_prefill_throughput_per_user", unitTPSPerUser, func(s segment) (float64, bool) { return s.prefillTPS / float64(max(s.prefill, 1)), true }},
	{"effective_decode_throughput_per_user", unitTPSPerUser, func(s segment) (float64, bool) { return s.decodeTPS / float64(max(s.decode, 1)), true }},
	{"tokens_in_flight", unitTokens, func(s segment) (float64, bool) { return s.tokens, true }},
	{"active_prefill_throughput", unitTokensPerSec, func(s segment) (float64, bool) { return s.prefillTPS, s.prefill > 0 }},
	{"active_decode_throughput", unitTokensPerSec, func(s segment) (float64, bool) { return s.decodeTPS, s.decode > 0 }},
	{"active_total_throughput", unitTokensPerSec, func(s segment) (float64, bool) { return s.prefillTPS + s.decodeTPS, s.conc > 0 }},
	{"active_prefill_throughput_per_user", unitTPSPerUser, func(s segment) (float64, bool) { return s.prefillTPS / float64(max(s.prefill, 1)), s.prefill > 0 }},
	{"active_decode_throughput_per_user", unitTPSPerUser, func(s segment) (float64, bool) { return s.decodeTPS / float64(max(s.decode, 1)), s.decode > 0 }},
}
