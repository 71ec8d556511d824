package scrape

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// Together is what the engines of several recorders did between two marks, as
// one: counters add up, and gauges are combined on a uniform grid with the last
// value held, so that the peak of a sum is not the sum of the peaks
// (spec/inferencex.md §4.6). A counter that one of them lacks is missing, unless
// it lacks only what engines of its kind create when they first count. See
// [Distinct] for recorders that may read the same engines.
func Together(recorders []*Recorder, from, to string) (Window, error) {
	if len(recorders) == 0 {
		return Window{}, errors.New("metrics window: no recorders")
	}
	var windows []Window
	var histories [][]step
	var grid, hold time.Duration
	for _, r := range recorders {
		w, err := r.Window(from, to)
		if err != nil || len(recorders) == 1 {
			return w, err
		}
		windows = append(windows, w)
		steps, every := r.past()
		histories = append(histories, steps)
		grid = max(grid, time.Duration(max(1, every))*r.options.Interval)
		hold = max(hold, r.options.Hold, 2*grid)
	}
	all := windows[0]
	for _, w := range windows[1:] {
		all.Start, all.End = max(all.Start, w.Start), min(all.End, w.End)
		all.Samples += w.Samples
	}
	all.Delta = added(recorders, windows)
	all.Gauges = combined(histories, grid, hold, all.Start, all.End)
	return all, nil
}

func (r *Recorder) past() ([]step, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.history.steps), r.history.every
}

// added is the sum of the windows' counters.
func added(recorders []*Recorder, windows []Window) Delta {
	d := Delta{From: windows[0].Delta.From, To: windows[0].Delta.To,
		Counters: map[Name]float64{}, Missing: map[Name]string{}, Resets: map[Name]int{}, Born: map[Name]int{}}
	for _, w := range windows {
		for n, v := range w.Delta.Counters {
			d.Counters[n] += v
		}
		for n, times := range w.Delta.Resets {
			d.Resets[n] += times
		}
		for n, times := range w.Delta.Born {
			d.Born[n] += times
		}
	}
	for i, w := range windows {
		for n, why := range w.Delta.Missing {
			if _, some := d.Counters[n]; some && w.Delta.absent[n] {
				continue // a labelled counter that has nothing to count yet
			}
			if _, said := d.Missing[n]; !said {
				d.Missing[n] = fmt.Sprintf("%s: %s", visible(recorders[i].source.URL), why)
			}
		}
	}
	for n := range d.Missing {
		delete(d.Counters, n)
	}
	return d
}

// combined puts the histories on one grid, with each engine's last value held.
// Samples that were taken at different moments of a step are never compared
// within it: of two engines that hand over to each other both would seem busy.
func combined(histories [][]step, grid, hold time.Duration, start, end record.Stamp) map[Name]Level {
	shows := make([]int, len(gaugeNames)) // how many of the engines have the gauge at all
	for _, steps := range histories {
		for i := range gaugeNames {
			if slices.ContainsFunc(steps, func(s step) bool { return !math.IsNaN(s.values[i]) }) {
				shows[i]++
			}
		}
	}
	l := newLevels(grid, start)
	l.cut("start", start, nil)
	now := make([]*step, len(histories))
	for at := start; at < end; at = at.Add(grid) {
		for i, steps := range histories {
			for len(steps) > 0 && steps[0].at <= at {
				now[i], steps = &steps[0], steps[1:]
			}
			histories[i] = steps
		}
		l.add(&Snapshot{At: at, Gauges: atOnce(now, at, hold, shows)})
	}
	l.cut("end", end, nil)
	w, err := l.window("start", "end")
	if err != nil {
		return nil
	}
	return w.Gauges
}

// atOnce combines what is held at one moment. A gauge is left out while one of
// the engines that show it has no value.
func atOnce(now []*step, at record.Stamp, hold time.Duration, shows []int) map[Name]float64 {
	gauges := map[Name]float64{}
	for i, n := range gaugeNames {
		total, most, weight, known := 0.0, 0.0, 0.0, 0
		for _, s := range now {
			if s == nil || s.at.Add(hold) < at || math.IsNaN(s.values[i]) {
				continue
			}
			v, w := s.values[i], 1.0
			if over[n] == mean {
				w = float64(s.pools)
			}
			total, weight, most = total+v*w, weight+w, max(most, v)
			known++
		}
		if known == 0 || known < shows[i] {
			continue
		}
		switch over[n] {
		case mean:
			total /= weight
		case highest:
			total = most
		}
		gauges[n] = total
	}
	return gauges
}

// Distinct leaves out recorders that read what an earlier one reads: several API
// servers in front of the same engines, or one page by two addresses. Equal label
// sets alone do not tell (spec/inferencex.md §4.6, rule 2). Engines are the same
// when they also count the same: every counter, at both marks, within a
// thousandth, after something was counted between them. Nothing should be in
// flight at the marks. Two replicas under an even load have equal means, but not
// to that precision.
func Distinct(recorders []*Recorder, from, to string) []*Recorder {
	var kept []*Recorder
	for _, r := range recorders {
		if !slices.ContainsFunc(kept, func(k *Recorder) bool { return sameEngines(k, r, from, to) }) {
			kept = append(kept, r)
		}
	}
	return kept
}

func sameEngines(a, b *Recorder, from, to string) bool {
	a0, a1 := a.at(from), a.at(to)
	b0, b1 := b.at(from), b.at(to)
	if a0 == nil || a1 == nil || b0 == nil || b1 == nil || a1.Engine != b1.Engine {
		return false
	}
	return a1.Engine != Unknown && sameCounts(a0, b0) && sameCounts(a1, b1) && !maps.Equal(a0.Counters, a1.Counters)
}

// at is the snapshot of a mark; nil without one.
func (r *Recorder) at(mark string) *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.levels.find(mark); i > 0 {
		return r.levels.segments[i].first
	}
	return nil
}

func sameCounts(a, b *Snapshot) bool {
	return maps.EqualFunc(a.series, b.series, func(x, y map[string]float64) bool {
		return maps.EqualFunc(x, y, func(v, w float64) bool { return math.Abs(v-w) <= 1e-3*max(v, w) })
	})
}
