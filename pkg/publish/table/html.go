package table

import (
	"html"
	"strings"
)

// classes name the colours for a style sheet.
var classes = map[string]string{red: "bad", yellow: "warn", green: "good", bold: "lead"}

// htmlTable writes a grid as a table of HTML. Columns of text have the class
// "text", the others are numbers.
func (p *page) htmlTable(g grid) {
	p.write(`<div class="wide"><table>`)
	p.htmlRow("thead", "th", g, g.head)
	p.write("<tbody>")
	for _, row := range g.rows {
		p.htmlRow("", "td", g, row)
	}
	p.write("</tbody>")
	if g.foot != nil {
		p.htmlRow("tfoot", "td", g, g.foot)
	}
	p.write("</table></div>")
}

func (p *page) htmlRow(around, cell string, g grid, row []string) {
	var b strings.Builder
	if around != "" {
		b.WriteString("<" + around + ">")
	}
	b.WriteString("<tr>")
	for i, text := range p.cells(g, row) {
		tag, scope := cell, ""
		switch {
		case cell == "th":
			scope = ` scope="col"`
		case i == 0:
			tag, scope = "th", ` scope="row"`
		}
		if i < g.text {
			scope += ` class="text"`
		}
		b.WriteString("<" + tag + scope + ">" + html.EscapeString(text) + "</" + tag + ">")
	}
	b.WriteString("</tr>")
	if around != "" {
		b.WriteString("</" + around + ">")
	}
	p.write(b.String())
}
