package summary

import (
	"math"
	"slices"
)

// Stats is a distribution. It exists only where there was at least one sample.
type Stats struct {
	// Unit of every figure but count.
	Unit string `json:"unit"`
	// Samples.
	Count int `json:"count"`
	// Sum of the samples.
	Sum float64 `json:"sum"`
	// Arithmetic mean.
	Avg float64 `json:"avg"`
	// Standard deviation of the population (divisor n).
	Std float64 `json:"std"`
	// Smallest sample.
	Min float64 `json:"min"`
	// Percentiles, linearly interpolated at position q/100·(n−1).
	P1  float64 `json:"p1"`
	P5  float64 `json:"p5"`
	P10 float64 `json:"p10"`
	P25 float64 `json:"p25"`
	P50 float64 `json:"p50"`
	P75 float64 `json:"p75"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	// Largest sample.
	Max float64 `json:"max"`
	// The percentiles come from a histogram with three significant digits,
	// because there were too many samples to keep.
	Approximate bool `json:"approximate,omitzero"`
}

// Value is a single figure.
type Value struct {
	// Unit of the figure.
	Unit string `json:"unit"`
	// The figure.
	Value float64 `json:"value"`
}

// describe sorts values in place. Values that are not finite are left out.
func describe(values []float64, unit string) (Stats, bool) {
	values = slices.DeleteFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if len(values) == 0 {
		return Stats{}, false
	}
	slices.Sort(values)
	n := float64(len(values))
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	avg := sum / n
	squares := 0.0
	for _, v := range values {
		squares += (v - avg) * (v - avg)
	}
	s := Stats{Unit: unit, Count: len(values), Sum: sum, Avg: avg, Std: math.Sqrt(squares / n), Min: values[0], Max: values[len(values)-1]}
	s.setPercentiles(func(q float64) float64 { return percentile(values, q) })
	return s, true
}

func (s *Stats) setPercentiles(at func(q float64) float64) {
	s.P1, s.P5, s.P10, s.P25, s.P50 = at(1), at(5), at(10), at(25), at(50)
	s.P75, s.P90, s.P95, s.P99 = at(75), at(90), at(95), at(99)
}

// percentile reads the q-th percentile of sorted values, q in 0..100: linear
// interpolation at position q/100·(n−1) (spec/replay.md §7.7).
func percentile(sorted []float64, q float64) float64 {
	k := q / 100 * float64(len(sorted)-1)
	i := int(k)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (k-float64(i))*(sorted[i+1]-sorted[i])
}

// Adjusted is a latency distribution in which every failed request counts as
// infinitely slow (spec/replay.md §7.6). A percentile that falls on a failure
// is absent, because it is infinite; so are mean, sum and maximum, always.
type Adjusted struct {
	// Unit of every figure but the counts.
	Unit string `json:"unit"`
	// Samples, failures included.
	Count int `json:"count"`
	// Failed requests, each counted as infinite.
	Failed int `json:"failed"`
	// Smallest sample; absent when every request failed.
	Min *float64 `json:"min,omitzero"`
	// Percentiles by the nearest sample, without interpolation.
	P1  *float64 `json:"p1,omitzero"`
	P5  *float64 `json:"p5,omitzero"`
	P10 *float64 `json:"p10,omitzero"`
	P25 *float64 `json:"p25,omitzero"`
	P50 *float64 `json:"p50,omitzero"`
	P75 *float64 `json:"p75,omitzero"`
	P90 *float64 `json:"p90,omitzero"`
	P95 *float64 `json:"p95,omitzero"`
	P99 *float64 `json:"p99,omitzero"`
}

// adjust wants sorted, finite values.
func adjust(sorted []float64, failed int, unit string) Adjusted {
	n := len(sorted) + failed
	a := Adjusted{Unit: unit, Count: n, Failed: failed}
	at := func(q float64) *float64 {
		i := int(math.RoundToEven(q / 100 * float64(n-1)))
		if i >= len(sorted) {
			return nil
		}
		return &sorted[i]
	}
	a.Min = at(0)
	a.P1, a.P5, a.P10, a.P25, a.P50 = at(1), at(5), at(10), at(25), at(50)
	a.P75, a.P90, a.P95, a.P99 = at(75), at(90), at(95), at(99)
	return a.copied()
}

// copied detaches the pointers from the samples, so that those can be freed.
func (a Adjusted) copied() Adjusted {
	for _, p := range []**float64{&a.Min, &a.P1, &a.P5, &a.P10, &a.P25, &a.P50, &a.P75, &a.P90, &a.P95, &a.P99} {
		if *p != nil {
			v := **p
			*p = &v
		}
	}
	return a
}
