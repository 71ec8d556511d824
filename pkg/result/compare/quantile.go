package compare

import (
	"cmp"
	"math"
	"slices"
)

// value is one observation and the cluster (root trace) that it belongs to.
type value struct {
	v       float64 // +∞ for a failed request
	cluster int32
}

// sorted sorts in place. Equal values are ordered by cluster, so that the order
// of the records never matters.
func sorted(vs []value) []value {
	slices.SortFunc(vs, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.cluster, b.cluster))
	})
	return vs
}

// quantiles reads several quantiles, ascending, of sorted values of which each
// counts as often as its cluster was drawn. The position is q·(n−1), linearly
// interpolated (spec/replay.md §7.7), or nearest to it where failures are among
// the values (§7.6). NaN without any value.
func quantiles(vs []value, draws []int32, nearest bool, qs []float64, out []float64) {
	total := int64(0)
	for _, x := range vs {
		total += int64(draws[x.cluster])
	}
	for i := range qs {
		out[i] = math.NaN()
	}
	if total == 0 {
		return
	}
	at, before, seen := 0, int64(0), int64(0) // counts up to vs[at−1], without and with it
	order := func(k int64) float64 {
		if k < before { // the neighbour of the last quantile lay beyond this one
			at, before, seen = 0, 0, 0
		}
		for seen <= k {
			before = seen
			seen += int64(draws[vs[at].cluster])
			at++
		}
		return vs[at-1].v
	}
	for i, q := range qs {
		pos := q * float64(total-1)
		if nearest {
			out[i] = order(int64(math.RoundToEven(pos)))
			continue
		}
		k := int64(pos)
		low := order(k)
		out[i] = low
		if frac := pos - float64(k); frac > 0 && k+1 < total {
			out[i] = low + frac*(order(k+1)-low)
		}
	}
}

// kish is the effective number of clusters of unequal size: (Σn)²/Σn².
func kish(sizes []int) float64 {
	sum, squares := 0.0, 0.0
	for _, n := range sizes {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}
