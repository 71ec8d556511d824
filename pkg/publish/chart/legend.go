package chart

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is a line of the legend: a line, an area or a mark, and what it stands for.
type entry struct {
	text string
	line *draw.LineStyle
	area color.Color
	mark *draw.GlyphStyle
}

// drawTitle writes the title at the top and gives its height.
func drawTitle(c draw.Canvas, title string) vg.Length {
	sty := style(13)
	sty.Font.Weight = bold
	sty.YAlign = draw.YTop
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y}, title)
	return 22
}

// drawLegend writes the entries from left to right, as many rows as they take, and
// gives their height.
func drawLegend(c draw.Canvas, entries []entry) vg.Length {
	const sample, gap, row = 22, 16, 16
	sty := style(11)
	sty.YAlign = draw.YCenter
	x, y := c.Min.X, c.Max.Y-row/2
	for _, e := range entries {
		w := sample + 5 + sty.Rectangle(e.text).Size().X
		if x > c.Min.X && x+w > c.Max.X {
			x, y = c.Min.X, y-row
		}
		if e.area != nil {
			c.FillPolygon(e.area, []vg.Point{{X: x, Y: y - 5}, {X: x + sample, Y: y - 5}, {X: x + sample, Y: y + 5}, {X: x, Y: y + 5}})
		}
		if e.line != nil {
			c.StrokeLine2(*e.line, x, y, x+sample, y)
		}
		if e.mark != nil {
			c.DrawGlyph(*e.mark, vg.Point{X: x + sample/2, Y: y})
		}
		c.FillText(sty, vg.Point{X: x + sample + 5, Y: y}, e.text)
		x += w + gap
	}
	if len(entries) == 0 {
		return 0
	}
	return c.Max.Y - y + row/2
}
