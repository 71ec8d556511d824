package scrape

import (
	"math"
	"slices"
)

// maxSpread bounds the samples kept for percentiles.
const maxSpread = 1024

// spread is the distribution of samples that come one after another, in bounded
// memory: count, mean, deviation and extremes are exact; percentiles are those
// of at most 1,024 samples evenly spaced in time. Samples that are all alike are
// only counted.
type spread struct {
	n        int
	mean, m2 float64
	min, max float64
	kept     []float64
	every    int
}

func (s *spread) add(v float64) {
	s.n++
	if s.n == 1 {
		s.min, s.max, s.every = v, v, 1
	}
	before := s.mean
	s.mean += (v - before) / float64(s.n)
	s.m2 += (v - before) * (v - s.mean)
	if s.kept == nil && v != s.min { // the first that differs
		for len(s.kept)*s.every < s.n-1 {
			s.keep(s.min)
		}
	}
	s.min, s.max = min(s.min, v), max(s.max, v)
	if s.kept != nil && (s.n-1)%s.every == 0 {
		s.keep(v)
	}
}

func (s *spread) keep(v float64) {
	s.kept = append(s.kept, v)
	if len(s.kept) < maxSpread {
		return
	}
	for i := range maxSpread / 2 {
		s.kept[i] = s.kept[2*i]
	}
	s.kept = s.kept[:maxSpread/2]
	s.every *= 2
}

// join adds what came later.
func (s *spread) join(o *spread) {
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		*s = *o
		s.kept = slices.Clone(o.kept)
		return
	}
	n := float64(s.n + o.n)
	room := min(maxSpread, s.n+o.n)
	first := int(math.Round(float64(room) * float64(s.n) / n))
	kept := append(s.evenly(first), o.evenly(room-first)...)
	d := o.mean - s.mean
	s.m2 += o.m2 + d*d*float64(s.n)*float64(o.n)/n
	s.mean += d * float64(o.n) / n
	s.n += o.n
	s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	s.kept = kept
}

// evenly gives so many samples, evenly spaced among those kept.
func (s *spread) evenly(count int) []float64 {
	from := s.samples()
	out := make([]float64, count)
	for i := range out {
		out[i] = from[i*len(from)/count]
	}
	return out
}

func (s *spread) samples() []float64 {
	if s.kept == nil && s.n > 0 {
		return []float64{s.min}
	}
	return s.kept
}

// std is the sample deviation, as AIPerf has it; 0 of a single sample.
func (s *spread) std() float64 {
	if s.n < 2 {
		return 0
	}
	return math.Sqrt(max(0, s.m2) / float64(s.n-1))
}

// percentiles interpolates linearly (decisions.md 27); s has a sample.
func (s *spread) percentiles(ps []float64) []float64 {
	sorted := slices.Sorted(slices.Values(s.samples()))
	out := make([]float64, len(ps))
	for i, p := range ps {
		at := p / 100 * float64(len(sorted)-1)
		low := int(at)
		high := min(low+1, len(sorted)-1)
		out[i] = sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
	}
	return out
}
