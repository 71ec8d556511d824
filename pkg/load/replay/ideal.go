package replay

import (
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

// pieces cuts a prompt where its messages or its runs of blocks change.
func pieces(blocks *trace.Blocks, o prompt.Outline) sent {
	var out sent
	var paths []trace.Path
	signature := uint64(1)
	from := int32(0)
	for i, m := range o.Messages {
		signature = fold(signature, uint64(m.Role))
		if i == o.Marked {
			signature = fold(signature, markedHere)
		}
		paths = blocks.Runs(paths[:0], o.Path, int(from), int(m.End))
		for _, p := range paths {
			out = append(out, piece{stretch{signature, p.Run}, p.Len, i < o.Marked})
		}
		from = m.End
		signature = fold(signature, uint64(m.End)<<8)
	}
	return out
}

// markedHere stands for the marker; it is no role.
const markedHere = 0xff

func fold(signature, x uint64) uint64 { return (signature ^ x) * 0x9e3779b97f4a7c15 }

// follow is how many leading blocks of a prompt were sent before. The second
// figure is the part of them that stands before the marker.
func (r reach) follow(s sent, trees reach) (blocks, shared int32) {
	for _, p := range s {
		known := r[p.stretch]
		if p.shared {
			known = max(known, trees[p.stretch])
		}
		if known <= blocks {
			return blocks, shared
		}
		blocks = min(known, p.to)
		if p.shared {
			shared = blocks
		}
		if blocks < p.to {
			return blocks, shared
		}
	}
	return blocks, shared
}

func (r reach) add(s sent) {
	for _, p := range s {
		if r[p.stretch] < p.to {
			r[p.stretch] = p.to
		}
	}
}

// issue notes a prompt as begun and fills in what could be cached for it.
func (i *ideal) issue(s sent, asked *record.Asked) {
	ended, _ := i.ended.follow(s, *i.trees)
	begun, _ := i.begun.follow(s, *i.trees)
	asked.IdealEnded, asked.IdealBegun = int(ended), max(int(begun), int(ended))
	i.begun.add(s)
}

// end notes a prompt as processed.
func (i *ideal) end(s sent) {
	i.ended.add(s)
	for _, p := range s {
		if p.shared && (*i.trees)[p.stretch] < p.to {
			(*i.trees)[p.stretch] = p.to
		}
	}
}
