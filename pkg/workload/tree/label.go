package tree

import (
	"cmp"
	"fmt"
	"slices"
)

// Limits of the classification (spec/replay.md §2.5).
const (
	auxMaxRequests  = 1
	auxRatio        = 0.1
	auxFloorTokens  = 16384
	reductionMaxOut = 4000
	reductionRatio  = 20
	groupMin        = 3
)

// label is what a detected chain is called: the id's suffix and the kind.
type label struct {
	suffix string
	kind   Kind
}

// labels classifies the workers of one level. preamble does not count for the
// main chain's model and size.
func labels(main *chain, workers []*chain, preamble *item) []label {
	peak, model := 0, ""
	for _, it := range main.items {
		if preamble != nil && it.list == preamble.list {
			continue
		}
		peak = max(peak, it.In)
		if model == "" {
			model = it.Model
		}
	}
	out := make([]label, len(workers))
	var rest []int
	for n, c := range workers {
		if isAux(c, peak, model) {
			out[n] = label{fmt.Sprintf("aux:%03d", n), Aux}
		} else {
			rest = append(rest, n)
		}
	}
	for g, group := range groups(workers, rest) {
		for m, n := range group {
			out[n] = label{fmt.Sprintf("wg:%03d_%03d", g, m), Worker}
		}
	}
	for _, n := range rest {
		if out[n].suffix == "" {
			out[n] = label{fmt.Sprintf("fa:%03d", n), FanOut}
		}
	}
	return out
}

// isAux recognises one-off calls: on another model, small, or reductions of a
// long prompt to a short answer.
func isAux(c *chain, peak int, model string) bool {
	if len(c.items) > auxMaxRequests {
		return false
	}
	r := c.items[0]
	if r.Model != model || r.In < max(auxFloorTokens, int(auxRatio*float64(peak))) {
		return true
	}
	return r.Out > 0 && r.Out < reductionMaxOut && r.In >= auxFloorTokens && r.In > reductionRatio*r.Out
}

// groups finds workers that forked from the same request and ran side by side:
// components of at least three overlapping spans, by earliest start.
func groups(workers []*chain, candidates []int) [][]int {
	type place struct{ parent, source int }
	buckets := map[place][]int{}
	for _, n := range candidates {
		if c := workers[n]; c.depth > 0 {
			at := place{c.parent, c.source}
			buckets[at] = append(buckets[at], n)
		}
	}
	var found [][]int
	for _, bucket := range buckets {
		// By start and end, so that what lasted no time comes before what started with it.
		slices.SortStableFunc(bucket, func(a, b int) int {
			return cmp.Or(cmp.Compare(workers[a].items[0].StartS, workers[b].items[0].StartS), cmp.Compare(workers[a].endS(), workers[b].endS()))
		})
		for len(bucket) > 0 {
			n, endS := 1, workers[bucket[0]].endS()
			for n < len(bucket) && workers[bucket[n]].items[0].StartS < endS {
				endS = max(endS, workers[bucket[n]].endS())
				n++
			}
			if n >= groupMin {
				found = append(found, slices.Sorted(slices.Values(bucket[:n])))
			}
			bucket = bucket[n:]
		}
	}
	slices.SortFunc(found, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return found
}
