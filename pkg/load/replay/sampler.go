package replay

import (
	"fmt"

	"github.com/org/agentx-action/pkg/load/numpy"
)

// sampler says which trace comes next (spec/replay.md §4.2).
type sampler struct {
	kind   Sampling
	n      int
	random *numpy.Generator
	order  []int
	cursor int
}

func newSampler(kind Sampling, n int, seed uint64) *sampler {
	s := &sampler{kind: kind, n: n, random: numpy.New(seed)}
	for i := range n {
		s.order = append(s.order, i)
	}
	s.reshuffle()
	return s
}

// reshuffle orders the coming pass.
func (s *sampler) reshuffle() {
	if s.kind == SamplingShuffle {
		s.random.Shuffle(s.n, func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	}
}

func (s *sampler) next() int {
	if s.kind == SamplingRandom {
		return s.random.IntN(s.n)
	}
	if s.cursor == s.n {
		s.cursor = 0
		s.reshuffle()
	}
	s.cursor++
	return s.order[s.cursor-1]
}

// peek is the trace that next will return, or -1 when that is not known.
func (s *sampler) peek() int {
	if s.kind == SamplingRandom || s.cursor == s.n && s.kind == SamplingShuffle {
		return -1
	}
	return s.order[s.cursor%s.n]
}

// samplers gives each lane the sampler it draws from: one for all, or, for A/B
// runs, each its own seeded order, so that speed does not change what is played
// (decisions.md 19).
func samplers(cfg Config, traces int) []*sampler {
	out := make([]*sampler, cfg.Concurrency)
	if cfg.LanePlan == LanePlanSeeded {
		for lane := range out {
			out[lane] = newSampler(SamplingShuffle, traces, numpy.Derive(cfg.Seed, fmt.Sprintf("agentx.lane_plan.%d", lane)))
		}
		return out
	}
	shared := newSampler(cfg.Sampling, traces, numpy.Derive(cfg.Seed, "dataset.sampler."+string(cfg.Sampling)))
	for lane := range out {
		out[lane] = shared
	}
	return out
}
