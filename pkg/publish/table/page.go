package table

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Options says how a result is shown. The zero value is plain text for a
// terminal.
type Options struct {
	// Show the phases of the HTTP exchange.
	HTTP bool
	// Markdown instead of text for a terminal.
	Markdown bool
	// A fragment of HTML instead of text for a terminal; wins over Markdown.
	HTML bool
	// Colour codes on the terminal; without effect on the others.
	Color bool
}

// page collects what is shown. All text passes through it and is made harmless
// here; elsewhere plain only shortens names.
type page struct {
	Options
	out strings.Builder
	err error
}

// grid is a table. Its first columns hold text, the others numbers. A foot is
// set apart at the end.
type grid struct {
	head []string
	text int // columns of text; 0 is 1
	rows [][]string
	foot []string
	max  int // widest text, in columns; 0 is 40
}

// gap stands between the columns on a terminal.
const gap = "  "

// Colours of the terminal.
const (
	bold   = "1"
	red    = "1;31"
	yellow = "1;33"
	green  = "1;32"
)

func (p *page) paint(colour, text string) string {
	if !p.Color || p.Markdown || p.HTML || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (p *page) write(lines ...string) {
	for _, l := range lines {
		p.out.WriteString(strings.TrimRight(l, " "))
		p.out.WriteByte('\n')
	}
}

// blank ends a paragraph.
func (p *page) blank() {
	if p.out.Len() > 0 && !strings.HasSuffix(p.out.String(), "\n\n") {
		p.out.WriteByte('\n')
	}
}

// block writes lines, in Markdown as a paragraph of their own.
func (p *page) block(lines ...string) {
	if p.Markdown {
		p.blank()
	}
	p.write(lines...)
	if p.Markdown {
		p.blank()
	}
}

// section starts a part of the page. On the terminal the table's head names it.
func (p *page) section(name string) {
	p.blank()
	switch {
	case p.HTML:
		p.write("<h3>" + html.EscapeString(plain(name, nameWidth)) + "</h3>")
	case p.Markdown:
		p.block("### " + markdown(plain(name, nameWidth)))
	}
}

// fold puts away what only some want to read: a part that opens on demand, on the
// terminal one under a heading.
func (p *page) fold(summary string, show func()) {
	at := p.out.Len()
	switch {
	case p.HTML:
		p.write("<details><summary>" + html.EscapeString(plain(summary, lineWidth)) + "</summary>")
	case p.Markdown:
		// The blank line after it makes Markdown of what follows.
		p.blank()
		p.block("<details><summary>" + html.EscapeString(plain(summary, lineWidth)) + "</summary>")
	default:
		p.blank()
		p.write(p.paint(bold, "── "+plain(summary, lineWidth-3)), "")
	}
	start := p.out.Len()
	show()
	if p.out.Len() == start { // nothing to put away
		kept := p.out.String()[:at]
		p.out.Reset()
		p.out.WriteString(kept)
		return
	}
	switch {
	case p.HTML:
		p.write("</details>")
	case p.Markdown:
		p.block("</details>")
	}
}

// send writes the page out.
func (p *page) send(w io.Writer) error {
	if p.err != nil {
		return fmt.Errorf("table: %w", p.err)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// fact is a line of what belongs together, under a label. Empty parts are left out.
func (p *page) fact(label string, parts ...string) { p.state("", label, parts...) }

// state is a fact with a coloured label.
func (p *page) state(colour, label string, parts ...string) {
	label = plain(label, nameWidth)
	var kept []string
	for _, part := range parts {
		if part = plain(part, 10*lineWidth); part != "" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return
	}
	if p.HTML {
		p.write(`<p class="fact ` + classes[colour] + `"><b>` + html.EscapeString(label) + ":</b> " + html.EscapeString(strings.Join(kept, " · ")) + "</p>")
		return
	}
	if p.Markdown {
		p.write("- **" + markdown(label) + ":** " + markdown(strings.Join(kept, " · ")))
		return
	}
	lines := wrapped(label+": ", kept, " · ", "  ", lineWidth)
	lines[0] = p.paint(colour, label) + strings.TrimPrefix(lines[0], label)
	p.write(lines...)
}

// note explains.
func (p *page) note(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if p.HTML {
		p.write(`<p class="note">` + html.EscapeString(text) + "</p>")
		return
	}
	if p.Markdown {
		p.block("_" + markdown(text) + "_")
		return
	}
	p.write(wrapped("  ", strings.Fields(text), " ", "  ", lineWidth)...)
}

// table shows a grid; one without rows is left out.
func (p *page) table(g grid) {
	if p.err != nil || len(g.rows) == 0 {
		return
	}
	g.text = max(g.text, 1)
	if g.max == 0 {
		g.max = 40
	}
	if p.HTML {
		p.htmlTable(g)
		return
	}
	var out strings.Builder
	t := p.writer(&out, g)
	t.Header(p.cells(g, g.head))
	for _, row := range g.rows {
		if p.err = t.Append(p.cells(g, row)); p.err != nil {
			return
		}
	}
	if g.foot != nil {
		t.Footer(p.cells(g, g.foot))
	}
	if p.err = t.Render(); p.err != nil {
		return
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	lines[0] = p.paint(bold, strings.TrimRight(lines[0], " "))
	for i, l := range lines {
		if strings.Trim(l, "─") == "" { // a rule ends with the text, not the gap
			lines[i] = strings.TrimSuffix(l, strings.Repeat("─", len(gap)))
		}
	}
	p.block(lines...)
}

// cells makes a row harmless and as long as the head.
func (p *page) cells(g grid, row []string) []string {
	out := make([]string, len(g.head))
	for i := range out {
		if i < len(row) {
			out[i] = plain(row[i], g.max)
		}
		if p.Markdown && !p.HTML {
			out[i] = markdown(out[i])
		}
	}
	return out
}

func (p *page) writer(w io.Writer, g grid) *tablewriter.Table {
	align := make(tw.Alignment, len(g.head))
	for i := range align {
		align[i] = tw.AlignRight
		if i < g.text {
			align[i] = tw.AlignLeft
		}
	}
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Alignment:  tw.CellAlignment{PerColumn: align},
	}
	if !p.Markdown {
		cell.Padding.Global = tw.Padding{Right: gap, Overwrite: true}
	}
	config := tablewriter.Config{Header: cell, Row: cell, Footer: cell, Behavior: tw.Behavior{TrimSpace: tw.Off}}
	var r tw.Renderer = renderer.NewMarkdown()
	if !p.Markdown {
		foot := tw.Off
		if g.foot != nil {
			foot = tw.On
		}
		r = renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.SeparatorsNone,
				Lines:      tw.Lines{ShowTop: tw.Off, ShowBottom: tw.Off, ShowHeaderLine: tw.On, ShowFooterLine: foot},
			},
		})
	}
	return tablewriter.NewTable(w, tablewriter.WithConfig(config), tablewriter.WithRenderer(r))
}
