package github

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/validity"
)

// Annotation is a line at the job, without a file.
type Annotation struct {
	Kind  string // error, warning or notice
	Title string
	Text  string
}

// maxAnnotations of a kind that we make; GitHub shows ten of a step, and refusals want
// a place too.
const maxAnnotations = 6

// annotations are made only of what somebody should act upon.
func annotations(c *Content, s Standing) []Annotation {
	var list []Annotation
	add := func(kind, title, text string) {
		if len(list) < maxAnnotations {
			list = append(list, Annotation{kind, table.Plain("AgentX: "+title, nameWidth), table.Plain(text, sentenceWidth)})
		}
	}
	switch s {
	case Failed:
		why := c.Failed
		if why == "" && c.Head != nil {
			why = cmp.Or(c.Head.Outcome.Error, "no request succeeded")
		}
		add("error", "no result", why)
	case Regressed:
		add("error", "regression", c.Comparison.Summary)
	case Worse:
		add("warning", "changed for the worse", c.Comparison.Summary)
	}
	if c.Head != nil {
		for _, f := range c.Head.Validity.Findings {
			switch f.Severity {
			case validity.Invalid:
				add("error", "not a valid submission", f.Text)
			case validity.Untrusted:
				add("warning", "not to be trusted", f.Text)
			}
		}
	}
	if c.Comparison != nil && c.Comparison.Verdict == compare.Refused {
		add("warning", "not compared", c.Comparison.Summary)
	}
	return list
}

// summarise writes the job summary: all that the comment says and what it has no room
// for.
func (o *Options) summarise(b *body, list []Annotation) {
	if o.Actions == nil {
		return
	}
	o.Actions.AddStepSummary(b.text())
	for _, a := range list {
		at := o.Actions.WithFieldsMap(map[string]string{"title": a.Title})
		switch a.Kind {
		case "error":
			at.Errorf("%s", a.Text)
		case "warning":
			at.Warningf("%s", a.Text)
		default:
			at.Noticef("%s", a.Text)
		}
	}
}

// keep says in log and summary why the comment stays as it is.
func (o *Options) keep(ours run, p posted) {
	if o.Actions == nil {
		return
	}
	why := fmt.Sprintf("The comment stays as it is: it is of run %s, which began after run %s that this result is of", p.newer, ours)
	o.Actions.AddStepSummary(fmt.Sprintf("_%s: %s._\n", why, link("see it", p.url)))
	o.Actions.Noticef("%s", why)
}

// tell says in log and summary what was refused.
func (o *Options) tell(list []*Refused) {
	if o.Actions == nil || len(list) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("### Not published\n\n")
	for _, r := range list {
		fmt.Fprintf(&b, "- **%s refused:** %s. To do: %s\n", strings.ToUpper(r.What[:1])+r.What[1:], table.Inline(r.Why, sentenceWidth), table.Inline(r.ToDo, sentenceWidth))
		o.Actions.WithFieldsMap(map[string]string{"title": "AgentX: " + r.What + " refused"}).Warningf("%s; %s", r.Why, r.ToDo)
	}
	b.WriteString("\nThe text of the comment stands above, and the result is in the artifacts.\n")
	o.Actions.AddStepSummary(b.String())
}
