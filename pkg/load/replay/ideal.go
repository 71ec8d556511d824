package replay

import (
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// ideal knows which leading blocks an engine with an endless cache could hold
// for a tree: those that were sent in this run as the same text behind the same
// beginning (decisions.md 15). Equal block ids are not enough: where another
// request ended a message, or had its marker elsewhere, the text differs.
type ideal struct {
	ended, begun reach // behind the marker: this tree's alone
	trees        *reach
}

// reach says how far along a run of blocks requests have come that began alike.
type reach map[stretch]int32

// stretch is a piece of a prompt within one run of blocks and one message.
// signature stands for all messages before it and the speaker of this one.
type stretch struct {
	signature uint64
	run       int32
}

func newIdeal(shared *reach) *ideal {
	return &ideal{ended: reach{}, begun: reach{}, trees: shared}
}

// sent is a prompt as a list of stretches, each up to a depth in blocks.
type sent []piece

type piece struct {
	stretch
	to     int32
	shared bool // stands before the marker: the same text in every tree of the trace
}

// pieces cuts a prompt where its messages or its runs of blocks change. marked
// says that the tree's marker leads the first user message, or the first one if
// no user speaks.
func pieces(blocks *trace.Blocks, o prompt.Outline, marked bool) sent {
	out := make(sent, 0, len(o.Messages)+8)
	var paths []trace.Path
	signature := uint64(0)
	from := int32(0)
	lead := len(o.Messages)
	if marked {
		lead = max(0, slices.IndexFunc(o.Messages, func(m prompt.Segment) bool { return m.Role == prompt.RoleUser }))
	}
	for i, m := range o.Messages {
		signature = mix(signature, uint64(m.Role))
		if i == lead {
			signature = mix(signature, 1)
		}
		paths = blocks.Runs(paths[:0], o.Path, int(from), int(m.End))
		for _, p := range paths {
			out = append(out, piece{stretch{signature, p.Run}, p.Len, i < lead})
		}
		from = m.End
		signature = mix(signature, uint64(m.End))
	}
	return out
}

// mix takes a value into a signature.
func mix(signature, value uint64) uint64 {
	signature = (signature ^ value) * 0x9e3779b97f4a7c15
	return signature ^ signature>>29
}

// follow is how many leading blocks of a prompt were sent before. It looks from
// the end, where a prompt that goes on from another one differs from it: what
// reached a piece has passed all before it.
func (r reach) follow(s sent, trees reach) int32 {
	for i := len(s) - 1; i >= 0; i-- {
		p := s[i]
		known := r[p.stretch]
		if p.shared {
			known = max(known, trees[p.stretch])
		}
		if known > 0 {
			return min(known, p.to)
		}
	}
	return 0
}

func (r reach) add(s sent) {
	for i := len(s) - 1; i >= 0 && r[s[i].stretch] < s[i].to; i-- {
		r[s[i].stretch] = s[i].to
	}
}

// issue notes a prompt as begun and fills in what could be cached for it.
func (i *ideal) issue(s sent, asked *record.Asked) {
	ended := i.ended.follow(s, *i.trees)
	begun := i.begun.follow(s, *i.trees)
	asked.IdealEnded, asked.IdealBegun = int(ended), int(max(begun, ended))
	i.begun.add(s)
}

// end notes a prompt that the engine has answered.
func (i *ideal) end(s sent) {
	i.ended.add(s)
	before := slices.IndexFunc(s, func(p piece) bool { return !p.shared })
	if before < 0 {
		before = len(s)
	}
	i.trees.add(s[:before])
}
