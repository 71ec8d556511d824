package trace

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomLists are lists as sessions make them, and worse: each goes on from a
// beginning of an earlier one, with ids that repeat.
func randomLists(r *rand.Rand, n int) [][]int32 {
	lists := [][]int32{nil}
	for range n {
		from := lists[r.IntN(len(lists))]
		if r.IntN(3) > 0 {
			from = lists[len(lists)-1]
		}
		keep := len(from)
		if r.IntN(3) == 0 {
			keep = r.IntN(len(from) + 1)
		}
		list := slices.Clone(from[:keep])
		for range r.IntN(6) {
			list = append(list, r.Int32N(4))
		}
		lists = append(lists, list)
	}
	return lists
}

func common(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestBlocksProperties(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		lists := randomLists(r, 40)
		var b Blocks
		w := NewBuilder(&b)
		paths := make([]Path, len(lists))
		beginnings := map[string]Path{}
		for i, list := range lists {
			paths[i] = w.Add(slices.Clone(list))
			for n := 1; n <= len(list); n++ {
				p := b.Prefix(paths[i], n)
				if int(p.Len) != n {
					t.Fatalf("seed %d: prefix %d of %v has length %d", seed, n, list, p.Len)
				}
				key := fmt.Sprint(list[:n])
				if known, ok := beginnings[key]; ok && known != p {
					t.Fatalf("seed %d: %v is in two places, %v and %v", seed, list[:n], known, p)
				}
				beginnings[key] = p
			}
		}
		if b.Distinct() != len(beginnings) {
			t.Fatalf("seed %d: %d ids for %d beginnings", seed, b.Distinct(), len(beginnings))
		}
		for i, list := range lists {
			if got := b.IDs(nil, paths[i]); !slices.Equal(got, list) {
				t.Fatalf("seed %d: list %d is %v, want %v", seed, i, got, list)
			}
			from := r.IntN(len(list) + 1)
			to := from + r.IntN(len(list)-from+1)
			if got := slices.Concat(b.Spans(nil, paths[i], from, to)...); !slices.Equal(got, list[from:to]) {
				t.Fatalf("seed %d: blocks %d to %d of %v are %v", seed, from, to, list, got)
			}
			for j := range lists {
				if got, want := b.CommonPrefix(paths[i], paths[j]), common(list, lists[j]); got != want {
					t.Fatalf("seed %d: %v and %v share %d, not %d", seed, list, lists[j], want, got)
				}
			}
			p := b.Prefix(paths[i], from)
			if got := b.IDs(nil, p); !slices.Equal(got, list[:from]) {
				t.Fatalf("seed %d: prefix %d of %v is %v", seed, from, list, got)
			}
		}
	}
}

// Hits agree with the definition of decisions.md 3, taken literally.
func TestHitsProperties(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		tr := &Trace{Blocks: &Blocks{}}
		w := NewBuilder(tr.Blocks)
		sub := &Subagent{}
		var requests []*Request
		for _, list := range randomLists(r, 25) {
			q := &Request{StartS: float64(r.IntN(20)), Path: w.Add(slices.Clone(list)), Whole: len(list) - r.IntN(min(2, len(list)+1))}
			if r.IntN(4) > 0 {
				q.APITimeS = Some(float64(r.IntN(8)))
			}
			if r.IntN(4) == 0 {
				sub.Requests = append(sub.Requests, q)
			} else {
				tr.Entries = append(tr.Entries, Entry{Request: q})
			}
		}
		tr.Entries = append(tr.Entries, Entry{Subagent: sub})
		for q := range tr.All {
			requests = append(requests, q)
		}
		whole := func(q *Request) []int32 { return tr.Blocks.IDs(nil, q.Path)[:q.Whole] }

		want := map[*Request]Hit{}
		last := map[*Subagent]*Request{}
		for q, stream := range tr.All {
			h := Hit{}
			if before := last[stream]; before != nil {
				h.PrevTurn = common(whole(before), whole(q))
			}
			last[stream] = q
			want[q] = h
		}
		slices.SortStableFunc(requests, func(a, b *Request) int { return cmp.Compare(a.StartS, b.StartS) })
		for i, q := range requests {
			h := want[q]
			for _, before := range requests[:i] {
				n := common(whole(before), whole(q))
				h.Instant = max(h.Instant, n)
				if before.EndS() <= q.StartS {
					h.Causal = max(h.Causal, n)
				}
			}
			want[q] = h
		}
		for q, got := range tr.Hits() {
			if got != want[q] {
				t.Fatalf("seed %d: %v at %g s: %+v, want %+v", seed, whole(q), q.StartS, got, want[q])
			}
		}
	}
}
