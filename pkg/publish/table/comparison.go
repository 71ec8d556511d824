package table

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/org/agentx-action/pkg/result/compare"
)

// Comparison shows what changed between two sides: the verdict and what moved on
// top, everything else folded away (in Markdown and HTML; on the terminal it
// follows under headings). A refused comparison says by which keys.
func Comparison(w io.Writer, c *compare.Comparison, o Options) error {
	if c == nil {
		return errors.New("table: no comparison to show")
	}
	p := &page{Options: o}
	answer(p, c)
	mismatches(p, c)
	moved(p, c)
	movedLayers(p, c)
	againstFixed(p, againstTitle, c.HeadAgainstFixed)
	stillLayers(p, c)
	rest(p, c)
	p.fold("Validity and identity", func() { sides(p, c) })
	return p.send(w)
}

// AgainstFixed shows agentic load beside the fixed-length baseline at matched
// load, one table a shape.
func AgainstFixed(w io.Writer, list []compare.AgainstFixed, o Options) error {
	p := &page{Options: o}
	againstFixed(p, againstTitle, list)
	return p.send(w)
}

// maxSentence bounds a sentence of the comparison, in columns.
const maxSentence = 600

// words are the verdicts in colour, the gravest first.
var words = map[compare.Verdict]string{
	compare.Regression: red, compare.Refused: red, compare.Changed: yellow, compare.NotEnough: yellow,
	compare.Improvement: green, compare.NoChange: green,
}

func answer(p *page, c *compare.Comparison) {
	p.section("Head against base")
	p.state(words[c.Verdict], "Verdict", strings.ToUpper(plain(string(c.Verdict), nameWidth)), plain(c.Summary, maxSentence))
	p.fact("Head", side(&c.Head)...)
	p.fact("Base", side(&c.Base)...)
	for _, n := range c.Notes {
		p.fact("Note", plain(n, maxSentence))
	}
}

func side(s *compare.Side) []string {
	runs := plural(len(s.Runs), "run")
	untrusted, invalid := 0, 0
	for _, r := range s.Runs {
		if !r.Trusted {
			untrusted++
		}
		if r.Valid != nil && !*r.Valid {
			invalid++
		}
	}
	parts := []string{plain(s.Label, nameWidth), runs, plural(s.OK, "request") + " measured"}
	for _, n := range []struct {
		n    int
		text string
	}{{s.Errors, "failed"}, {s.Overflow, "beyond the context"}, {s.Censored, "cut off by the end"}} {
		if n.n > 0 {
			parts = append(parts, whole(n.n)+" "+n.text)
		}
	}
	if untrusted > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s NOT TRUSTED", untrusted, runs))
	}
	if invalid > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s not valid", invalid, runs))
	}
	return parts
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return whole(n) + " " + what + "s"
}

// maxKeys bounds a list of differing keys.
const maxKeys = 20

// mismatches names the keys on which the sides differ.
func mismatches(p *page, c *compare.Comparison) {
	for _, list := range []struct {
		colour, label string
		keys          []compare.Mismatch
	}{
		{red, "Refused: the sides differ in", c.Refused},
		{yellow, "Compared despite (--allow-mismatch) a difference in", c.Allowed},
	} {
		if len(list.keys) == 0 {
			continue
		}
		var names []string
		g := grid{head: []string{"Key of the identity", "base", "head"}, text: 3, max: 32}
		for i, m := range list.keys {
			if i == maxKeys {
				names = append(names, fmt.Sprintf("and %d more", len(list.keys)-maxKeys))
				break
			}
			names = append(names, plain(m.Key, nameWidth))
			base, head := unlike(m.Base, m.Head)
			g.rows = append(g.rows, []string{m.Key, given(base), given(head)})
		}
		p.state(list.colour, list.label, names...)
		p.blank()
		p.table(g)
	}
}

// unlike cuts long values down to where they differ, with a little of what comes
// before it.
func unlike(a, b string) (string, string) {
	const before, long = 18, 32
	if twwidth.Width(a) <= long && twwidth.Width(b) <= long {
		return a, b
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := same - before
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	if from <= 0 {
		return a, b
	}
	return "…" + a[from:], "…" + b[from:]
}

func given(v string) string {
	if v == "" {
		return absent
	}
	return v
}

// hasMoved tells whether a finding belongs on top.
func hasMoved(f compare.Finding) bool {
	return f.Verdict == compare.Regression || f.Verdict == compare.Improvement || f.Verdict == compare.Changed
}

// findings is a table of figures, with the columns that any of them fills. On the
// terminal there is no room for more, so what moved goes without the smallest change
// that could have been seen.
func (p *page) findings(name string, list []compare.Finding) {
	c := columns{narrow: !p.Markdown && !p.HTML}
	change := "change"
	for _, f := range list {
		c.least = c.least || f.SmallestDetectable != nil && !(c.narrow && hasMoved(list[0]))
		c.verdict = c.verdict || f.Verdict != compare.NotJudged
		if f.Low != nil && f.High != nil {
			change = "change [interval]"
		}
	}
	g := grid{head: []string{name, "base", "head", change}}
	if c.narrow && (c.least || c.verdict) {
		g.max = 29 // a change with its interval
	}
	if c.least {
		g.head = append(g.head, "seen from")
	}
	if c.verdict {
		g.head = append(g.head, "verdict")
	}
	for _, f := range list {
		g.rows = append(g.rows, findingRow(f, c))
	}
	p.table(g)
}

// columns of a table of figures.
type columns struct{ narrow, least, verdict bool }

// divide parts the figures that moved from the others, the gated ones first.
func divide(c *compare.Comparison) (moved, still []compare.Finding) {
	for _, f := range slices.Concat(c.Gated, c.Described) {
		if hasMoved(f) {
			moved = append(moved, f)
		} else {
			still = append(still, f)
		}
	}
	return moved, still
}

// moved shows what changed; where nothing did, how small a change would have
// been seen.
func moved(p *page, c *compare.Comparison) {
	if c.Verdict == compare.Refused {
		return
	}
	if list, _ := divide(c); len(list) > 0 {
		p.section("What moved")
		p.findings("What moved", list)
		p.note("Change: of the head against the base, + is more. *: in the gated family, which the verdict rests on; corrected together. " + family(list))
		return
	}
	text := "none"
	if c.Verdict == compare.NotEnough {
		text = "cannot be said"
	}
	p.fact("Gated figures that moved", text)
	var seen []string
	for _, f := range c.Gated {
		if f.SmallestDetectable != nil {
			seen = append(seen, plain(name(f.Label, f.Metric), nameWidth)+" "+least(f))
		}
	}
	p.fact("Would have been seen in 8 of 10 comparisons, from", seen...)
}

// family says which requests figures are of.
func family(list []compare.Finding) string {
	var pairs, whole []string
	for _, f := range list {
		switch f.Over {
		case compare.OverPairs:
			pairs = append(pairs, f.Label)
		case compare.OverRun:
			whole = append(whole, plain(name(f.Label, f.Metric), nameWidth))
		}
	}
	switch {
	case len(pairs) > 0 && len(whole) > 0:
		return "Of the paired requests, which both sides measured; " + strings.Join(whole, ", ") + " of the whole run."
	case len(pairs) > 0:
		return "Of the paired requests, which both sides measured."
	case len(whole) > 0:
		return "Of the whole run: requests that the other side never sent are in it."
	}
	return ""
}

// least is the smallest change that would have been seen.
func least(f compare.Finding) string {
	switch {
	case f.SmallestDetectable == nil:
		return absent
	case f.Absolute && f.Unit == "ratio":
		return digits(100**f.SmallestDetectable) + " points"
	case f.Absolute:
		_, show := shown("", f.Unit)
		return show(*f.SmallestDetectable)
	}
	return percent(*f.SmallestDetectable)
}

func findingRow(f compare.Finding, c columns) []string {
	label, show := shown(name(f.Label, f.Metric), f.Unit)
	if c.narrow && (c.least || c.verdict) {
		label = plain(label, 25)
		wide := show
		show = func(v float64) string { return plain(wide(v), 11) }
	}
	if f.Gated {
		label += "*"
	}
	row := []string{label, opt(f.Base, show), opt(f.Head, show), change(f)}
	if c.least {
		row = append(row, least(f))
	}
	if c.verdict {
		row = append(row, verdictOf(f, c.narrow))
	}
	return row
}

// verdictOf names the direction that the word alone leaves open.
func verdictOf(f compare.Finding, narrow bool) string {
	switch {
	case f.Verdict == compare.Changed: // the line on top says that it is one run a side
		return "changed" + direction(f)
	case narrow && f.Verdict == compare.NotEnough:
		return "not enough"
	case narrow && f.Verdict == compare.NoChange:
		return "none seen"
	case narrow:
		return plain(string(f.Verdict), 11)
	}
	return plain(string(f.Verdict), 15)
}

func name(label, key string) string {
	if label == "" {
		return key
	}
	return label
}

// shortUnits are units in fewer letters; those that a label says anyway have none.
var shortUnits = map[string]string{
	"tokens": "", "requests": "", "tokens/s": "tok/s", "tokens/sec": "tok/s", "tokens/s/user": "tok/s", "tokens/sec/user": "tok/s",
	"tokens/s/GPU": "tok/s/GPU", "requests/s": "req/s", "requests/sec": "req/s",
}

// shown gives how values of a unit are shown. What the label says already, the
// unit need not.
func shown(label, unit string) (string, func(float64) string) {
	if unit == "ms/token" {
		return label, func(v float64) string { return millis(v) + "/tok" }
	}
	if short, ok := shortUnits[unit]; ok {
		unit = short
	}
	if strings.Contains(label, "GPU") {
		unit = strings.TrimSuffix(unit, "/GPU")
	}
	unit = plain(unit, 9)
	return label, func(v float64) string { return quantity(v, unit) }
}

// change is head against base, signed: "+10.2 % [8.1, 12.4]". Rates that may be 0
// change by percentage points. Whether that is worse says the verdict.
func change(f compare.Finding) string {
	if f.Ratio == nil {
		return absent
	}
	relative := func(v float64) float64 { return v - 1 }
	unit := " %"
	if f.Absolute {
		relative, unit = func(v float64) float64 { return v }, " points"
		if f.Unit != "ratio" {
			return absolute(f)
		}
	}
	v := 100 * relative(*f.Ratio)
	if !finite(v) {
		return absent
	}
	decimals := decimals(v)
	text := sign(v, decimals) + unit
	if f.Low != nil && f.High != nil {
		text += " [" + fixed(100*relative(*f.Low), decimals) + ", " + fixed(100*relative(*f.High), decimals) + "]"
	}
	return text
}

// absolute is a difference in the figure's own unit.
func absolute(f compare.Finding) string {
	_, show := shown("", f.Unit)
	text := show(*f.Ratio)
	if *f.Ratio > 0 {
		text = "+" + text
	}
	if f.Low != nil && f.High != nil {
		text += " [" + show(*f.Low) + ", " + show(*f.High) + "]"
	}
	return text
}

// decimals that a change in percent deserves.
func decimals(v float64) int {
	switch {
	case v < 1 && v > -1:
		return 2
	case v < 1000 && v > -1000:
		return 1
	}
	return 0
}

func fixed(v float64, decimals int) string {
	if !finite(v) {
		return absent
	}
	s := fmt.Sprintf("%.*f", decimals, v)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	return s
}

func sign(v float64, decimals int) string {
	s := fixed(v, decimals)
	if v > 0 && s != "0" {
		return "+" + s
	}
	return s
}

// direction says whether a change is for the worse.
func direction(f compare.Finding) string {
	if f.Ratio == nil || f.Better != compare.LowerIsBetter && f.Better != compare.HigherIsBetter {
		return ""
	}
	none := 1.0
	if f.Absolute {
		none = 0
	}
	switch {
	case *f.Ratio == none:
		return ""
	case (*f.Ratio > none) == (f.Better == compare.LowerIsBetter):
		return ", worse"
	}
	return ", better"
}

// rest folds what did not move: the gated figures, and those of the whole run.
func rest(p *page, c *compare.Comparison) {
	_, still := divide(c)
	if len(still) == 0 {
		return
	}
	var gated, described []compare.Finding
	for _, f := range still {
		if f.Gated {
			gated = append(gated, f)
		} else {
			described = append(described, f)
		}
	}
	p.fold("Other figures: "+whole(len(still)), func() {
		if len(gated) > 0 {
			p.findings("Gated figures", gated)
			seen := ""
			if slices.ContainsFunc(gated, func(f compare.Finding) bool { return f.SmallestDetectable != nil }) {
				seen = "Seen from: the smallest change that 8 of 10 comparisons like this one would tell from none. "
			}
			p.note(seen + family(gated))
			p.blank()
		}
		if len(described) > 0 {
			p.findings("Other figures", described)
			p.note(family(described))
		}
		notes(p, slices.Concat(c.Gated, c.Described))
	})
}

// notes says once what holds of several figures.
func notes(p *page, list []compare.Finding) {
	about := map[string][]string{}
	var order []string
	for _, f := range list {
		if f.Note == "" {
			continue
		}
		if about[f.Note] == nil {
			order = append(order, f.Note)
		}
		about[f.Note] = append(about[f.Note], plain(name(f.Label, f.Metric), nameWidth))
	}
	for _, n := range order {
		p.fact("Note", plain(n, maxSentence), strings.Join(about[n], ", "))
	}
}
