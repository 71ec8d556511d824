package tree

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// row is a request for the reference: plain ids instead of paths.
type row struct {
	*trace.Request
	list int
	ids  []int32
}

func common(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func inTime(a, b row) int {
	return cmp.Or(cmp.Compare(a.StartS, b.StartS), cmp.Compare(a.list, b.list))
}

type fork struct{ chain, depth int }

// referenceChains splits rows by the words of spec/replay.md §2.3 and §2.4 and
// returns the list indices of each chain, the main chain first.
func referenceChains(rows []row, eps float64) [][]int {
	slices.SortFunc(rows, inTime)
	first := rows[0]
	alone, known := true, false
	for _, r := range rows[1:] {
		alone = alone && common(first.ids, r.ids) == 0
		for _, id := range r.ids {
			known = known || slices.Contains(first.ids, id)
		}
	}
	preamble := len(rows) > 1 && len(first.ids) > 0 && alone && (first.Out <= 64 || !known)
	rest := rows
	if preamble {
		rest = rows[1:]
	}

	var chains [][]row
	forks := map[int][]fork{}
	tail := func(c []row) *row {
		for i := len(c) - 1; i >= 0; i-- {
			if len(c[i].ids) > 0 {
				return &c[i]
			}
		}
		return nil
	}
	for _, r := range rest {
		if len(chains) == 0 {
			chains = append(chains, []row{r})
			continue
		}
		if len(r.ids) == 0 || tail(chains[0]) == nil {
			chains[0] = append(chains[0], r)
			continue
		}
		var candidates []int
		for i, c := range chains {
			last := tail(c)
			if common(last.ids, r.ids) == len(last.ids) && last.Model == r.Model && last.EndS() <= r.StartS+eps {
				candidates = append(candidates, i)
			}
		}
		if len(candidates) > 0 {
			at := slices.MinFunc(candidates, func(a, b int) int {
				return cmp.Or(-cmp.Compare(len(tail(chains[a]).ids), len(tail(chains[b]).ids)), cmp.Compare(a, b))
			})
			chains[at] = append(chains[at], r)
			continue
		}
		var all []int
		for i := range chains {
			all = append(all, i)
		}
		from := slices.MinFunc(all, func(a, b int) int {
			x, y := tail(chains[a]), tail(chains[b])
			return cmp.Or(-cmp.Compare(common(x.ids, r.ids), common(y.ids, r.ids)), -cmp.Compare(len(x.ids), len(y.ids)), cmp.Compare(a, b))
		})
		source := tail(chains[from])
		if depth := common(source.ids, r.ids); depth > 0 {
			forks[source.list] = append(forks[source.list], fork{len(chains), depth})
		}
		chains = append(chains, []row{r})
	}

	var armed []int
	for list := range forks {
		armed = append(armed, list)
	}
	for len(armed) > 0 {
		slices.Sort(armed)
		list := armed[0]
		armed = armed[1:]
		owner := slices.IndexFunc(chains, func(c []row) bool { last := tail(c); return last != nil && last.list == list })
		if owner < 0 {
			continue
		}
		last := tail(chains[owner])
		var eligible []fork
		for _, f := range forks[list] {
			begin := chains[f.chain][0]
			gap := begin.StartS - last.EndS()
			blocked := gap > 3600 && float64(f.depth)/float64(len(last.ids)) < 0.5
			if f.depth > 0 && last.EndS() <= begin.StartS+eps && begin.Model == last.Model && !blocked {
				eligible = append(eligible, f)
			}
		}
		if len(eligible) == 0 {
			continue
		}
		elected := slices.MinFunc(eligible, func(a, b fork) int {
			return cmp.Or(-cmp.Compare(a.depth, b.depth), inTime(chains[a.chain][0], chains[b.chain][0]))
		})
		chains[owner] = slices.SortedFunc(slices.Values(append(chains[owner], chains[elected.chain]...)), inTime)
		chains[elected.chain] = nil
		left := forks[list]
		delete(forks, list)
		last = tail(chains[owner])
		for _, f := range left {
			if f != elected {
				if depth := common(last.ids, chains[f.chain][0].ids); depth > 0 {
					forks[last.list] = append(forks[last.list], fork{f.chain, depth})
				}
			}
		}
		armed = append(armed, last.list)
	}

	main, workers := chains[0], chains[1:]
	workers = slices.DeleteFunc(workers, func(c []row) bool { return c == nil })
	slices.SortFunc(workers, func(a, b []row) int { return inTime(a[0], b[0]) })
	if preamble {
		main = slices.SortedFunc(slices.Values(append(main, first)), inTime)
	}
	var lists [][]int
	for _, c := range append([][]row{main}, workers...) {
		var l []int
		for _, r := range c {
			l = append(l, r.list)
		}
		lists = append(lists, l)
	}
	return lists
}

func TestChainsEqualReference(t *testing.T) {
	for seed := range uint64(400) {
		text := randomSession(rand.New(rand.NewPCG(seed, 2)))
		if tree, err := New(session(t, text)); err == nil {
			checkChains(t, text, tree)
		}
	}
}

func TestSampleChainsEqualReference(t *testing.T) {
	for _, tree := range sampleTrees(t) {
		checkChains(t, tree.Trace.ID, tree)
	}
}

func checkChains(t *testing.T, what string, tree *Tree) {
	t.Helper()
	rows, got := map[*trace.Subagent][]row{}, map[*trace.Subagent][][]int{}
	add := func(sub *trace.Subagent, r *trace.Request, list int) {
		ids := tree.Trace.Blocks.IDs(nil, r.Path)
		rows[sub] = append(rows[sub], row{r, list, ids[:r.Whole]})
	}
	for i, e := range tree.Trace.Entries {
		if e.Request != nil {
			add(nil, e.Request, i)
			continue
		}
		for j, r := range e.Subagent.Requests {
			add(e.Subagent, r, j)
		}
	}
	for _, s := range tree.Streams {
		var l []int
		for _, turn := range s.Turns {
			l = append(l, turn.List)
		}
		got[s.Agent] = append(got[s.Agent], l)
	}
	for sub, level := range got {
		if want := referenceChains(rows[sub], tree.Trace.ResolutionS); !slices.EqualFunc(level, want, slices.Equal) {
			t.Fatalf("%s: chains %v; want %v", what, level, want)
		}
	}
}
