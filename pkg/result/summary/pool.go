package summary

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// exactSamples is how many gaps are kept before a pool turns into a histogram.
const exactSamples = 1 << 20

// pool collects the gaps of all chunks, of which a long run has tens of
// millions: exact up to exactSamples, a histogram above. Count, sum, mean,
// deviation, minimum and maximum stay exact either way.
type pool struct {
	exact    []float64 // ns
	hist     *hdrhistogram.Histogram
	n        int
	mean, m2 float64 // Welford
	min, max int64
}

const (
	histLow    = 1               // ns
	histHigh   = 24 * 3600 * 1e9 // ns
	histDigits = 3
)

func (p *pool) add(ns int64) {
	if p.n == 0 || ns < p.min {
		p.min = ns
	}
	if p.n == 0 || ns > p.max {
		p.max = ns
	}
	p.n++
	d := float64(ns) - p.mean
	p.mean += d / float64(p.n)
	p.m2 += d * (float64(ns) - p.mean)
	if p.hist == nil && len(p.exact) < exactSamples {
		p.exact = append(p.exact, float64(ns))
		return
	}
	if p.hist == nil {
		p.hist = hdrhistogram.New(histLow, histHigh, histDigits)
		for _, v := range p.exact {
			p.record(int64(v))
		}
		p.exact = nil
	}
	p.record(ns)
}

func (p *pool) record(ns int64) {
	// The only error is a value out of range, and it is clamped into it.
	_ = p.hist.RecordValue(min(max(ns, histLow), histHigh))
}

// stats gives the pool in ms.
func (p *pool) stats() (Stats, bool) {
	if p.n == 0 {
		return Stats{}, false
	}
	if p.hist == nil {
		ms := make([]float64, len(p.exact))
		for i, ns := range p.exact {
			ms[i] = ns / 1e6
		}
		return describe(ms, "ms")
	}
	n := float64(p.n)
	s := Stats{
		Unit: "ms", Count: p.n, Sum: p.mean * n / 1e6, Avg: p.mean / 1e6, Std: math.Sqrt(p.m2/n) / 1e6,
		Min: float64(p.min) / 1e6, Max: float64(p.max) / 1e6, Approximate: true,
	}
	s.setPercentiles(func(q float64) float64 {
		v := float64(p.hist.ValueAtPercentile(q)) / 1e6
		return min(max(v, s.Min), s.Max)
	})
	return s, true
}
