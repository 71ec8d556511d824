package prompt

import "github.com/org/agentx-action/pkg/workload/trace"

// Outline is a prompt without its text: who speaks which of its blocks. It costs
// a fraction of a Prompt.
type Outline struct {
	Path     trace.Path // whole blocks
	Messages []Segment  // as sent, after shaping
}

// Outline returns the outline of turn k of a stream.
func (m *Maker) Outline(t *trace.Trace, plan *Plan, k int) Outline {
	r := plan.Stream.Turns[k].Request
	segs, _, _ := plan.Segments(nil, k)
	messages := m.messages(segs)
	o := Outline{Path: t.Blocks.Prefix(r.Path, r.Whole)}
	for _, msg := range messages {
		o.Messages = append(o.Messages, Segment{msg.role, msg.to})
	}
	return o
}

// marked is the message that the marker leads: the first of the user, or the
// first of all when the user says nothing (decisions.md 7).
func marked(messages []message) int {
	for i, m := range messages {
		if m.role == RoleUser {
			return i
		}
	}
	return 0
}
