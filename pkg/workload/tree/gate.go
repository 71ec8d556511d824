package tree

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// maxGates bounds the ordering gates of one tree. Recorded sessions have a few a
// turn; hundreds of streams side by side, over and over, are no session.
const maxGates = 1 << 24

// gate finds the turns of other streams that must be over before a turn may be
// sent (spec/replay.md §2.8), scope by scope.
func (t *Tree) gate() error {
	families := map[int][]*Stream{}
	for _, s := range t.Streams {
		families[s.Family] = append(families[s.Family], s)
	}
	gates := 0
	for _, streams := range families {
		if len(streams) < 2 {
			continue
		}
		byEnd := make([][]*Turn, len(streams))
		for i, s := range streams {
			byEnd[i] = slices.SortedFunc(slices.Values(s.Turns), func(a, b *Turn) int {
				return cmp.Or(cmp.Compare(a.EndS, b.EndS), cmp.Compare(a.StartS, b.StartS), cmp.Compare(a.Index, b.Index))
			})
		}
		var found []*Turn
		for i, s := range streams {
			for _, turn := range s.Turns {
				found = found[:0]
				for j := range streams {
					if c := lastBefore(byEnd[j], turn.StartS); j != i && c != nil {
						found = append(found, c)
					}
				}
				turn.Gates = frontier(found)
				if gates += len(turn.Gates); gates > maxGates {
					return &trace.Error{File: t.Trace.File, Trace: t.Trace.ID, Where: s.ID,
						Reason: fmt.Sprintf("more than %d ordering gates between its streams", maxGates),
						Remedy: "the trace is no single session: leave it out"}
				}
			}
		}
	}
	return nil
}

// lastBefore is the turn that ended last among those that started before and
// ended by startS, or nil. Ends do not precede starts, so of the turns that
// ended by then only those that began and ended at startS itself don't qualify,
// and they stand last.
func lastBefore(byEnd []*Turn, startS float64) *Turn {
	n, _ := slices.BinarySearchFunc(byEnd, startS, func(t *Turn, s float64) int {
		return cmp.Or(cmp.Compare(t.EndS, s), cmp.Compare(t.StartS, s))
	})
	if n == 0 {
		return nil
	}
	return byEnd[n-1]
}

// frontier drops the turns that another one already had to wait for. If any of
// the others had to, then the one that started last did.
func frontier(found []*Turn) []*Turn {
	lastS := 0.0
	for _, c := range found {
		lastS = max(lastS, c.StartS)
	}
	var kept []*Turn
	for _, c := range found {
		if c.StartS >= lastS || c.EndS > lastS {
			kept = append(kept, c)
		}
	}
	return kept
}
