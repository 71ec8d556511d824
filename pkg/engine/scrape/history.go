package scrape

import (
	"maps"
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
)

// over says how the gauges of several engines become one figure.
var over = func() map[Name]combine {
	names := map[Name]combine{KVCapacity: sum}
	for _, e := range engines {
		for _, r := range e.rules {
			if !r.shape.counts() {
				names[r.name] = r.over
			}
		}
	}
	return names
}()

// gaugeNames are the gauges in the order of a step's values.
var gaugeNames = slices.Sorted(maps.Keys(over))

// maxSteps bounds a history: 6 hours of samples at the default interval, 7 MB.
const maxSteps = 1 << 16

// step is one sample's gauges, NaN where there is none.
type step struct {
	at     record.Stamp
	pools  int // logical engines that a mean is over
	values []float64
}

// history keeps the gauges of a recorder, so that those of several can be put
// together on one time axis. When it is full every second step goes, and from
// then on only every second sample is kept.
type history struct {
	steps []step
	every int
	skip  int
}

func (h *history) add(s *Snapshot) {
	if n := len(h.steps); n > 0 && s.At < h.steps[n-1].at {
		return // overtaken by a later sample
	}
	if h.skip > 0 {
		h.skip--
		return
	}
	values := make([]float64, len(gaugeNames))
	for i, n := range gaugeNames {
		v, ok := s.Gauges[n]
		if !ok {
			v = math.NaN()
		}
		values[i] = v
	}
	h.steps = append(h.steps, step{s.At, max(1, s.pools), values})
	h.every = max(1, h.every)
	if len(h.steps) >= maxSteps {
		for i := range len(h.steps) / 2 {
			h.steps[i] = h.steps[2*i]
		}
		clear(h.steps[len(h.steps)/2:])
		h.steps = h.steps[:len(h.steps)/2]
		h.every *= 2
	}
	h.skip = h.every - 1
}
