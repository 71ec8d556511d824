package compare

import (
	"math"
)

// change is what a statistic says of one draw of the clusters: the figure on
// both sides and how they differ, which is the natural logarithm of head over
// base, or head minus base for a rate that may be 0.
type change struct {
	head, base, diff float64
}

// statistic is a figure that compares both sides. of is called with how often
// each unit (root trace, lane or block of time) was drawn; 1 each is the
// estimate itself. A statistic without data gives NaN.
type statistic struct {
	key      string
	absolute bool
	units    int     // number of units
	n        float64 // effective number of units
	samples  int
	of       func(draws []int32) change
}

func ratio(head, base float64) change {
	switch {
	case math.IsInf(head, 1) && math.IsInf(base, 1):
		return change{head, base, math.NaN()}
	case head == base: // exactly no change, whatever the logarithms round to
		return change{head, base, 0}
	}
	return change{head, base, math.Log(head / base)}
}

// Keys of the statistics; those of the layers are no findings.
const (
	keyTTFT50     = "ttft_p50"
	keyTTFT90     = "ttft_p90"
	keyITL50      = "itl_p50"
	keyPerTok90   = "e2e_per_output_token_p90"
	keyThroughput = "output_throughput"
	keyErrors     = "error_rate"

	layerDecode  = "layer.decode"
	layerPrefill = "layer.prefill"
	layerCache   = "layer.cache"
	layerWait    = "layer.scheduling"
)

// statistics lists what is computed from the common requests and the runs.
func (p *pairs) statistics() []statistic {
	first := p.latencies(func(q *request) float64 { return q.ttftMs })
	between := p.latencies(func(q *request) float64 { return q.itlMs })
	perToken := p.latencies(func(q *request) float64 { return q.perTokMs })
	return []statistic{
		p.quantile(keyTTFT50, &first, 0.5), p.quantile(keyTTFT90, &first, 0.9),
		p.quantile(keyITL50, &between, 0.5), p.quantile(keyPerTok90, &perToken, 0.9),
		p.throughput(), p.errorRate(),
		p.perPair(layerDecode, decodeRatio), p.perPair(layerPrefill, prefillRatio),
		p.uncached(), p.perPair(layerWait, waitRatio),
	}
}

func (p *pairs) quantile(key string, t *table, q float64) statistic {
	return statistic{key: key, units: len(p.traces), n: p.EffectiveN, samples: t.n, of: func(draws []int32) change {
		var head, base [1]float64
		quantiles(t.head, draws, t.nearest, []float64{q}, head[:])
		quantiles(t.base, draws, t.nearest, []float64{q}, base[:])
		return ratio(head[0], base[0])
	}}
}

// errorRate is over the requests that both sides attempted.
func (p *pairs) errorRate() statistic {
	head, base, all := make([]float64, len(p.traces)), make([]float64, len(p.traces)), make([]float64, len(p.traces))
	sizes := make([]int, len(p.traces))
	for _, r := range p.rows {
		head[r.cluster] += float64(r.headFailed) / float64(len(r.head))
		base[r.cluster] += float64(r.baseFailed) / float64(len(r.base))
		all[r.cluster]++
		sizes[r.cluster]++
	}
	return statistic{key: keyErrors, absolute: true, units: len(p.traces), n: kish(sizes), samples: len(p.rows), of: func(draws []int32) change {
		h, b, n := weigh(head, draws), weigh(base, draws), weigh(all, draws)
		return change{h / n, b / n, (h - b) / n}
	}}
}

func weigh(sums []float64, draws []int32) float64 {
	total := 0.0
	for i, v := range sums {
		total += v * float64(draws[i])
	}
	return total
}

// perPair is the median over requests of head over base.
func (p *pairs) perPair(key string, of func(head, base []*request) float64) statistic {
	var vs []value
	sizes := make([]int, len(p.traces))
	for r := range p.completed {
		if v := of(r.head, r.base); !math.IsNaN(v) {
			vs = append(vs, value{v, r.cluster})
			sizes[r.cluster]++
		}
	}
	sorted(vs)
	return statistic{key: key, units: len(p.traces), n: kish(sizes), samples: len(vs), of: func(draws []int32) change {
		var m [1]float64
		quantiles(vs, draws, false, []float64{0.5}, m[:])
		return change{math.NaN(), math.NaN(), m[0]}
	}}
}

func decodeRatio(head, base []*request) float64 {
	of := func(q *request) float64 { return q.itlMs }
	return ratio(mean(head, of), mean(base, of)).diff
}

// Requests with at least this many tokens to compute tell about prefill; with
// fewer, the time to first token is mostly waiting.
const prefillTokens = 512

// prefillRatio is the time to first token for each token to compute, of requests
// that had about the same to compute on both sides.
func prefillRatio(head, base []*request) float64 {
	uncached := func(q *request) float64 { return q.uncached }
	h, b := mean(head, uncached), mean(base, uncached)
	if !(min(h, b) >= prefillTokens) || math.Abs(h-b) > 0.02*max(h, b) {
		return math.NaN()
	}
	first := func(q *request) float64 { return q.ttftMs }
	return ratio(mean(head, first)/h, mean(base, first)/b).diff
}

// waitRatio is the time to first token of requests with little to compute.
func waitRatio(head, base []*request) float64 {
	uncached := func(q *request) float64 { return q.uncached }
	if h, b := mean(head, uncached), mean(base, uncached); !(max(h, b) < prefillTokens) {
		return math.NaN()
	}
	first := func(q *request) float64 { return q.ttftMs }
	return ratio(mean(head, first), mean(base, first)).diff
}

// uncached is the number of prompt tokens that had to be computed for the same requests.
func (p *pairs) uncached() statistic {
	head, base := make([]float64, len(p.traces)), make([]float64, len(p.traces))
	sizes := make([]int, len(p.traces))
	samples := 0
	for r := range p.completed {
		of := func(q *request) float64 { return q.uncached }
		h, b := mean(r.head, of), mean(r.base, of)
		if math.IsNaN(h) || math.IsNaN(b) {
			continue
		}
		head[r.cluster] += h
		base[r.cluster] += b
		sizes[r.cluster]++
		samples++
	}
	return statistic{key: layerCache, units: len(p.traces), n: kish(sizes), samples: samples, of: func(draws []int32) change {
		return ratio(weigh(head, draws), weigh(base, draws))
	}}
}
