package scrape

import (
	"fmt"
	"maps"
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
)

// Delta is by how much an engine's counters grew from one moment to another.
type Delta struct {
	From     record.Stamp     `json:"from_ns,omitempty"`
	To       record.Stamp     `json:"to_ns,omitempty"`
	Counters map[Name]float64 `json:"counters,omitempty"`
	// Missing says why a counter that the engine could show has no increase.
	Missing map[Name]string `json:"missing,omitempty"`
	// Resets counts, by quantity, the series that fell: an engine restarted,
	// and what it counted between the first sample and its end is lost.
	Resets map[Name]int `json:"resets,omitempty"`
	// Born counts, by quantity, the series that the first sample did not have.
	Born map[Name]int `json:"born,omitempty"`

	// What is missing because neither sample has its family.
	absent map[Name]bool
}

// counters holds the names that some engine's table counts.
var counters = func() map[Name]bool {
	names := map[Name]bool{}
	for _, e := range engines {
		for _, r := range e.rules {
			if r.shape.counts() {
				names[r.name] = true
			}
		}
	}
	return names
}()

// Increase is what came between a and the later b.
//
// A series that fell was reset to 0, so its increase is its new value, as
// Prometheus has it. One that appeared counts from 0: engines create labelled
// counters when they first count. One that is gone makes its quantity missing.
func (a Snapshot) Increase(b Snapshot) Delta {
	d := Delta{From: a.At, To: b.At,
		Counters: map[Name]float64{}, Missing: map[Name]string{},
		Resets: map[Name]int{}, Born: map[Name]int{}, absent: map[Name]bool{}}
	for _, n := range slices.Sorted(maps.Keys(b.series)) {
		if a.Engine != b.Engine {
			d.Missing[n] = fmt.Sprintf("the first page was of engine %q, the second of %q", a.Engine, b.Engine)
			continue
		}
		if a.unread[n] { // there, but not readable: no birth
			d.Missing[n] = "first sample: " + a.Missing[n]
			continue
		}
		d.grow(n, a.series[n], b.series[n])
	}
	for n := range a.series {
		if _, there := b.series[n]; !there {
			why := b.Missing[n]
			if why == "" {
				why = "no series"
			}
			d.Missing[n] = "second sample: " + why
		}
	}
	for n, why := range b.Missing {
		if _, said := d.Missing[n]; !said && counters[n] {
			d.Missing[n] = why
			d.absent[n] = a.Engine == b.Engine && !a.unread[n] && !b.unread[n]
		}
	}
	return d
}

func (d *Delta) grow(n Name, before, after map[string]float64) {
	total := 0.0
	for k, v := range after {
		switch old, known := before[k]; {
		case !known:
			d.Born[n]++
			total += v
		case v < old:
			d.Resets[n]++
			total += v
		default:
			total += v - old
		}
	}
	for k := range before {
		if _, there := after[k]; !there {
			delete(d.Born, n)
			delete(d.Resets, n)
			d.Missing[n] = "a series of the first sample is gone from the second"
			return
		}
	}
	d.Counters[n] = total
}

// then adds the increase of the time that follows. A counter that either lacks
// is missing.
func (d *Delta) then(next Delta) {
	d.To = next.To
	for n, why := range next.Missing {
		if _, said := d.Missing[n]; !said {
			d.Missing[n] = why
		}
	}
	for n, v := range next.Counters {
		if _, lacks := d.Missing[n]; !lacks {
			d.Counters[n] += v
		}
	}
	for n := range d.Missing {
		delete(d.Counters, n)
	}
	for n := range d.absent {
		d.absent[n] = d.absent[n] && next.absent[n]
	}
	for n, times := range next.Resets {
		d.Resets[n] += times
	}
	for n, times := range next.Born {
		d.Born[n] += times
	}
}

// restarted reports whether between a and the later b a counter fell or went
// away, be it for one of several engines.
func (a *Snapshot) restarted(b *Snapshot) bool {
	for n, before := range a.series {
		if b.unread[n] {
			continue
		}
		after := b.series[n]
		for k, old := range before {
			if v, there := after[k]; !there || v < old {
				return true
			}
		}
	}
	return false
}
