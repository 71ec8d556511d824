package table

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/org/agentx-action/pkg/result/compare"
)

// movedLayers says where in the stack the change sits, the likeliest layer first.
func movedLayers(p *page, c *compare.Comparison) {
	headed := false
	for _, l := range c.Layers {
		if l.Moved && !headed {
			p.section("Where it sits")
			headed = true
		}
		if l.Moved {
			layer(p, yellow, l)
		}
	}
}

// stillLayers folds the others.
func stillLayers(p *page, c *compare.Comparison) {
	var still []compare.Layer
	for _, l := range c.Layers {
		if !l.Moved {
			still = append(still, l)
		}
	}
	if len(still) == 0 {
		return
	}
	p.fold("Other layers: "+whole(len(still)), func() {
		for _, l := range still {
			layer(p, "", l)
		}
	})
}

func layer(p *page, colour string, l compare.Layer) {
	p.blank()
	p.state(colour, strings.ToUpper(plain(l.Name, nameWidth)), plain(l.Text, maxSentence))
	g := grid{head: []string{"Beside it" + over(l.On), "base", "head", "change"}}
	for _, n := range l.On {
		label, show := shown(n.Label, n.Unit)
		g.rows = append(g.rows, []string{label, opt(n.Base, show), opt(n.Head, show), relative(n.Base, n.Head, n.Unit)})
	}
	p.blank()
	p.table(g)
	p.blank()
}

// over names the requests that all of the numbers are of, if they are of the same.
func over(list []compare.Number) string {
	if len(list) == 0 || list[0].Over == "" || slices.ContainsFunc(list, func(n compare.Number) bool { return n.Over != list[0].Over }) {
		return ""
	}
	return " (" + plain(string(list[0].Over), 20) + ")"
}

// relative is the change from base to head; of shares in percentage points.
func relative(base, head *float64, unit string) string {
	switch {
	case base == nil || head == nil:
		return absent
	case unit == "ratio":
		d := 100 * (*head - *base)
		if !finite(d) {
			return absent
		}
		return sign(d, decimals(d)) + " points"
	case *base == 0:
		return absent
	}
	d := 100 * (*head / *base - 1)
	if !finite(d) {
		return absent
	}
	return sign(d, decimals(d)) + " %"
}

const againstTitle = "Agentic load against the fixed-length baseline"

// againstFixed is one table a shape: both loads first, then the figures.
func againstFixed(p *page, title string, list []compare.AgainstFixed) {
	if len(list) == 0 {
		return
	}
	p.section(title)
	for _, a := range list {
		shape := plain(a.Shape, 30)
		if shape == "" {
			shape = absent
		}
		g := grid{head: []string{"Against fixed " + shape, "agentic", "fixed", "agentic/fixed", "better"}}
		loads := func(r compare.Row) bool { return r.Metric == "requests_in_flight" }
		rows := slices.Clone(a.Rows)
		if i := slices.IndexFunc(rows, loads); i > 0 {
			rows = slices.Insert(slices.Delete(rows, i, i+1), 0, a.Rows[i])
		} else if i < 0 {
			g.rows = append(g.rows, []string{"Requests in flight", opt(a.AgenticLoad, count), opt(a.FixedLoad, count), quotient(a.AgenticLoad, a.FixedLoad), absent})
		}
		for _, r := range rows {
			label, show := shown(name(r.Label, r.Metric), r.Unit)
			better := absent
			if r.Better != "" {
				better = plain(string(r.Better), 10)
			}
			g.rows = append(g.rows, []string{label, opt(r.Agentic, show), opt(r.Fixed, show), opt(r.Ratio, ratio), better})
		}
		p.blank()
		p.table(g)
		if a.Matched {
			p.state(green, "Load", "matched", points(a.FixedPoints))
		} else {
			p.state(yellow, "Load", "NOT matched, so the figures differ by the load too", points(a.FixedPoints))
		}
		if a.Note != "" {
			p.note(sentence(plain(a.Note, maxSentence)))
		}
	}
	p.note("Both columns are of whole runs, with all requests that succeeded; the fixed-length one with its ramp-up and its tail.")
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
		text += "."
	}
	return text
}

func quotient(a, b *float64) string {
	if a == nil || b == nil || *b == 0 {
		return absent
	}
	return ratio(*a / *b)
}

func points(n []int) string {
	switch len(n) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("one point of the baseline, at concurrency %d", n[0])
	}
	var list []string
	for i, v := range n {
		if i == maxKeys {
			list = append(list, "…")
			break
		}
		list = append(list, whole(v))
	}
	return "the baseline interpolated between the concurrencies " + strings.Join(list, " and ")
}

// sides shows what was compared and how far it counts.
func sides(p *page, c *compare.Comparison) {
	g := grid{head: []string{"Run", "side", "started", "valid", "trusted", "against it"}, text: 6, max: 36}
	for _, s := range []struct {
		name string
		side *compare.Side
	}{{"head", &c.Head}, {"base", &c.Base}} {
		for _, r := range s.side.Runs {
			started := absent
			if !r.StartedAt.IsZero() {
				started = r.StartedAt.UTC().Format(time.DateTime)
			}
			valid := "not judged"
			if r.Valid != nil {
				valid = yesNo(*r.Valid)
			}
			g.rows = append(g.rows, []string{plain(r.RunID, 16), s.name, started, valid, yesNo(r.Trusted), given(strings.Join(r.Findings, ", "))})
		}
	}
	p.table(g)
	pairing(p, &c.Pairing)
	if f := c.Floor; f != nil {
		p.fact("Noise floor", "runners "+plain(f.Pool, nameWidth), plural(f.Repeats, "repeat"), "digest "+plain(f.Digest, 16))
	} else {
		p.fact("Noise floor", "none stored; "+plural(len(c.Head.Runs), "run")+" against "+whole(len(c.Base.Runs)))
	}
	p.fact("Identity", "head "+given(plain(c.Head.Identity, 16)), "base "+given(plain(c.Base.Identity, 16)))
	if len(c.BaseAgainstFixed) > 0 {
		if !p.Markdown && !p.HTML { // where sections have no headings
			p.fact("The base", "its agentic load against the fixed-length baseline")
		}
		againstFixed(p, "The base: its agentic load against the fixed-length baseline", c.BaseAgainstFixed)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

// pairing says how much of both sides was compared.
func pairing(p *page, q *compare.Pairing) {
	if *q == (compare.Pairing{}) {
		p.fact("Compared", "nothing")
		return
	}
	parts := []string{whole(q.Pairs) + " requests that both completed", percent(q.Coverage) + " of what either measured"}
	for _, n := range []struct {
		n    int
		text string
	}{
		{q.HeadOnly, "measured by the head alone"}, {q.BaseOnly, "by the base alone"}, {q.HeadFailed, "failed in the head alone"},
		{q.BaseFailed, "failed in the base alone"}, {q.BothFailed, "failed in both"},
	} {
		if n.n > 0 {
			parts = append(parts, whole(n.n)+" "+n.text)
		}
	}
	if q.RootTraces > 0 {
		parts = append(parts, fmt.Sprintf("%s, which weigh as much as %s equally large ones", plural(q.RootTraces, "root trace"), digits(q.EffectiveN)),
			"the largest has "+percent(q.LargestPart)+" of the pairs")
	}
	p.fact("Compared", parts...)
}
