package replay

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// play is one live tree on a lane. Only the scheduler's goroutine touches it.
type play struct {
	*script
	num, lane, pass int
	marker          prompt.Marker
	models          map[string]string
	streams         []*stream
	ideal           *ideal

	originS float64 // trace time that hand-off offsets count from: t*, or the first turn's time
	whole   bool    // entered at turn 0, in profiling
	dropped bool    // its context does not fit the engine

	timers     timers
	slot       int           // in the agenda, -1 when it has no timer
	skip       time.Duration // idle time removed for this tree alone
	skipBefore time.Duration // removed for all trees before this one
	held       []*stream     // due, but waiting for gates or children

	sent      int // requests, of all steps
	inFlight  int
	idleSince record.Stamp
	capFloor  record.Stamp // when a due turn was last held: an idle cap acts no earlier

	report record.Tree
}

// state is what a stream is doing.
type state uint8

const (
	unspawned state = iota
	ready           // its next turn may be armed
	armed           // its next turn waits for its time
	waiting         // its next turn is due, but held
	flying          // its turn is in flight
	finished        // no more turns
)

// stream is the live side of a tree's stream.
type stream struct {
	*tree.Stream
	state       state
	next        int // turn
	correlation string
	due         record.Stamp // when its held turn was due
	joinSince   record.Stamp // since when children are all that holds it
}

func (s *stream) turn() *tree.Turn { return s.Turns[s.next] }

// live reports whether the stream was spawned and has turns to go.
func (s *stream) live() bool { return s.state != unspawned && s.state != finished }

// over reports whether a turn reached a terminal state, or never will be played.
func (p *play) over(t *tree.Turn) bool {
	s := p.streams[t.Stream.Index]
	return s.state == finished || s.next > t.Index
}

// idle takes a stream's next turn back to where a step finds it.
func (s *stream) idle() { s.state, s.due, s.joinSince = ready, 0, 0 }

// joined reports whether all children that the turn joins are done.
func (p *play) joined(t *tree.Turn) bool {
	for _, b := range t.Joins {
		for _, s := range b.Streams {
			if p.streams[s.Index].state != finished {
				return false
			}
		}
	}
	return true
}

// seeJoin notes when children become all that holds a turn that is due.
func (p *play) seeJoin(s *stream, at record.Stamp) {
	t := s.turn()
	if s.joinSince.Seen() || p.joined(t) {
		return
	}
	for _, g := range t.Gates {
		if !p.over(g) && !slices.Contains(t.Joins, g.Stream.Branch) {
			return
		}
	}
	s.joinSince = at
}

// free reports whether the turn's gates and children let it go.
func (p *play) free(t *tree.Turn) bool {
	for _, g := range t.Gates {
		if !p.over(g) {
			return false
		}
	}
	return p.joined(t)
}

// drained reports whether the tree is over: the root is terminal and no child is
// left (spec/replay.md §4.1).
func (p *play) drained() bool {
	for i, s := range p.streams {
		if s.live() || i == 0 && s.state == unspawned {
			return false
		}
	}
	return p.inFlight == 0
}

// stop ends a stream early. When the root stops, children not yet spawned never will be.
func (p *play) stop(s *stream) {
	s.state = finished
	if s.Index != 0 {
		return
	}
	for _, c := range p.streams {
		if c.state == unspawned {
			c.state = finished
		}
	}
}

// skipped is the idle time that caps have removed from the tree so far. system
// is what they removed for all trees of the run.
func (p *play) skipped(system time.Duration) time.Duration { return p.skip + system - p.skipBefore }

// open makes a stream's next turn playable.
func (p *play) open(s *stream) {
	s.state = ready
	if s.correlation == "" {
		s.correlation = uuid.NewString()
	}
}

// newPlay makes a tree that has not begun.
func (r *run) newPlay(lane int, sc *script) *play {
	pass := r.out.Played[sc.trace.ID]
	r.out.Played[sc.trace.ID]++
	p := &play{
		script: sc, num: r.trees, lane: lane, pass: pass, slot: -1,
		marker:  prompt.NewMarker(r.cfg.Marker, r.cfg.RunID, pass, lane, sc.trace.ID),
		models:  prompt.Models(sc.tree, r.cfg.Models),
		ideal:   newIdeal(r.shared(sc.trace.ID)),
		originS: sc.tree.FirstS,
	}
	r.trees++
	for _, s := range sc.tree.Streams {
		p.streams = append(p.streams, &stream{Stream: s})
	}
	p.open(p.streams[0])
	p.report = record.Tree{Num: p.num, Lane: lane, TraceID: sc.trace.ID, Pass: pass, RootID: p.streams[0].correlation,
		Start: r.clock.Now()}
	p.skipBefore = r.agenda.skip
	r.lanes[lane].play = p
	return p
}

// shared is what stands before the markers of a trace's trees: the same text in all.
func (r *run) shared(traceID string) *reach {
	if r.reused[traceID] == nil {
		r.reused[traceID] = &reach{}
	}
	return r.reused[traceID]
}
