package github

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/validity"
)

// Widths of outside text, in columns.
const (
	nameWidth     = 60
	sentenceWidth = 600
)

// section is a part of a comment. Those with a name can be shed, the one with the
// lowest worth first.
type section struct {
	name, text string
	worth      int
}

// body is a comment as its sections.
type body struct {
	marker   marker
	sections []section
	shed     []string
	whole    string // where what was shed can be read: an address, or ""
}

// md is how the tables are shown.
var md = table.Options{Markdown: true}

// newBody writes all sections of a comment. The same content gives the same text.
func newBody(o *Options, c *Content) (*body, error) {
	b := &body{marker: marker{workflow: o.Workflow, cell: o.Cell, standing: StandingOf(c), run: run{o.Run, o.Attempt}}, whole: address(cmp.Or(c.Provenance.SummaryURL, c.Provenance.RunURL))}
	against := c.AgainstFixed
	if c.Comparison != nil && len(c.Comparison.HeadAgainstFixed) > 0 {
		against = c.Comparison.HeadAgainstFixed
	}
	for _, s := range []struct {
		section
		write func(io.Writer) error
	}{
		{section{}, func(w io.Writer) error { return headline(w, o, c, b.marker.standing) }},
		{section{name: "agentic load against the fixed-length baseline", worth: 8}, func(w io.Writer) error {
			return table.AgainstFixed(w, against, md)
		}},
		{section{name: "head against base", worth: 7}, folded("Head against base: all figures", changes(c))},
		{section{name: "where the change sits", worth: 6}, folded("Where it sits: layers", layers(c))},
		{section{name: "validity and identity", worth: 4}, folded("Validity and identity", standing(c))},
		{section{name: "findings", worth: 5}, folded(findingsTitle(c.Head), verdict(c))},
		{section{name: "all figures of the head", worth: 1}, folded("All figures of the head", figures(c))},
		{section{name: "how to reproduce", worth: 3}, folded("How to reproduce this", reproduce(c))},
		{section{}, func(w io.Writer) error { return provenance(w, o, c) }},
	} {
		var text strings.Builder
		if err := s.write(&text); err != nil {
			return nil, fmt.Errorf("github: %s: %w", s.name, err)
		}
		if s.text = strings.TrimSpace(text.String()); s.text != "" {
			b.sections = append(b.sections, s.section)
		}
	}
	return b, nil
}

// String is the comment: the marker, then the sections.
func (b *body) String() string { return b.marker.String() + "\n" + b.text() }

// text is the comment without its marker.
func (b *body) text() string {
	parts := make([]string, 0, len(b.sections)+1)
	for _, s := range b.sections {
		parts = append(parts, s.text)
	}
	if len(b.shed) > 0 {
		where := "They are in the job summary."
		if b.whole != "" {
			where = "They are in the [job summary](" + b.whole + ")."
		}
		note := "_Left out, because GitHub takes no longer comment: " + strings.Join(b.shed, ", ") + ". " + where + "_"
		parts = slices.Insert(parts, min(1, len(parts)), note)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// shedOne leaves out the section that is worth least; false when none is left.
func (b *body) shedOne() bool {
	least := -1
	for i, s := range b.sections {
		if s.name != "" && (least < 0 || s.worth < b.sections[least].worth) {
			least = i
		}
	}
	if least < 0 {
		return false
	}
	b.shed = append(b.shed, b.sections[least].name)
	b.sections = slices.Delete(b.sections, least, least+1)
	return true
}

// fit sheds until the comment is at most limit characters long.
func (b *body) fit(limit int) {
	for length(b.String()) > limit && b.shedOne() {
	}
}

// folded puts a part away until somebody wants to read it.
func folded(title string, write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		var text strings.Builder
		if err := write(&text); err != nil {
			return err
		}
		inner := strings.TrimSpace(text.String())
		if inner == "" {
			return nil
		}
		_, err := fmt.Fprintf(w, "<details><summary>%s</summary>\n\n%s\n\n</details>", table.Inline(title, nameWidth), inner)
		return err
	}
}

func changes(c *Content) func(io.Writer) error {
	return func(w io.Writer) error {
		if c.Comparison == nil {
			return nil
		}
		return all(w, func(w io.Writer) error { return table.Sides(w, c.Comparison, md) },
			func(w io.Writer) error { return table.Changes(w, c.Comparison, md) })
	}
}

func layers(c *Content) func(io.Writer) error {
	return func(w io.Writer) error {
		if c.Comparison == nil {
			return nil
		}
		return table.Layers(w, c.Comparison, md)
	}
}

func standing(c *Content) func(io.Writer) error {
	return func(w io.Writer) error {
		if c.Comparison == nil {
			return nil
		}
		return table.Standing(w, c.Comparison, md)
	}
}

func verdict(c *Content) func(io.Writer) error {
	return func(w io.Writer) error {
		if c.Head == nil {
			return nil
		}
		return table.Verdict(w, c.Head, md)
	}
}

func figures(c *Content) func(io.Writer) error {
	return func(w io.Writer) error {
		if c.Head == nil {
			return nil
		}
		return table.Measured(w, c.Head, md) // whether it counts is a section of its own
	}
}

// all writes several parts, a blank line between them.
func all(w io.Writer, parts ...func(io.Writer) error) error {
	for _, p := range parts {
		if err := p(w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return nil
}

// findingsTitle counts the findings by their severity.
func findingsTitle(d *result.Document) string {
	if d == nil {
		return "Findings"
	}
	count := map[validity.Severity]int{}
	for _, f := range d.Validity.Findings {
		count[f.Severity]++
	}
	var parts []string
	for _, s := range []validity.Severity{validity.Invalid, validity.Untrusted, validity.Note} {
		if count[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	if len(parts) == 0 {
		return "Findings: none"
	}
	return "Findings: " + strings.Join(parts, ", ")
}

// Top is the number of figures above everything else.
const Top = 3

// top are the figures that moved most: those that gate before those that don't, the
// worse before the better, and the larger before the smaller change. Where nothing
// moved they are the first of the gated ones.
func top(c *compare.Comparison) (list []compare.Finding, moved bool) {
	rank := func(f *compare.Finding) int {
		r := 0
		if !f.Gated {
			r += 4
		}
		if !worse(f) {
			r += 2
		}
		return r
	}
	for _, f := range slices.Concat(c.Gated, c.Described) {
		if f.Verdict == compare.Regression || f.Verdict == compare.Improvement || f.Verdict == compare.Changed {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return c.Gated[:min(Top, len(c.Gated))], false
	}
	slices.SortStableFunc(list, func(a, b compare.Finding) int {
		if d := rank(&a) - rank(&b); d != 0 {
			return d
		}
		return -compareFloat(size(&a), size(&b))
	})
	return list[:min(Top, len(list))], true
}

// size of a change: the logarithm of a ratio, so that half and double are alike; of a
// rate, its difference.
func size(f *compare.Finding) float64 {
	switch {
	case f.Ratio == nil:
		return 0
	case f.Absolute:
		return math.Abs(*f.Ratio)
	case *f.Ratio <= 0:
		return math.Inf(1)
	}
	return math.Abs(math.Log(*f.Ratio))
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
