package scrape

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// percents are the percentiles of an export.
var percents = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99}

// series gives what an account did in a window; not ok when nothing.
func (x *exporter) series(a *account, w window) (ExportSeries, bool) {
	s := ExportSeries{EndpointURL: x.url, Labels: map[string]string{}, Stats: map[string]float64{}}
	for _, l := range a.labels {
		s.Labels[l.name] = l.value
	}
	var all take
	seen := false
	for i := w.first; i < w.last && i < len(a.takes); i++ {
		t := &a.takes[i]
		seen = seen || t.grown != nil || t.spread.n > 0
		for p, v := range t.grown {
			if p >= len(all.grown) {
				all.grown = append(all.grown, 0)
			}
			all.grown[p] += v
		}
		all.reset = all.reset || t.reset
		all.spread.join(&t.spread)
	}
	if !seen {
		return s, false
	}
	if w.last == w.first+1 { // slices of one segment only: several have several starts
		s.Timeslices = x.slices(a, a.takes[w.first].slices, w)
	}
	seconds := time.Duration(w.end - w.start).Seconds()
	switch a.family.kind {
	case kindCounter:
		counterStats(&s, all.grown[0], seconds)
	case kindHistogram:
		histogramStats(&s, a, &all, seconds)
	default:
		gaugeStats(&s, &all.spread)
	}
	maps.DeleteFunc(s.Stats, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return s, true
}

func gaugeStats(s *ExportSeries, d *spread) {
	s.Stats["avg"], s.Stats["min"], s.Stats["max"], s.Stats["std"] = d.mean, d.min, d.max, d.std()
	for i, v := range d.percentiles(percents) {
		s.Stats[fmt.Sprintf("p%v", percents[i])] = v
	}
}

func counterStats(s *ExportSeries, total, seconds float64) {
	s.Stats["total"], s.Stats["rate"] = total, total/seconds
	var d spread
	for _, t := range s.Timeslices {
		if t.IsComplete == nil && t.Rate != nil {
			d.add(*t.Rate)
		}
	}
	if total > 0 && d.n > 0 {
		s.Stats["rate_avg"], s.Stats["rate_min"], s.Stats["rate_max"], s.Stats["rate_std"] = d.mean, d.min, d.max, d.std()
	}
}

func histogramStats(s *ExportSeries, a *account, all *take, seconds float64) {
	grown := make([]float64, len(a.parts)) // a bucket that came later has no growth before
	copy(grown, all.grown)
	count, sum := grown[partCount], grown[partSum]
	s.Buckets = map[string]*float64{}
	for i, le := range a.le {
		s.Buckets[le] = nil
		if !all.reset {
			s.Buckets[le] = &grown[partBuckets+i]
		}
	}
	s.Stats["count"] = count
	if count <= 0 {
		return
	}
	s.Stats["sum"], s.Stats["avg"] = sum, sum/count
	s.Stats["count_rate"], s.Stats["sum_rate"] = count/seconds, sum/seconds
	if all.reset {
		return
	}
	for i, v := range estimates(a.le, grown[partBuckets:], percents) {
		s.Stats[fmt.Sprintf("p%v_estimate", percents[i])] = v
	}
}

// estimates places percentiles in cumulative buckets, linearly between a bucket's
// bounds; one beyond the last finite bound is that bound.
func estimates(le []string, cumulative, ps []float64) []float64 {
	type bucket struct{ le, n float64 }
	var buckets []bucket
	for i, text := range le {
		bound, err := strconv.ParseFloat(text, 64)
		if err == nil && !math.IsNaN(bound) {
			buckets = append(buckets, bucket{bound, cumulative[i]})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int {
		if a.le < b.le {
			return -1
		}
		return 1
	})
	if len(buckets) == 0 || buckets[len(buckets)-1].n <= 0 {
		return nil
	}
	out := make([]float64, len(ps))
	for i, p := range ps {
		rank := p / 100 * buckets[len(buckets)-1].n
		lower, below := 0.0, 0.0
		for _, b := range buckets {
			if b.n >= rank && b.n > below {
				if !math.IsInf(b.le, 1) {
					lower += (b.le - min(lower, b.le)) * (rank - below) / (b.n - below)
				}
				break
			}
			lower, below = b.le, b.n
		}
		out[i] = lower
	}
	return out
}

// slices gives the slices of the window's segment.
func (x *exporter) slices(a *account, cells []cell, w window) (out []ExportSlice) {
	if x.slice <= 0 || len(cells) == 0 {
		return nil
	}
	seconds := x.slice.Seconds()
	for i := 0; ; i++ {
		start := w.start + record.Stamp(i)*record.Stamp(x.slice)
		if start >= w.end {
			return out
		}
		s := ExportSlice{StartNs: x.ns(start), EndNs: x.ns(min(start+record.Stamp(x.slice), w.end))}
		long := seconds
		if start+record.Stamp(x.slice) > w.end {
			no := false
			s.IsComplete, long = &no, time.Duration(w.end-start).Seconds()
		}
		var c cell
		if i < len(cells) {
			c = cells[i]
		}
		rate, avg := c.sum/long, 0.0
		if c.n > 0 {
			avg = c.sum / c.n
		}
		switch {
		case a.family.kind == kindCounter:
			s.Total, s.Rate = &c.sum, &rate
		case a.family.kind == kindHistogram:
			s.Count, s.Sum, s.Avg = &c.n, &c.sum, &avg
		case c.n == 0: // no page fell into it
			continue
		default:
			s.Avg, s.Min, s.Max = &avg, &c.min, &c.max
		}
		out = append(out, s)
	}
}
