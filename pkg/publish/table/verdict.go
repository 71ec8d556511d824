package table

import (
	"strings"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/validity"
)

// verdict says whether the run counts, whether its figures can be trusted, and
// why not.
func verdict(p *page, d *result.Document) {
	p.section("Does it count?")
	if d.Outcome.Error != "" {
		p.state(red, "The run failed", d.Outcome.Error)
	}
	if d.Outcome.Cancelled {
		by := ""
		if d.Outcome.CancelledBy != "" {
			by = ", by " + plain(d.Outcome.CancelledBy, nameWidth)
		}
		p.state(red, "The run ended before its time", "cancelled"+by)
	}
	submission(p, d)
	v := &d.Validity
	if v.Trusted {
		words := "yes, nothing was found that makes the figures misleading"
		if len(v.Findings) > 0 {
			words = "yes, but see the findings"
		}
		p.state(green, "Trusted", words)
	} else {
		p.state(red, "Trusted", "NO, the figures may mislead, see the findings")
	}
	findings(p, v.Findings)
}

func submission(p *page, d *result.Document) {
	v := &d.Validity
	rules := ruleSet(&d.Scenario)
	switch {
	case v.SubmissionValid == nil && d.Mode == result.ModeFixed:
		p.fact("Valid submission", "not judged: the rule sets are about agentic load")
	case v.SubmissionValid == nil:
		p.state(yellow, "Valid submission", "not judged, and nothing is claimed, because no rule set was asked for (--scenario)")
	case *v.SubmissionValid:
		p.state(green, "Valid submission", "yes, the run kept to "+rules)
	default:
		p.state(red, "Valid submission", "NO, this run does not count under "+rules, "reasons: "+strings.Join(v.SubmissionInvalidReasons, ", "))
	}
}

// severities in words and colour.
var severities = map[validity.Severity]struct{ colour, text string }{
	validity.Invalid:   {red, "INVALID"},
	validity.Untrusted: {yellow, "UNTRUSTED"},
	validity.Note:      {"", "NOTE"},
}

func findings(p *page, list []validity.Finding) {
	if len(list) == 0 {
		p.fact("Findings", "none")
		return
	}
	p.blank()
	if p.Markdown || p.HTML {
		g := grid{head: []string{"Severity", "Finding", "What it means and what to do", "found", "limit"}, text: 3, max: maxFinding}
		for _, f := range list {
			found, limit := figures(f)
			g.rows = append(g.rows, []string{severity(f), code(f), f.Text, found, limit})
		}
		p.table(g)
	} else {
		for _, f := range list {
			p.finding(f)
		}
	}
	p.note("Invalid: by the rules the run does not count. Untrusted: the figures may mislead. Note: good to know, changes nothing.")
}

// maxFinding bounds the text of a finding, in columns.
const maxFinding = 600

// finding is a finding on the terminal, where a table would be too narrow.
func (p *page) finding(f validity.Finding) {
	const margin = "           "
	head := severity(f)
	line := head + strings.Repeat(" ", max(len(margin)-len(head), 1)) + code(f)
	if found, limit := figures(f); found != absent {
		line += ": found " + found
		if limit != absent {
			line += ", limit " + limit
		}
	}
	line = cut(line, lineWidth)
	p.write(p.paint(severities[f.Severity].colour, head) + strings.TrimPrefix(line, head))
	p.write(wrapped(margin, strings.Fields(plain(f.Text, maxFinding)), " ", margin, lineWidth)...)
}

func severity(f validity.Finding) string {
	if s, ok := severities[f.Severity]; ok {
		return s.text
	}
	return strings.ToUpper(plain(string(f.Severity), 9))
}

// code names a finding, with its detail.
func code(f validity.Finding) string {
	name := plain(f.Code, nameWidth)
	if f.Detail != "" {
		name += " (" + plain(f.Detail, 30) + ")"
	}
	return name
}

// figures are what was found and what it was held against. A start window is two
// figures each; the finding's text has them all.
func figures(f validity.Finding) (found, limit string) {
	if f.Code == validity.StartWindow {
		return absent, absent
	}
	show := func(v float64) string { return plain(quantity(v, f.Unit), 30) }
	return opt(f.Figure, show), opt(f.Limit, show)
}
