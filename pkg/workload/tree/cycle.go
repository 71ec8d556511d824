package tree

// breakCycles makes sure that every turn can be reached: it plays the tree
// without time, and where nothing can go on it drops the gates, and then the
// joins, of the turns that are next. Recorded times and list order agree in
// every trace seen, but a trace is input from outside, and a replay must not
// hang on it.
func (t *Tree) breakCycles() {
	p := &dryPlay{next: make([]int, len(t.Streams)), open: make([]bool, len(t.Streams))}
	p.open[0] = true
	for done := 0; done < t.Turns; {
		moved := 0
		for _, s := range t.Streams {
			for p.open[s.Index] && p.next[s.Index] < len(s.Turns) && p.free(s.Turns[p.next[s.Index]]) {
				p.play(s.Turns[p.next[s.Index]])
				moved++
			}
		}
		done += moved
		if moved == 0 && !t.loosen(p) {
			return
		}
	}
}

type dryPlay struct {
	next []int  // by stream
	open []bool // spawned
}

func (p *dryPlay) over(t *Turn) bool { return p.next[t.Stream.Index] > t.Index }

func (p *dryPlay) free(t *Turn) bool {
	for _, g := range t.Gates {
		if !p.over(g) {
			return false
		}
	}
	for _, b := range t.Joins {
		for _, s := range b.Streams {
			if p.next[s.Index] < len(s.Turns) {
				return false
			}
		}
	}
	return true
}

func (p *dryPlay) play(t *Turn) {
	p.next[t.Stream.Index]++
	for _, branches := range [][]*Branch{t.SpawnOnIssue, t.SpawnOnReturn} {
		for _, b := range branches {
			for _, s := range b.Streams {
				p.open[s.Index] = true
			}
		}
	}
}

// loosen drops what holds the waiting turns; false means that nothing waits.
func (t *Tree) loosen(p *dryPlay) bool {
	for _, drop := range []func(*Turn) int{
		func(w *Turn) int { n := len(w.Gates); w.Gates = nil; return n },
		func(w *Turn) int {
			n := len(w.Joins)
			for _, b := range w.Joins {
				b.Join = nil
			}
			w.Joins = nil
			return n
		},
	} {
		dropped := 0
		for _, s := range t.Streams {
			if p.open[s.Index] && p.next[s.Index] < len(s.Turns) {
				w := s.Turns[p.next[s.Index]]
				if n := drop(w); n > 0 {
					dropped += n
					t.Dropped = append(t.Dropped, Drop{w.Stream.ID, "ordering edges that would have made a turn wait for itself"})
				}
			}
		}
		if dropped > 0 {
			return true
		}
	}
	return false
}
