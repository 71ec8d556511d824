package prompt

import (
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// Role is who speaks a message.
type Role uint8

// The roles. RoleNone is never sent.
const (
	RoleNone Role = iota
	RoleSystem
	RoleUser
	RoleAssistant
)

func (r Role) String() string {
	return [...]string{"", "system", "user", "assistant"}[r]
}

// Segment is a stretch of a prompt that one role speaks: the blocks from the end
// of the segment before it up to End. The last segment of a prompt also holds its
// tail, the tokens that no block covers.
type Segment struct {
	Role Role
	End  int32
}

// Plan knows the segments of every turn of one stream. It stores a turn as what
// it keeps of the turn before and what it adds.
type Plan struct {
	Stream *tree.Stream
	turns  []planned
}

type planned struct {
	keep  int32 // segments kept of the turn before
	cut   int32 // end of the last kept one
	tail  int32 // tokens behind the last block
	add   []Segment
	reset bool // a message that was sent before is altered (spec/replay.md §3.6)
	back  bool // the turn before had more blocks than this one keeps
}

// NewPlan lays out a stream of a trace (spec/replay.md §3.4, §3.5).
func NewPlan(t *trace.Trace, s *tree.Stream) *Plan {
	l := layout{blocks: t.Blocks, size: t.BlockSize, stream: s}
	p := &Plan{Stream: s, turns: make([]planned, 0, len(s.Turns))}
	p.turns = append(p.turns, l.first())
	for k := 1; k < len(s.Turns); k++ {
		p.turns = append(p.turns, l.next(k))
	}
	return p
}

// Segments appends the segments of turn k to segs and returns the tail in tokens
// and whether the turn is a context reset.
func (p *Plan) Segments(segs []Segment, k int) (out []Segment, tail int, reset bool) {
	base := len(segs)
	for _, t := range p.turns[:k+1] {
		segs = t.apply(segs, base)
	}
	return segs, int(p.turns[k].tail), p.turns[k].reset
}

// PullBack reports whether turn k keeps less than the turn before had.
func (p *Plan) PullBack(k int) bool { return p.turns[k].back }

func (t *planned) apply(segs []Segment, base int) []Segment {
	segs = segs[:base+int(t.keep)]
	if t.keep > 0 {
		segs[len(segs)-1].End = t.cut
	}
	return append(segs, t.add...)
}

// layout is the state of the laying out: the segments of the turn before.
type layout struct {
	blocks *trace.Blocks
	size   int
	stream *tree.Stream
	segs   []Segment
	tail   int32
	caps   []int32
}

func (l *layout) path(k int) trace.Path {
	r := l.stream.Turns[k].Request
	return l.blocks.Prefix(r.Path, r.Whole)
}

// tailOf is the number of tokens of turn k that no whole block covers.
func (l *layout) tailOf(k int) int32 {
	r := l.stream.Turns[k].Request
	return int32(r.In - r.Whole*l.size)
}

func (l *layout) first() planned {
	r := l.stream.Turns[0].Request
	covered := int32(r.Whole)
	t := planned{tail: l.tailOf(0), reset: true}
	system := min(int32((l.stream.ToolTokens+l.stream.SystemTokens+l.size-1)/l.size), covered)
	if system > 0 {
		t.add = append(t.add, Segment{RoleSystem, system})
	}
	if covered > system || t.tail > 0 {
		t.add = append(t.add, Segment{RoleUser, covered})
	}
	l.commit(&t)
	l.lookAhead()
	return t
}

// next lays out turn k ≥ 1 from the turn before.
func (l *layout) next(k int) planned {
	before, now := l.path(k-1), l.path(k)
	shared := int32(l.blocks.CommonPrefix(before, now))
	t := planned{tail: l.tailOf(k), cut: shared}
	t.back = shared < before.Len
	t.reset = t.back || l.tail > 0

	t.keep = l.keep(shared)
	fresh := now.Len - shared
	assistant := l.assistant(k, fresh, t.keep)
	if assistant == fresh && t.tail == 0 && assistant > 0 {
		assistant--
	}
	if assistant > 0 {
		t.add = append(t.add, Segment{RoleAssistant, shared + assistant})
	}
	if fresh > assistant || t.tail > 0 {
		t.add = append(t.add, Segment{RoleUser, now.Len})
	}
	l.commit(&t)
	return t
}

// keep is the number of segments that a cut behind shared blocks leaves. A cut
// into the system blocks leaves none: there is no system message any more
// (decisions.md 7).
func (l *layout) keep(shared int32) int32 {
	if len(l.segs) > 0 && l.segs[0].Role == RoleSystem && shared < l.segs[0].End {
		return 0
	}
	var kept, start int32
	for _, s := range l.segs {
		if start >= shared {
			break
		}
		kept++
		start = s.End
	}
	return kept
}

// assistant is the number of new blocks that the assistant speaks: as many as
// the recorded answer needs, unless a later pull-back would then cut into them,
// and none when no user spoke before (spec/replay.md §3.5.3).
func (l *layout) assistant(k int, fresh, kept int32) int32 {
	spoken := false
	for _, s := range l.segs[:kept] {
		spoken = spoken || s.Role == RoleUser
	}
	if !spoken {
		return 0
	}
	out := int32((l.stream.Turns[k-1].Request.Out + l.size - 1) / l.size)
	return min(out, fresh, l.caps[k])
}

// lookAhead finds for every turn k the cap of decisions.md 7: the least
// lcp(j−1,j) − lcp(k−1,k) − 1 over the later turns j, up to the first that is cut
// at or before turn k's own beginning.
func (l *layout) lookAhead() {
	n := len(l.stream.Turns)
	shared := make([]int32, n)
	for k := 1; k < n; k++ {
		shared[k] = int32(l.blocks.CommonPrefix(l.path(k-1), l.path(k)))
	}
	l.caps = make([]int32, n)
	for k := 1; k < n; k++ {
		least := int32(1<<31 - 1)
		for j := k + 1; j < n && shared[j] > shared[k]; j++ {
			least = min(least, shared[j]-shared[k]-1)
		}
		l.caps[k] = least
	}
}

func (l *layout) commit(t *planned) {
	l.segs = t.apply(l.segs, 0)
	l.tail = t.tail
}
