package tree

// breakCycles makes sure that every turn can be reached: it plays the tree
// without time, and where nothing can go on it takes away the ordering gates that
// hold the earliest waiting turn. Times and list order agree in every trace seen
// apart from ties within the time resolution, but a trace is input from outside,
// and a replay must not hang on it.
//
// Only gates can close a circle. Without them children wait for nothing but
// their spawn turn, and a join turn stands behind it in the root.
func (t *Tree) breakCycles() {
	p := &dryPlay{
		tree:   t,
		done:   make([]int, len(t.Streams)),
		holds:  make([][]*Turn, len(t.Streams)),
		open:   make([]bool, len(t.Streams)),
		behind: map[*Turn][]*Stream{},
	}
	p.enter(t.Root())
	p.run()
	for p.turns < t.Turns && p.loosen() {
		p.run()
	}
}

// dryPlay is a play of a tree without time.
type dryPlay struct {
	tree   *Tree
	turns  int                 // over, of all streams
	done   []int               // by stream: turns that are over
	open   []bool              // by stream: it was spawned
	holds  [][]*Turn           // by stream: what its next turn still has to wait for
	ready  []*Stream           // whose next turn may have become free
	behind map[*Turn][]*Stream // streams that look again when a turn is over
}

func (p *dryPlay) over(t *Turn) bool { return p.done[t.Stream.Index] > t.Index }

func (p *dryPlay) enter(s *Stream) {
	p.open[s.Index] = true
	p.arrive(s)
}

// arrive collects what the stream's next turn waits for.
func (p *dryPlay) arrive(s *Stream) {
	next := p.next(s)
	if next == nil {
		return
	}
	holds := p.holds[s.Index][:0]
	holds = append(holds, next.Gates...)
	for _, b := range next.Joins {
		for _, child := range b.Streams {
			holds = append(holds, child.Turns[len(child.Turns)-1])
		}
	}
	p.holds[s.Index] = holds
	p.ready = append(p.ready, s)
}

// next is the turn that the stream has come to, or nil behind its last.
func (p *dryPlay) next(s *Stream) *Turn {
	if n := p.done[s.Index]; n < len(s.Turns) {
		return s.Turns[n]
	}
	return nil
}

func (p *dryPlay) run() {
	for len(p.ready) > 0 {
		s := p.ready[len(p.ready)-1]
		p.ready = p.ready[:len(p.ready)-1]
		if next := p.next(s); next != nil && p.free(s) {
			p.play(next)
		}
	}
}

// free reports whether nothing holds the stream any more. If something does, the
// stream looks again when that is over.
func (p *dryPlay) free(s *Stream) bool {
	holds := p.holds[s.Index]
	for len(holds) > 0 && p.over(holds[len(holds)-1]) {
		holds = holds[:len(holds)-1]
	}
	p.holds[s.Index] = holds
	if len(holds) == 0 {
		return true
	}
	on := holds[len(holds)-1]
	p.behind[on] = append(p.behind[on], s)
	return false
}

func (p *dryPlay) play(t *Turn) {
	p.turns++
	p.done[t.Stream.Index]++
	p.arrive(t.Stream)
	for _, branches := range [][]*Branch{t.SpawnOnIssue, t.SpawnOnReturn} {
		for _, b := range branches {
			for _, s := range b.Streams {
				p.enter(s)
			}
		}
	}
	p.ready = append(p.ready, p.behind[t]...)
	delete(p.behind, t)
}

// loosen frees the earliest turn that only gates hold; false when there is none.
func (p *dryPlay) loosen() bool {
	var first *Turn
	for _, s := range p.tree.Streams {
		if next := p.next(s); next != nil && p.open[s.Index] && p.joined(next) && (first == nil || next.StartS < first.StartS) {
			first = next
		}
	}
	if first == nil {
		return false
	}
	var kept []*Turn
	for _, g := range first.Gates {
		if p.over(g) {
			kept = append(kept, g)
		}
	}
	first.Gates = kept
	p.tree.Dropped = append(p.tree.Dropped, Drop{What: first.Stream.ID, Reason: "ordering gates that would have made a turn wait for itself"})
	p.arrive(first.Stream)
	return true
}

// joined reports whether all children that the turn joins are done.
func (p *dryPlay) joined(t *Turn) bool {
	for _, b := range t.Joins {
		for _, s := range b.Streams {
			if p.next(s) != nil {
				return false
			}
		}
	}
	return true
}
