package gpu

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// MaxGap is the longest time between two samples that energy may be taken over.
const MaxGap = 3 * time.Second

// Why there is no energy, in InferenceX' words (spec/inferencex.md §3.7).
const (
	NoSamples     = "no_usable_power_samples"
	FewSamples    = "insufficient_power_samples"
	NotBracketed  = "benchmark_window_not_bracketed"
	Gap           = "sampling_gap_exceeded"
	BadWindow     = "invalid_benchmark_window"
	CountMismatch = "expected_gpu_count_mismatch"
)

// Power is what one device drew over a window. Energy is the difference of the
// device's own counter where it has one, and otherwise the integral of its power,
// both interpolated at the window's borders.
type Power struct {
	Device Device
	// AvgW is time-weighted, MaxW of the samples in the window.
	AvgW, MaxW *float64
	EnergyJ    *float64
	FromMeter  bool     // EnergyJ is the device's own count
	IntegralJ  *float64 // of the power, also where the meter was taken
	Samples    int      // in the window
	LargestGap time.Duration
	Reason     string // why there is no energy
}

// Powers gives what every device drew between two moments.
func (r *Recorder) Powers(from, to record.Stamp) []Power {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Power
	for _, t := range r.sorted() {
		all = append(all, t.power(from, to))
	}
	return all
}

func (t *track) power(from, to record.Stamp) Power {
	p := Power{Device: t.device}
	if !from.Seen() || to <= from {
		p.Reason = BadWindow
		return p
	}
	watts := t.curve(func(r reading) float64 { return r.power })
	p.Samples, p.MaxW = within(watts, from, to)
	meter := t.curve(func(r reading) float64 { return r.energy })
	around, gap, why := bracket(watts, from, to)
	p.LargestGap, p.Reason = gap, why
	if why == "" {
		joules := integral(around, from, to)
		mean := joules / time.Duration(to-from).Seconds()
		p.IntegralJ, p.EnergyJ, p.AvgW = &joules, &joules, &mean
	}
	if j, ok := metered(meter, from, to); ok {
		p.EnergyJ, p.FromMeter, p.Reason = &j, true, ""
		if p.AvgW == nil {
			mean := j / time.Duration(to-from).Seconds()
			p.AvgW = &mean
		}
	}
	return p
}

// point is a value at a moment.
type point struct {
	at record.Stamp
	v  float64
}

// curve are the readings that have a figure.
func (t *track) curve(of func(reading) float64) []point {
	var points []point
	for _, r := range t.readings {
		if v := of(r); v >= 0 && (len(points) == 0 || r.at > points[len(points)-1].at) {
			points = append(points, point{r.at, v})
		}
	}
	return points
}

func within(points []point, from, to record.Stamp) (n int, most *float64) {
	for _, p := range points {
		if p.at < from || p.at > to {
			continue
		}
		n++
		if most == nil || p.v > *most {
			most = &p.v
		}
	}
	return n, most
}

// bracket is the part of a curve from the last point at or before from to the
// first at or after to, and why it can't be integrated, if it can't.
func bracket(points []point, from, to record.Stamp) (around []point, gap time.Duration, why string) {
	switch len(points) {
	case 0:
		return nil, 0, NoSamples
	case 1:
		return nil, 0, FewSamples
	}
	first := sort.Search(len(points), func(i int) bool { return points[i].at > from }) - 1
	last := sort.Search(len(points), func(i int) bool { return points[i].at >= to })
	if first < 0 || last == len(points) {
		return nil, 0, NotBracketed
	}
	around = points[first : last+1]
	for i := range around[1:] {
		gap = max(gap, time.Duration(around[i+1].at-around[i].at))
	}
	if gap > MaxGap {
		return nil, gap, Gap
	}
	return around, gap, ""
}

// integral is the area below the curve from from to to, by trapezoids.
func integral(points []point, from, to record.Stamp) (area float64) {
	for i := range points[1:] {
		a, b := points[i], points[i+1]
		start, end := max(a.at, from), min(b.at, to)
		if end > start {
			area += (a.on(b, start) + a.on(b, end)) / 2 * time.Duration(end-start).Seconds()
		}
	}
	return area
}

// on is the value at a moment on the line from a to b.
func (a point) on(b point, at record.Stamp) float64 {
	return a.v + (b.v-a.v)*float64(at-a.at)/float64(b.at-a.at)
}

// metered is the growth of a counter, interpolated at the borders. A gap in
// between loses nothing, at a border it may not be long; a counter that fell tells
// nothing.
func metered(points []point, from, to record.Stamp) (float64, bool) {
	if !slices.IsSortedFunc(points, func(a, b point) int { return cmp.Compare(a.v, b.v) }) {
		return 0, false
	}
	start, ok1 := level(points, from)
	end, ok2 := level(points, to)
	return end - start, ok1 && ok2
}

func level(points []point, at record.Stamp) (float64, bool) {
	i := sort.Search(len(points), func(i int) bool { return points[i].at >= at })
	switch {
	case i == len(points):
		return 0, false
	case points[i].at == at:
		return points[i].v, true
	case i == 0 || time.Duration(points[i].at-points[i-1].at) > MaxGap:
		return 0, false
	}
	return points[i-1].on(points[i], at), true
}
