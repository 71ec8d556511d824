package prompt

import (
	"cmp"
	"math"
	"slices"

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
	size  int32 // segments in all
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
	segs = slices.Grow(segs, int(p.turns[k].size))
	for _, t := range p.turns[:k+1] {
		segs = t.apply(segs, base)
	}
	return segs, int(p.turns[k].tail), p.turns[k].reset
}

// firstUser reports whether the user speaks in turn k, of these segments, for the
// first time behind something that was sent before.
func (p *Plan) firstUser(k int, segs []Segment) bool {
	keep := int(p.turns[k].keep)
	user := slices.IndexFunc(segs, func(s Segment) bool { return s.Role == RoleUser })
	return keep > 0 && user >= keep
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
	shared []int32 // by turn: blocks in common with the turn before
	caps   []int32 // by turn: most blocks that the assistant may speak
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
	t := planned{tail: l.tailOf(0)}
	system := l.system(covered)
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
	shared, now := l.shared[k], l.path(k)
	t := planned{tail: l.tailOf(k), cut: shared}
	t.back = shared < l.path(k-1).Len
	t.reset = t.back || l.tail > 0

	t.keep = l.keep(shared)
	begin := shared // of what is added
	if t.keep == 0 {
		begin = 0
	}
	fresh := now.Len - shared
	assistant := l.assistant(k, fresh, t.keep)
	if assistant == fresh && t.tail == 0 && assistant > 0 {
		assistant--
	}
	if assistant > 0 {
		begin += assistant
		t.add = append(t.add, Segment{RoleAssistant, begin})
	}
	if now.Len > begin || t.tail > 0 {
		t.add = append(t.add, Segment{RoleUser, now.Len})
	}
	l.commit(&t)
	return t
}

// system is the number of blocks of the system message.
func (l *layout) system(covered int32) int32 {
	tokens := min(l.stream.ToolTokens, int(covered)*l.size) + min(l.stream.SystemTokens, int(covered)*l.size)
	return min(int32((tokens+l.size-1)/l.size), covered)
}

// keep is the number of segments that a cut behind shared blocks leaves. A cut
// into the system blocks leaves none: there is no system message any more
// (decisions.md 7).
func (l *layout) keep(shared int32) int32 {
	if shared == 0 || l.segs[0].Role == RoleSystem && shared < l.segs[0].End {
		return 0
	}
	// The first segment that reaches the cut is the last kept one.
	n, _ := slices.BinarySearchFunc(l.segs, shared, func(s Segment, shared int32) int { return cmp.Compare(s.End, shared) })
	return int32(min(n+1, len(l.segs)))
}

// assistant is the number of new blocks that the assistant speaks: as many as
// the recorded answer needs, unless a later pull-back would then cut into them,
// and none when no user spoke before (spec/replay.md §3.5.3).
func (l *layout) assistant(k int, fresh, kept int32) int32 {
	if !slices.ContainsFunc(l.segs[:kept], func(s Segment) bool { return s.Role == RoleUser }) {
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
	l.shared, l.caps = make([]int32, n), make([]int32, n)
	shared := l.shared
	for k := 1; k < n; k++ {
		shared[k] = int32(l.blocks.CommonPrefix(l.path(k-1), l.path(k)))
	}
	// From the end, the turns that are cut deeper than all between them and k.
	var deeper []int32
	for k := n - 1; k > 0; k-- {
		least := int32(math.MaxInt32)
		for len(deeper) > 0 && deeper[len(deeper)-1] > shared[k] {
			least = deeper[len(deeper)-1] - shared[k] - 1
			deeper = deeper[:len(deeper)-1]
		}
		deeper = append(deeper, shared[k])
		l.caps[k] = least
	}
}

func (l *layout) commit(t *planned) {
	l.segs = t.apply(l.segs, 0)
	t.size = int32(len(l.segs))
	l.tail = t.tail
}
