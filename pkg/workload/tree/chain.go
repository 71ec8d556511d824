package tree

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// item is a request with its place in the list it was recorded in.
type item struct {
	*trace.Request
	list int
	path trace.Path // its whole blocks only
}

// chain is a stream in the making: requests that extend one another.
type chain struct {
	items  []item
	last   int // item that is the last with block ids, or -1
	near   int // blocks that it shares with the request placed last
	depth  int // blocks shared with the request it forked from
	parent int // chain it forked from, or -1
	source int // list index of the request it forked from
	gone   bool
}

// tail is the last request that has block ids, or nil.
func (c *chain) tail() *item {
	if c.last < 0 {
		return nil
	}
	return &c.items[c.last]
}

func (c *chain) add(it item) {
	if it.path.Len > 0 {
		c.last, c.near = len(c.items), int(it.path.Len)
	}
	c.items = append(c.items, it)
}

// merge puts items in at their times.
func (c *chain) merge(items ...item) {
	c.items = append(c.items, items...)
	slices.SortStableFunc(c.items, byTime)
	for c.last = len(c.items) - 1; c.last >= 0 && c.items[c.last].path.Len == 0; {
		c.last--
	}
}

func (c *chain) endS() float64 {
	end := 0.0
	for _, it := range c.items {
		end = max(end, it.EndS())
	}
	return end
}

// detector splits a flat list into chains (spec/replay.md §2.3, §2.4).
type detector struct {
	blocks *trace.Blocks
	epsS   float64 // the trace's time resolution (decisions.md 6)
	chains []*chain
	placed trace.Path    // last
	forks  map[int][]int // list index of a fork's source → chains
	left   *int          // comparisons
}

// maxCompared bounds the comparisons of requests with chains that one trace may
// cost. A session of 10,000 requests in 1,000 chains stays below it.
const maxCompared = 1 << 24

// Seam guard: a continuation after a long pause that keeps less than half of the
// context is taken as a new thread.
const (
	seamMaxGapS    = 3600
	seamMinOverlap = 0.5
)

// detect splits the items of one level, which id names. It returns the main
// chain and the others by first start. The preamble, if one was peeled off, is
// back in the main chain.
func (b *build) detect(id string, items []item) (main *chain, workers []*chain, preamble *item, err error) {
	t := b.tree.Trace
	slices.SortStableFunc(items, byTime)
	rest := items
	if isPreamble(t.Blocks, items) {
		preamble, rest = &items[0], items[1:]
	}
	d := &detector{blocks: t.Blocks, epsS: t.ResolutionS, forks: map[int][]int{}, left: &b.left}
	for _, it := range rest {
		if !d.place(it) {
			return nil, nil, nil, b.refuse(id, fmt.Sprintf("its %d requests fall into too many chains to be one session", len(items)),
				"check the block ids: requests of one context must begin with the same ids")
		}
	}
	d.mend()

	main = d.chains[0]
	for _, c := range d.chains[1:] {
		if !c.gone {
			workers = append(workers, c)
		}
	}
	slices.SortStableFunc(workers, func(a, b *chain) int { return byTime(a.items[0], b.items[0]) })
	if preamble != nil {
		main.merge(*preamble)
	}
	return main, workers, preamble, nil
}

func byTime(a, b item) int {
	return cmp.Or(cmp.Compare(a.StartS, b.StartS), cmp.Compare(a.list, b.list))
}

// isPreamble reports whether the earliest request is a one-off call before the
// session proper (spec/replay.md §2.3).
func isPreamble(blocks *trace.Blocks, items []item) bool {
	if len(items) < 2 || items[0].path.Len == 0 {
		return false
	}
	first := items[0]
	for _, it := range items[1:] {
		if blocks.CommonPrefix(first.path, it.path) > 0 {
			return false
		}
	}
	return first.Out <= 64 || !sharesIDs(blocks, first, items[1:])
}

func sharesIDs(blocks *trace.Blocks, first item, others []item) bool {
	own := map[int32]bool{}
	for _, id := range blocks.IDs(nil, first.path) {
		own[id] = true
	}
	var buf []int32
	for _, it := range others {
		buf = blocks.IDs(buf[:0], it.path)
		for _, id := range buf {
			if own[id] {
				return true
			}
		}
	}
	return false
}

// place puts a request on the chain it extends, or starts a chain (phase 1). It
// returns false when the trace has used up its comparisons.
func (d *detector) place(it item) bool {
	switch {
	case len(d.chains) == 0:
		d.start(&chain{last: -1, parent: -1}, it)
		d.placed = it.path
		return true
	case it.path.Len == 0:
		d.chains[0].add(it)
		return true
	case d.chains[0].tail() == nil:
		d.chains[0].add(it)
		d.placed = it.path
		return true
	}
	if *d.left -= len(d.chains); *d.left < 0 {
		return false
	}
	extended, source := -1, -1
	var extendedLen, shared, sourceLen int
	step := d.blocks.CommonPrefix(d.placed, it.path)
	for i, c := range d.chains {
		tail := c.tail()
		length := int(tail.path.Len)
		// What parts a tail from the last request parts it from this one, unless
		// this one parts from the last earlier, or just there.
		n := min(c.near, step)
		if c.near == step {
			n = d.blocks.CommonPrefix(tail.path, it.path)
		}
		c.near = n
		if n == length && tail.Model == it.Model && tail.EndS() <= it.StartS+d.epsS && (extended < 0 || n > extendedLen) {
			extended, extendedLen = i, n
		}
		if source < 0 || n > shared || n == shared && length > sourceLen {
			source, shared, sourceLen = i, n, length
		}
	}
	d.placed = it.path
	if extended >= 0 {
		d.chains[extended].add(it)
		return true
	}
	at := d.chains[source].tail().list
	if shared > 0 {
		d.forks[at] = append(d.forks[at], len(d.chains))
	}
	d.start(&chain{last: -1, depth: shared, parent: source, source: at}, it)
	return true
}

func (d *detector) start(c *chain, it item) {
	c.add(it)
	d.chains = append(d.chains, c)
}

// mend undoes forks that only a compaction or an edit of the context made: where
// a chain ended at a fork's source, the best fork is its continuation (phase 2).
func (d *detector) mend() {
	armed := &ints{}
	for source := range d.forks {
		*armed = append(*armed, source)
	}
	heap.Init(armed)
	for armed.Len() > 0 {
		source := heap.Pop(armed).(int)
		owner := d.endingAt(source)
		if owner < 0 {
			continue
		}
		forks := d.forks[source]
		elected := d.elect(owner, forks)
		if elected < 0 {
			continue
		}
		delete(d.forks, source)
		tail := d.splice(owner, elected)
		for _, f := range forks {
			if f == elected {
				continue
			}
			c := d.chains[f]
			c.parent, c.source = owner, tail.list
			if c.depth = d.blocks.CommonPrefix(tail.path, c.items[0].path); c.depth > 0 {
				d.forks[tail.list] = append(d.forks[tail.list], f)
			}
		}
		heap.Push(armed, tail.list)
	}
}

// endingAt is the live chain whose last request with block ids has that list
// index, or -1.
func (d *detector) endingAt(list int) int {
	for i, c := range d.chains {
		if tail := c.tail(); !c.gone && tail != nil && tail.list == list {
			return i
		}
	}
	return -1
}

// elect picks the fork that continues the chain, or -1.
func (d *detector) elect(owner int, forks []int) int {
	tail := d.chains[owner].tail()
	best := -1
	for _, f := range forks {
		c := d.chains[f]
		first := c.items[0]
		gapS := first.StartS - tail.EndS()
		switch {
		case c.gone || f == owner || c.depth == 0 || first.Model != tail.Model || gapS < -d.epsS:
			continue
		case gapS > seamMaxGapS && float64(c.depth) < seamMinOverlap*float64(tail.path.Len):
			continue
		}
		if best < 0 || better(c, d.chains[best]) {
			best = f
		}
	}
	return best
}

func better(a, b *chain) bool {
	if a.depth != b.depth {
		return a.depth > b.depth
	}
	return byTime(a.items[0], b.items[0]) < 0
}

// splice appends a chain to another and returns the new tail.
func (d *detector) splice(owner, f int) *item {
	to, from := d.chains[owner], d.chains[f]
	to.merge(from.items...)
	from.gone = true
	for _, c := range d.chains {
		if c.parent == f {
			c.parent = owner
		}
	}
	return to.tail()
}

// ints is a heap of list indices.
type ints []int

func (h ints) Len() int           { return len(h) }
func (h ints) Less(i, j int) bool { return h[i] < h[j] }
func (h ints) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ints) Push(x any)        { *h = append(*h, x.(int)) }
func (h *ints) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
