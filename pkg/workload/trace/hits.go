package trace

import (
	"cmp"
	"container/heap"
	"slices"
)

// Hit says how many leading whole blocks of a request an endless prefix cache of
// the trace's own could serve. Source: decisions.md 3.
type Hit struct {
	Instant  int // sent by an earlier request; a request's blocks count at once
	Causal   int // the same, counting only what a request left that had ended when this one started
	PrevTurn int // shared with the preceding request of the same recorded stream
}

// Hits finds the hits of every request, its subagents' included: all streams of
// a trace share one cache.
func (t *Trace) Hits() map[*Request]Hit {
	hits := map[*Request]Hit{}
	var order []*Request
	last := map[*Subagent]*Request{}
	for r, stream := range t.All {
		order = append(order, r)
		var h Hit
		if before := last[stream]; before != nil {
			h.PrevTurn = min(t.Blocks.CommonPrefix(before.Path, r.Path), before.Whole, r.Whole)
		}
		last[stream] = r
		hits[r] = h
	}
	slices.SortStableFunc(order, func(a, b *Request) int { return cmp.Compare(a.StartS, b.StartS) })

	sent, done := newCached(t.Blocks), newCached(t.Blocks)
	var running byEnd
	for _, r := range order {
		for len(running) > 0 && running[0].EndS() <= r.StartS {
			ended := heap.Pop(&running).(*Request)
			done.add(t.Blocks.Prefix(ended.Path, ended.Whole))
		}
		p := t.Blocks.Prefix(r.Path, r.Whole)
		h := hits[r]
		h.Instant, h.Causal = sent.leading(p), done.leading(p)
		hits[r] = h
		sent.add(p)
		heap.Push(&running, r)
	}
	return hits
}

// cached is a set of lists of blocks that holds every beginning of its members,
// so that in each run it is a beginning too: up to depth, or nothing.
type cached struct {
	blocks *Blocks
	depth  []int32 // by run
}

func newCached(b *Blocks) cached { return cached{b, make([]int32, len(b.runs))} }

// leading is the length of the longest beginning of p that is in the set.
func (c cached) leading(p Path) int {
	for p.Run != noRun {
		r := c.blocks.runs[p.Run]
		if have := min(c.depth[p.Run], p.Len); have > r.kept {
			return int(have)
		}
		p = Path{r.parent, min(p.Len, r.kept)}
	}
	return 0
}

func (c cached) add(p Path) {
	for p.Run != noRun && c.depth[p.Run] < p.Len {
		r := c.blocks.runs[p.Run]
		c.depth[p.Run] = p.Len
		p = Path{r.parent, min(p.Len, r.kept)}
	}
}

// byEnd is a heap of requests, the one that ends first on top.
type byEnd []*Request

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].EndS() < h[j].EndS() }
func (h byEnd) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byEnd) Push(r any)        { *h = append(*h, r.(*Request)) }
func (h *byEnd) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
