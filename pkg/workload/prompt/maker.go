package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// Shape says how segments become messages (decisions.md 14).
type Shape string

// The shapes. The zero shape is ShapeRoles.
const (
	ShapeRoles      Shape = "roles"       // as recorded
	ShapeMerged     Shape = "merged"      // adjacent messages of one role are one
	ShapeSingleUser Shape = "single-user" // everything is one user message
)

// ISLMode says which count of tokens equals the recorded one (decisions.md 12).
type ISLMode string

// The modes. The zero mode is ISLContent.
const (
	ISLContent ISLMode = "content" // the text; marker and template come on top
	ISLWire    ISLMode = "wire"    // what the engine counts
)

// Overhead is what the engine's chat template adds, in tokens. It is measured
// by probes before a run.
type Overhead struct {
	Prompt                  int // once a prompt
	System, User, Assistant int // a message
}

func (o Overhead) message(r Role) int {
	return [...]int{0, o.System, o.User, o.Assistant}[r]
}

// Maker writes prompts. It is immutable and safe for concurrent use.
type Maker struct {
	Seed     uint64
	Shape    Shape
	ISL      ISLMode
	Overhead Overhead

	// MarkerTokens is what the engine counts for a marker, where that was
	// measured; 0 takes the marker's own figure.
	MarkerTokens int

	text *words.Text
}

// NewMaker renders the word text of a seed.
func NewMaker(seed uint64) *Maker { return &Maker{Seed: seed, text: words.New(seed)} }

// key is the part of a block's hash that its trace decides.
func (m *Maker) key(traceID string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", m.Seed, traceID))
	return binary.BigEndian.Uint64(sum[:])
}

// blockStart is the first word of a block: a pure hash of (seed, trace, id).
func blockStart(key uint64, id int32, n int) int {
	x := key ^ uint64(uint32(id))*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return words.Start(x^x>>31, n)
}

// tailStart is the first word of the tokens behind the last block. They differ
// between streams and turns (spec/replay.md §3.3).
func tailStart(streamID string, turn, n int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s:turn_%d:partial_tail", streamID, turn))
	return words.Start(binary.BigEndian.Uint64(sum[:]), n)
}

// Prompt returns turn k of a stream as it is sent in the tree of a marker.
func (m *Maker) Prompt(t *trace.Trace, plan *Plan, k int, marker Marker) *Prompt {
	if m.MarkerTokens > 0 && marker.Tokens > 0 {
		marker.Tokens = m.MarkerTokens
	}
	segs, tail, reset := plan.Segments(nil, k)
	if len(marker.text) > 0 && m.Shape != ShapeSingleUser && plan.firstUser(k, segs) {
		reset = true // the system message, so far alone, had the marker
	}
	r := plan.Stream.Turns[k].Request
	p := &Prompt{
		Segments: segs, Reset: reset, Tail: tail,
		Path:   t.Blocks.Prefix(r.Path, r.Whole),
		marker: marker, size: t.BlockSize, text: m.text, key: m.key(t.ID),
		messages: m.messages(segs),
	}
	if tail > 0 {
		p.tailStart = tailStart(plan.Stream.ID, k, min(tail, maxSlice))
	}
	p.spans = t.Blocks.Spans(nil, p.Path, 0, r.Whole)
	m.place(p)
	p.measure()
	return p
}

// messages turns segments into messages of the wanted shape.
func (m *Maker) messages(segs []Segment) []message {
	out := make([]message, 0, len(segs))
	from := int32(0)
	for _, s := range segs {
		msg := message{role: s.Role, from: from, to: s.End}
		from = s.End
		last := len(out) - 1
		switch {
		case m.Shape == ShapeSingleUser:
			msg.role = RoleUser
			fallthrough
		case m.Shape == ShapeMerged:
			if last >= 0 && out[last].role == msg.role {
				out[last].to = msg.to
				continue
			}
		}
		out = append(out, msg)
	}
	return out
}

// place puts the marker into the first user message, or into the first message
// when there is none, and takes the template's tokens off where the mode says so.
func (m *Maker) place(p *Prompt) {
	p.marked = marked(p.messages)
	if m.ISL != ISLWire {
		return
	}
	for i := range p.messages {
		want := m.Overhead.message(p.messages[i].role)
		if i == 0 {
			want += m.Overhead.Prompt + p.marker.Tokens
		}
		have := int(p.messages[i].to-p.messages[i].from) * p.size
		if i == len(p.messages)-1 {
			have += p.Tail
		}
		p.messages[i].skip = int32(max(0, min(want, have-1)))
		p.Short += want - int(p.messages[i].skip)
	}
}
