package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/agentx-action/pkg/load/numpy"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// reference plays trees after spec/replay.md §4 in the plainest way: it keeps a
// flat list of streams with absolute times, looks at all of them after every
// event, and moves every time by hand when a cap acts. Times are seconds since
// profiling began. It shares no code with the package but numpy's t*.
type reference struct {
	cfg    Config
	trees  []*tree.Tree
	roll   func(traceID string, pass int, stream string, turn int, kind record.Kind) answer
	cursor int
	passes map[string]int
	lanes  []*refTree

	now       float64
	idleSince float64
	primers   map[string]float64
	sends     map[string]float64
	warm      float64 // length of the primers' step
}

type refTree struct {
	t         *tree.Tree
	pass      int
	origin    float64
	streams   []*refStream
	idleSince float64
}

type refStream struct {
	*tree.Stream
	spawned, done bool
	next          int
	pending       float64 // when its timer fires; NaN without one
	due           bool    // the timer has fired, gates hold it
	ends          float64 // of its request in flight; NaN without one
	outcome       record.Outcome
}

func (p *reference) draw() *tree.Tree {
	t := p.trees[p.cursor%len(p.trees)]
	p.cursor++
	return t
}

func (p *reference) newTree(t *tree.Tree) *refTree {
	out := &refTree{t: t, pass: p.passes[t.Trace.ID], origin: t.FirstS, idleSince: p.now}
	p.passes[t.Trace.ID]++
	for _, s := range t.Streams {
		out.streams = append(out.streams, &refStream{Stream: s, pending: math.NaN(), ends: math.NaN()})
	}
	out.streams[0].spawned = true
	return out
}

// enter is §4.3.
func (p *reference) enter(lane int) *refTree {
	rt := p.newTree(p.draw())
	t := rt.t
	rt.origin = numpy.TStar(p.cfg.Seed, t.Trace.ID, lane, t.FirstS, t.LastS, p.cfg.StartMinRatio, p.cfg.StartMaxRatio)
	for _, s := range rt.streams {
		for s.next < len(s.Turns) && s.Turns[s.next].StartS < rt.origin {
			s.next++
		}
	}
	for i, s := range rt.streams {
		left := s.next < len(s.Turns)
		switch {
		case i == 0:
			s.done = !left
		case left && (s.Branch.StartS <= rt.origin || rt.origin >= s.Branch.Spawn.StartS && rt.streams[0].next > s.Branch.Spawn.Index):
			s.spawned = true
		case left:
			s.next = 0
		default:
			s.done = true
		}
	}
	return rt
}

// prime is §4.4 step A: when the primers go, and how long the step takes.
func (p *reference) prime() {
	limit := p.cfg.SystemIdleCap.Seconds()
	if limit == 0 {
		limit = 10
	}
	most := 0.0
	each := func(f func(rt *refTree, s *refStream, lead float64)) {
		for _, rt := range p.lanes {
			for _, s := range rt.streams {
				if s.spawned && !s.done && s.next > 0 {
					lead := min(rt.origin-s.Turns[s.next-1].StartS, limit)
					if p.cfg.Burst {
						lead = 0
					}
					f(rt, s, lead)
				}
			}
		}
	}
	each(func(_ *refTree, _ *refStream, lead float64) { most = max(most, lead) })
	each(func(rt *refTree, s *refStream, lead float64) {
		p.primers[name(s.ID, rt.pass, s.next-1)] = most - lead
		p.warm = max(p.warm, most-lead+p.roll(rt.t.Trace.ID, rt.pass, s.ID, s.next-1, record.KindPrimer).takes.Seconds())
	})
}

func (p *reference) over(rt *refTree, t *tree.Turn) bool {
	s := rt.streams[t.Stream.Index]
	return s.done || s.next > t.Index
}

func (p *reference) joined(rt *refTree, t *tree.Turn) bool {
	for _, b := range t.Joins {
		for _, c := range b.Streams {
			if !rt.streams[c.Index].done {
				return false
			}
		}
	}
	return true
}

func (p *reference) free(rt *refTree, s *refStream) bool {
	t := s.Turns[s.next]
	for _, g := range t.Gates {
		if !p.over(rt, g) {
			return false
		}
	}
	return p.joined(rt, t)
}

func (rt *refTree) flying() bool {
	for _, s := range rt.streams {
		if !math.IsNaN(s.ends) {
			return true
		}
	}
	return false
}

func (rt *refTree) earliest() float64 {
	out := math.Inf(1)
	for _, s := range rt.streams {
		if !math.IsNaN(s.pending) {
			out = min(out, s.pending)
		}
	}
	return out
}

func (rt *refTree) shift(by float64) {
	for _, s := range rt.streams {
		s.pending -= by
	}
}

// play is the profiling phase.
func (p *reference) play() {
	for lane := range p.cfg.Concurrency {
		if p.cfg.StartMaxRatio > 0 {
			p.lanes = append(p.lanes, p.enter(lane))
		} else {
			p.lanes = append(p.lanes, p.newTree(p.draw()))
		}
	}
	p.prime()
	smallest := math.Inf(1)
	for _, rt := range p.lanes {
		for _, s := range rt.streams {
			if s.spawned && !s.done && p.free(rt, s) {
				smallest = min(smallest, s.Turns[s.next].StartS-rt.origin)
			}
		}
	}
	for _, rt := range p.lanes {
		mine := math.Inf(1)
		for _, s := range rt.streams {
			if s.spawned && !s.done && p.free(rt, s) {
				mine = min(mine, s.Turns[s.next].StartS-rt.origin)
			}
		}
		for _, s := range rt.streams {
			if s.spawned && !s.done {
				from := smallest
				if p.cfg.Burst {
					from = mine
				}
				s.pending = max(0, s.Turns[s.next].StartS-rt.origin-from)
			}
		}
	}
	for p.now < p.cfg.Duration.Seconds() {
		p.act()
		p.now = p.nextEvent()
	}
}

// act does all that happens now.
func (p *reference) act() {
	const eps = 1e-7
	for moved := true; moved; {
		moved = false
		for lane, rt := range p.lanes {
			for _, s := range rt.streams {
				if s.ends <= p.now+eps {
					p.finish(lane, rt, s)
					moved = true
				}
			}
		}
		if moved {
			continue
		}
		for _, rt := range p.lanes {
			for _, s := range rt.streams {
				if s.pending <= p.now+eps {
					s.pending, s.due, moved = math.NaN(), true, true
				}
			}
			for _, s := range rt.streams {
				if s.due && p.free(rt, s) {
					p.send(rt, s)
					moved = true
				}
			}
		}
		if moved {
			continue
		}
		for _, rt := range p.lanes {
			limit := p.cfg.TreeIdleCap.Seconds()
			if e := rt.earliest(); limit > 0 && !rt.flying() && p.now >= rt.idleSince+limit-eps && !math.IsInf(e, 1) {
				rt.shift(e - p.now)
				moved = true
			}
		}
		if moved {
			continue
		}
		if limit := p.cfg.SystemIdleCap.Seconds(); limit > 0 && !p.flying() && p.now >= p.idleSince+limit-eps {
			e := math.Inf(1)
			for _, rt := range p.lanes {
				e = min(e, rt.earliest())
			}
			for _, rt := range p.lanes {
				rt.shift(e - p.now)
			}
			moved = true
		}
	}
}

func (p *reference) flying() bool {
	for _, rt := range p.lanes {
		if rt.flying() {
			return true
		}
	}
	return false
}

func (p *reference) nextEvent() float64 {
	at := math.Inf(1)
	for _, rt := range p.lanes {
		at = min(at, rt.earliest())
		for _, s := range rt.streams {
			if !math.IsNaN(s.ends) {
				at = min(at, s.ends)
			}
		}
		if limit := p.cfg.TreeIdleCap.Seconds(); limit > 0 && !rt.flying() {
			at = min(at, max(p.now, rt.idleSince+limit))
		}
	}
	if limit := p.cfg.SystemIdleCap.Seconds(); limit > 0 && !p.flying() {
		at = min(at, max(p.now, p.idleSince+limit))
	}
	return at
}

func (p *reference) send(rt *refTree, s *refStream) {
	t := s.Turns[s.next]
	s.due = false
	p.sends[name(s.ID, rt.pass, s.next)] = p.now
	a := p.roll(rt.t.Trace.ID, rt.pass, s.ID, s.next, record.KindTurn)
	s.ends, s.outcome = p.now+a.takes.Seconds(), a.outcome
	for _, b := range rt.t.Branches { // children that started while the parent's request was running
		if b.Spawn == t && b.StartS < t.EndS {
			p.spawn(rt, b, t.StartS)
		}
	}
}

func (p *reference) spawn(rt *refTree, b *tree.Branch, fromS float64) {
	for _, c := range b.Streams {
		if s := rt.streams[c.Index]; !s.spawned && !s.done {
			s.spawned = true
			s.pending = p.now + max(0, s.Turns[0].StartS-fromS)
		}
	}
}

func (p *reference) finish(lane int, rt *refTree, s *refStream) {
	t := s.Turns[s.next]
	s.ends = math.NaN()
	s.next++
	switch {
	case s.next == len(s.Turns):
		s.done = true
	case s.outcome == record.Overflow:
		s.done = true
		if s.Index == 0 {
			for _, c := range rt.streams {
				c.done = c.done || !c.spawned
			}
		}
	default:
		n := s.Turns[s.next]
		s.pending = p.now + max(0, n.StartS-t.StartS-(t.EndS-t.StartS))
	}
	for _, b := range rt.t.Branches {
		if b.Spawn == t && b.StartS >= t.EndS {
			p.spawn(rt, b, b.StartS)
		}
	}
	if !rt.flying() {
		rt.idleSince = p.now
	}
	if !p.flying() {
		p.idleSince = p.now
	}
	for _, s := range rt.streams {
		if s.spawned && !s.done || s.Index == 0 && !s.done {
			return
		}
	}
	p.lanes[lane] = p.newTree(p.draw())
	p.lanes[lane].streams[0].pending = p.now
}

func name(stream string, pass, turn int) string {
	return fmt.Sprintf("%s pass %d turn %d", stream, pass, turn)
}

func TestAgainstReference(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	total, jumps := 0, 0
	for round := range rounds {
		seed := uint64(round)
		x := rand.New(rand.NewPCG(seed, 77))
		traces := someTraces(t, seed, 1+x.IntN(4))
		cfg := Config{
			Concurrency: 1 + x.IntN(5), Seed: seed, Duration: time.Hour, Burst: x.IntN(3) == 0,
			SystemIdleCap: time.Duration(x.IntN(3)) * 10 * time.Second, TreeIdleCap: time.Duration(x.IntN(3)) * 15 * time.Second,
		}
		if x.IntN(2) == 0 {
			cfg.StartMinRatio, cfg.StartMaxRatio = 0.25, 0.75
		}
		overflows := 3 * x.IntN(2)
		most := []time.Duration{time.Second, 20 * time.Second, 2 * time.Minute}[x.IntN(3)]
		total += compare(t, traces, cfg, seed, most, overflows, &jumps)
		if t.Failed() {
			t.Fatalf("round %d: %+v", round, cfg)
		}
	}
	t.Logf("%d requests, %d jumps of caps", total, jumps)
	if total < 100*rounds || jumps < rounds {
		t.Errorf("too little was compared: %d requests, %d jumps", total, jumps)
	}
}

func compare(t *testing.T, traces []*trace.Trace, cfg Config, seed uint64, most time.Duration, overflows int, jumps *int) int {
	t.Helper()
	ref := &reference{cfg: cfg, passes: map[string]int{}, primers: map[string]float64{}, sends: map[string]float64{}, roll: func(traceID string, pass int, stream string, turn int, kind record.Kind) answer {
		return roll(seed, most, 10, overflows, traceID, pass, stream, turn, kind)
	}}
	for _, tr := range traces {
		tt, err := tree.New(tr)
		if err != nil {
			t.Fatal(err)
		}
		ref.trees = append(ref.trees, tt)
	}
	if cfg.StartMaxRatio == 0 { // enter has t* at the first turn
		cfg.StartMinRatio = 0
	}
	ref.play()
	p := replayed(t, traces, cfg, luck(seed, most, 10, overflows))
	if p.err != nil {
		t.Fatal(p.err)
	}
	var start, primersAt record.Stamp
	for _, ph := range p.phases {
		switch ph.Name {
		case "profiling":
			start = ph.Start
		case "primers":
			primersAt = ph.Start
		}
	}
	if warm := float64(start-primersAt) / 1e9; math.Abs(warm-ref.warm) > 1e-3 {
		t.Errorf("warm-up took %v s, want %v", warm, ref.warm)
	}
	sends, warm := map[string]float64{}, map[string]float64{}
	for _, r := range p.requests {
		from, list := start, sends
		if r.Asked.Kind == record.KindPrimer {
			from, list = primersAt, warm
		}
		list[name(r.Asked.StreamID, r.Asked.Pass, r.Asked.Turn)] = float64(r.Seen.Sent-from) / 1e9
		if lag := time.Duration(r.Seen.Sent - r.Asked.Ready); lag != 0 {
			t.Errorf("%s turn %d was sent %v after it was ready", r.Asked.StreamID, r.Asked.Turn, lag)
		}
	}
	millisecond := cmpopts.EquateApprox(0, 0.5e-3)
	if diff := cmp.Diff(ref.primers, warm, millisecond); diff != "" {
		t.Error("primers: ", diff)
	}
	if diff := cmp.Diff(ref.sends, sends, millisecond); diff != "" {
		t.Error("profiling: ", diff)
	}
	*jumps += p.out.Skips.SystemJumps + p.out.Skips.TreeJumps
	return len(sends)
}
