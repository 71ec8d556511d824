package prompt

import "github.com/org/agentx-action/pkg/workload/trace"

// Outline is a prompt without its text: what its messages are and where the
// marker stands. It costs a fraction of a Prompt.
type Outline struct {
	Path     trace.Path // whole blocks
	Messages []Segment  // as sent, after shaping
	Marked   int        // block before which the marker stands
}

// Outline returns the outline of turn k of a stream.
func (m *Maker) Outline(t *trace.Trace, plan *Plan, k int) Outline {
	r := plan.Stream.Turns[k].Request
	segs, _, _ := plan.Segments(nil, k)
	messages := m.messages(segs)
	o := Outline{Path: t.Blocks.Prefix(r.Path, r.Whole)}
	found := false
	for _, msg := range messages {
		if msg.role == RoleUser && !found {
			o.Marked, found = int(msg.from), true
		}
		o.Messages = append(o.Messages, Segment{msg.role, msg.to})
	}
	return o
}
