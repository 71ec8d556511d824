package replay

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// timer is a turn that waits for its time. due counts in tree time: the clock
// plus all the idle time that caps have removed for this tree so far.
type timer struct {
	due    record.Stamp
	stream *stream
}

// timers is the heap of one tree.
type timers []timer

func (h timers) Len() int { return len(h) }
func (h timers) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].due, h[j].due), cmp.Compare(h[i].stream.Index, h[j].stream.Index)) < 0
}
func (h timers) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timers) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timers) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// agenda orders the trees by their next timer. Its key leaves the system's skip
// out, which is the same for all: a jump changes one number (decisions.md 16).
type agenda struct {
	plays []*play
	skip  time.Duration // removed for all trees
}

func (a *agenda) Len() int           { return len(a.plays) }
func (a *agenda) Less(i, j int) bool { return a.plays[i].before(a.plays[j]) }
func (a *agenda) Swap(i, j int) {
	a.plays[i], a.plays[j] = a.plays[j], a.plays[i]
	a.plays[i].slot, a.plays[j].slot = i, j
}
func (a *agenda) Push(x any) {
	p := x.(*play)
	p.slot = len(a.plays)
	a.plays = append(a.plays, p)
}
func (a *agenda) Pop() any {
	p := a.plays[len(a.plays)-1]
	a.plays = a.plays[:len(a.plays)-1]
	p.slot = -1
	return p
}

// before orders by next timer, then by number, so that equal times have an order.
func (p *play) before(q *play) bool {
	return cmp.Or(cmp.Compare(p.timers[0].due-record.Stamp(p.skip), q.timers[0].due-record.Stamp(q.skip)), cmp.Compare(p.num, q.num)) < 0
}

// update puts the tree where its next timer belongs.
func (a *agenda) update(p *play) {
	switch {
	case len(p.timers) == 0 && p.slot >= 0:
		heap.Remove(a, p.slot)
	case len(p.timers) > 0 && p.slot >= 0:
		heap.Fix(a, p.slot)
	case len(p.timers) > 0:
		heap.Push(a, p)
	}
}

// due is the time on the clock at which the tree's next timer fires.
func (a *agenda) due(p *play) record.Stamp {
	return p.timers[0].due - record.Stamp(p.skip) - record.Stamp(a.skip)
}

// next is the tree whose timer fires next, or nil.
func (a *agenda) next() *play {
	if len(a.plays) == 0 {
		return nil
	}
	return a.plays[0]
}

// arm sets the stream's timer to a time on the clock.
func (a *agenda) arm(p *play, s *stream, at record.Stamp) {
	s.state = armed
	heap.Push(&p.timers, timer{at + record.Stamp(p.skip) + record.Stamp(a.skip), s})
	a.update(p)
}

// pop takes the tree's next timer off.
func (a *agenda) pop(p *play) *stream {
	t := heap.Pop(&p.timers).(timer)
	a.update(p)
	return t.stream
}

// clear takes all timers of a tree off.
func (a *agenda) clear(p *play) {
	for _, t := range p.timers {
		t.stream.state = ready
	}
	p.timers = p.timers[:0]
	a.update(p)
}
