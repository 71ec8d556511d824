package table

import (
	"errors"
	"io"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// Plain makes one harmless line of any text, at most width columns: no escape
// sequences, no control or invisible characters, no line ends.
func Plain(text string, width int) string { return plain(text, width) }

// Inline is Plain as Markdown in which nothing is markup, nor a link, a mention or a
// reference to an issue once GitHub has rendered it. It stands within a line.
func Inline(text string, width int) string { return markdown(plain(text, width)) }

// Percent shows a share, 0 to 1, to three digits.
func Percent(share float64) string { return percent(share) }

// Sides names what was compared, by which keys it was refused or let through.
func Sides(w io.Writer, c *compare.Comparison, o Options) error {
	return part(w, c, o, func(p *page) {
		p.fact("Head", side(&c.Head)...)
		p.fact("Base", side(&c.Base)...)
		for _, n := range c.Notes {
			p.fact("Note", plain(n, maxSentence))
		}
		mismatches(p, c)
	})
}

// Figures shows some figures of a comparison in one table, whose first column is
// called name.
func Figures(w io.Writer, name string, list []compare.Finding, o Options) error {
	p := &page{Options: o}
	p.findings(name, list)
	return p.send(w)
}

// Changes shows all figures of a comparison: those that moved, then the others.
func Changes(w io.Writer, c *compare.Comparison, o Options) error {
	return part(w, c, o, func(p *page) {
		moved(p, c)
		rest(p, c)
	})
}

// Layers shows where in the stack a change sits, the likeliest layer first.
func Layers(w io.Writer, c *compare.Comparison, o Options) error {
	return part(w, c, o, func(p *page) {
		movedLayers(p, c)
		stillLayers(p, c)
	})
}

// Standing shows which runs were compared, how far they count, and by what identity.
func Standing(w io.Writer, c *compare.Comparison, o Options) error {
	return part(w, c, o, func(p *page) { sides(p, c) })
}

// Verdict says whether a run counts, and why not.
func Verdict(w io.Writer, d *result.Document, o Options) error {
	if d == nil {
		return errors.New("table: no result document to show")
	}
	p := &page{Options: o}
	verdict(p, d)
	return p.send(w)
}

// Measured is Result without what Verdict says, for who shows that apart.
func Measured(w io.Writer, d *result.Document, o Options) error {
	return inParts(w, d, o, measured(d))
}

// Headline shows the figures that a run is known by.
func Headline(w io.Writer, d *result.Document, o Options) error {
	if d == nil {
		return errors.New("table: no result document to show")
	}
	p := &page{Options: o}
	g := grid{head: []string{"Head alone", "p50", "p90", "mean"}}
	for _, r := range []struct{ label, key string }{{"TTFT", "time_to_first_token"}, {"ITL", "inter_token_latency"}, {"E2E latency", "request_latency"}} {
		if s, ok := d.Metrics.Request[r.key]; ok && s.Count > 0 {
			g.rows = append(g.rows, []string{r.label, millis(s.P50), millis(s.P90), millis(s.Avg)})
		}
	}
	p.table(g)
	if v := value(d.Metrics.Run, "output_token_throughput"); v != nil {
		p.fact("Output tokens per second", count(*v))
	}
	return p.send(w)
}

func part(w io.Writer, c *compare.Comparison, o Options, show func(*page)) error {
	if c == nil {
		return errors.New("table: no comparison to show")
	}
	p := &page{Options: o}
	show(p)
	return p.send(w)
}
