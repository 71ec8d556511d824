package summary

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/result/record"
)

// Fixed is the fixed-length baseline under InferenceX' names and formulas
// (spec/inferencex.md §2.3, §2.4).
type Fixed struct {
	// Largest input, in tokens; lengths are drawn below it.
	ISL int `json:"isl"`
	// Largest output, in tokens.
	OSL int `json:"osl"`
	// Cap of requests in flight.
	MaxConcurrency int `json:"max_concurrency"`
	// Measured requests that were sent.
	NumPrompts int `json:"num_prompts"`
	// Input tokens of each measured request, in order: as counted, or as drawn where it failed.
	InputLens []int64 `json:"input_lens"`
	// Output tokens of each measured request, in order; 0 where it failed.
	OutputLens []int64 `json:"output_lens"`
	FixedFigures
	// The same while the cap was full; absent when it never was for any length of time.
	Steady *FixedSteady `json:"steady,omitzero"`
}

// FixedFigures are InferenceX' two sets of figures.
type FixedFigures struct {
	// As benchmark_serving.py writes them: duration (s), completed, total_*_tokens,
	// *_throughput (per second), and mean, median, std, p90, p99, p99.9 of ttft_ms,
	// tpot_ms, itl_ms (all chunk gaps pooled) and e2el_ms.
	Raw map[string]float64 `json:"raw"`
	// As process_result.py derives them: the same latencies in seconds, *_intvty in
	// tokens/s/user (1000 / *_tpot_ms, so p90_intvty is the slow tail and std_intvty
	// means nothing), and *tput_per_gpu where the GPUs are known.
	Aggregated map[string]float64 `json:"aggregated"`
}

// FixedSteady is the steady window: from the moment the cap was first full to
// the moment the last request was issued. Latencies are of the requests that were
// sent and ended in it. Throughput counts what fell into it, with input tokens
// spread evenly up to the first token and output tokens from there to the last.
type FixedSteady struct {
	// Nanoseconds since the origin.
	From record.Stamp `json:"from_ns"`
	// Nanoseconds since the origin.
	To record.Stamp `json:"to_ns"`
	FixedFigures
}

// fixedRequest is what the figures need of a request.
type fixedRequest struct {
	num                            int
	issued, sent, first, last, end record.Stamp
	isl, osl                       int64
	ok                             bool
	gaps                           []int64 // ns
}

func (b *Builder) keepFixed(r *record.Record) {
	s := &r.Seen
	f := fixedRequest{
		num: r.Asked.Num, issued: r.Asked.Issued, sent: s.Sent, first: s.FirstToken, last: s.LastToken, end: s.End,
		isl: int64(r.Asked.RecordedIn), ok: s.Outcome == record.OK,
	}
	if !f.end.Seen() {
		f.end = max(s.Sent, s.Headers, s.FirstByte, s.LastToken)
	}
	if f.ok {
		if n, known := r.InputTokens(b.opt.Counting); known {
			f.isl = n
		}
		f.osl, _ = r.OutputTokens()
		f.gaps = s.ChunkGapsNs
	}
	b.fixed = append(b.fixed, f)
}

func (b *Builder) figuresFixed(w span) *Fixed {
	o := b.opt.Fixed
	if o == nil {
		return nil
	}
	slices.SortFunc(b.fixed, func(x, y fixedRequest) int { return cmp.Compare(x.num, y.num) })
	f := &Fixed{
		ISL: o.ISL, OSL: o.OSL, MaxConcurrency: o.Concurrency, NumPrompts: len(b.fixed),
		InputLens: []int64{}, OutputLens: []int64{},
	}
	var t fixedTotals
	var done []fixedRequest
	for _, r := range b.fixed {
		f.InputLens, f.OutputLens = append(f.InputLens, r.isl), append(f.OutputLens, r.osl)
		if r.ok {
			t.add(1, float64(r.isl), float64(r.osl))
			done = append(done, r)
		}
	}
	f.FixedFigures = b.fixedFigures(w, t, done)
	if s, ok := steady(b.fixed, o.Concurrency); ok {
		f.Steady = b.figuresSteady(s, done)
	}
	return f
}

// figuresSteady looks at what fell into the window.
func (b *Builder) figuresSteady(w span, done []fixedRequest) *FixedSteady {
	var t fixedTotals
	var inside []fixedRequest
	for _, r := range done {
		first, last := r.first, r.last
		if !first.Seen() { // an answer in one piece
			first, last = r.end, r.end
		}
		ended := 0.0
		if w.start <= r.end && r.end <= w.end {
			ended = 1
		}
		t.add(ended, float64(r.isl)*w.share(r.sent, first), float64(r.osl)*w.share(first, last))
		if w.start <= r.sent && r.end <= w.end {
			inside = append(inside, r)
		}
	}
	return &FixedSteady{From: w.start, To: w.end, FixedFigures: b.fixedFigures(w, t, inside)}
}

// share is how much of [from, to] lies in the span, 0..1; a moment lies in it or not.
func (w span) share(from, to record.Stamp) float64 {
	if to <= from {
		if w.start <= from && from <= w.end {
			return 1
		}
		return 0
	}
	return float64(max(0, min(to, w.end)-max(from, w.start))) / float64(to-from)
}

// steady finds the window; false when the cap was never full before the last
// request was issued.
func steady(requests []fixedRequest, limit int) (w span, ok bool) {
	type change struct {
		at record.Stamp
		by int
	}
	var changes []change
	for _, r := range requests {
		if !r.issued.Seen() || r.end < r.issued {
			continue
		}
		changes = append(changes, change{r.issued, 1}, change{r.end, -1})
		w.end = max(w.end, r.issued)
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	n := 0
	for _, c := range changes {
		if n += c.by; limit > 0 && n >= limit {
			w.start = c.at
			return w, w.start < w.end
		}
	}
	return w, false
}

// fixedTotals are sums over a window.
type fixedTotals struct {
	requests, in, out float64
}

func (t *fixedTotals) add(requests, in, out float64) {
	t.requests += requests
	t.in += in
	t.out += out
}

// fixedFigures computes both sets over a window. done are the successes whose
// latencies count.
func (b *Builder) fixedFigures(w span, t fixedTotals, done []fixedRequest) FixedFigures {
	raw := map[string]float64{
		"completed": t.requests, "total_input_tokens": t.in, "total_output_tokens": t.out,
	}
	if d := float64(w.end-w.start) / 1e9; d > 0 {
		raw["duration"] = d
		raw["request_throughput"] = t.requests / d
		raw["output_throughput"] = t.out / d
		raw["total_token_throughput"] = (t.in + t.out) / d
	}
	var ttft, tpot, e2el []float64 // ms
	var gaps pool
	for _, r := range done {
		first, ok := r.first.Sub(r.sent)
		if ok {
			ttft = append(ttft, float64(first)/1e6)
		}
		latency, seen := r.last.Sub(r.sent)
		if !seen {
			latency, seen = r.end.Sub(r.sent) // an answer in one piece
		}
		if seen {
			e2el = append(e2el, float64(latency)/1e6)
		}
		if ok && seen && r.osl > 1 {
			tpot = append(tpot, float64(latency-first)/1e6/float64(r.osl-1))
		}
		for _, g := range r.gaps {
			gaps.add(g)
		}
	}
	putLatencies(raw, "ttft_ms", ttft)
	putLatencies(raw, "tpot_ms", tpot)
	putLatencies(raw, "e2el_ms", e2el)
	putGaps(raw, "itl_ms", &gaps)
	return FixedFigures{Raw: raw, Aggregated: b.aggregate(raw)}
}

// fixedQuantiles are the percentiles that InferenceX reports.
var fixedQuantiles = []struct {
	key string
	q   float64
}{{"median", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}}

// putLatencies sorts values in place.
func putLatencies(raw map[string]float64, key string, values []float64) {
	s, ok := describe(values, "ms")
	if !ok {
		return
	}
	raw["mean_"+key], raw["std_"+key] = s.Avg, s.Std
	for _, q := range fixedQuantiles {
		raw[q.key+"_"+key] = percentile(values, q.q)
	}
}

func putGaps(raw map[string]float64, key string, p *pool) {
	s, ok := p.stats()
	if !ok {
		return
	}
	raw["mean_"+key], raw["std_"+key] = s.Avg, s.Std
	slices.Sort(p.exact)
	for _, q := range fixedQuantiles {
		if p.hist != nil {
			raw[q.key+"_"+key] = min(max(float64(p.hist.ValueAtPercentile(q.q))/1e6, s.Min), s.Max)
			continue
		}
		raw[q.key+"_"+key] = percentile(p.exact, q.q) / 1e6
	}
}

// aggregate derives process_result.py's figures.
func (b *Builder) aggregate(raw map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for key, v := range raw {
		name, isMs := strings.CutSuffix(key, "_ms")
		if !isMs {
			continue
		}
		out[name] = v / 1000
		if strings.HasSuffix(name, "tpot") && v > 0 && !math.IsInf(1000/v, 0) {
			out[strings.TrimSuffix(name, "tpot")+"intvty"] = 1000 / v
		}
	}
	if total, ok := raw["total_token_throughput"]; ok && b.opt.GPUs > 0 {
		output, n := raw["output_throughput"], float64(b.opt.GPUs)
		out["num_gpus"] = n
		out["tput_per_gpu"] = total / n
		out["output_tput_per_gpu"] = output / n
		out["input_tput_per_gpu"] = (total - output) / n
	}
	return out
}
