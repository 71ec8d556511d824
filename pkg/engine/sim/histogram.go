package sim

import (
	"sort"
	"time"
)

// The buckets of vLLM's histograms, in seconds.
var (
	ttftBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBuckets  = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	e2eBuckets  = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	// Tokens: 1, 2, 5 and so on up to the largest contexts.
	tokenBuckets = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6}
)

// histogram counts observations as Prometheus does: a bucket holds what is not
// greater than its bound.
type histogram struct {
	bounds []float64
	counts []uint64 // one more than bounds; not cumulative
	sum    float64
	count  uint64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(value float64) {
	h.counts[sort.SearchFloat64s(h.bounds, value)]++
	h.sum += value
	h.count++
}

func (h *histogram) observeTime(d time.Duration) { h.observe(d.Seconds()) }
