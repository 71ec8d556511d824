package tree

import (
	"cmp"
	"slices"
)

// gate finds the turns of other streams that must be over before a turn may be
// sent (spec/replay.md §2.8), scope by scope.
func (t *Tree) gate() {
	families := map[int][]*Stream{}
	for _, s := range t.Streams {
		families[s.Family] = append(families[s.Family], s)
	}
	for _, streams := range families {
		if len(streams) < 2 {
			continue
		}
		byEnd := make([][]*Turn, len(streams))
		for i, s := range streams {
			byEnd[i] = slices.Clone(s.Turns)
			slices.SortStableFunc(byEnd[i], func(a, b *Turn) int {
				return cmp.Or(cmp.Compare(a.EndS, b.EndS), cmp.Compare(a.StartS, b.StartS), cmp.Compare(a.Index, b.Index))
			})
		}
		for i, s := range streams {
			for _, turn := range s.Turns {
				var found []*Turn
				for j := range streams {
					if c := lastBefore(byEnd[j], turn.StartS); j != i && c != nil {
						found = append(found, c)
					}
				}
				turn.Gates = frontier(found)
			}
		}
	}
}

// lastBefore is the turn that ended last among those that started before and
// ended by startS.
func lastBefore(byEnd []*Turn, startS float64) *Turn {
	n, _ := slices.BinarySearchFunc(byEnd, startS, func(t *Turn, s float64) int {
		if t.EndS <= s {
			return -1
		}
		return 1
	})
	for n--; n >= 0; n-- {
		if byEnd[n].StartS < startS {
			return byEnd[n]
		}
	}
	return nil
}

// frontier drops the turns that another one already had to wait for.
func frontier(found []*Turn) []*Turn {
	var kept []*Turn
	for _, c := range found {
		implied := slices.ContainsFunc(found, func(d *Turn) bool { return c.StartS < d.StartS && c.EndS <= d.StartS })
		if !implied {
			kept = append(kept, c)
		}
	}
	return kept
}
