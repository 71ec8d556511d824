package chart

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours that hold their contrast on white and on #0d1117.
var (
	ink    = color.NRGBA{0x77, 0x7b, 0x82, 0xff} // text and axes
	blue   = color.NRGBA{0x3b, 0x82, 0xf6, 0xff}
	orange = color.NRGBA{0xd9, 0x77, 0x06, 0xff}
	teal   = color.NRGBA{0x0d, 0x94, 0x88, 0xff}
	violet = color.NRGBA{0xa8, 0x55, 0xf7, 0xff}
	red    = color.NRGBA{0xe5, 0x48, 0x4d, 0xff}
)

// faint is a colour for areas.
func faint(c color.NRGBA, alpha uint8) color.NRGBA { c.A = alpha; return c }

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

const bold = stdfont.WeightBold

var dashed = []vg.Length{6, 3}

func line(c color.Color, w vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: dashes}
}

func style(size vg.Length) text.Style {
	return text.Style{
		Color: ink, Handler: plot.DefaultTextHandler,
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
	}
}

// newPlot is a plot in our style, its axes named.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []struct {
		axis *plot.Axis
		text string
	}{{&p.X, x}, {&p.Y, y}} {
		a.axis.Label.Text = a.text
		rotation, xa, ya := a.axis.Label.TextStyle.Rotation, a.axis.Label.TextStyle.XAlign, a.axis.Label.TextStyle.YAlign
		a.axis.Label.TextStyle = style(11)
		a.axis.Label.TextStyle.Rotation, a.axis.Label.TextStyle.XAlign, a.axis.Label.TextStyle.YAlign = rotation, xa, ya
		a.axis.Label.Padding = 4
		xa, ya = a.axis.Tick.Label.XAlign, a.axis.Tick.Label.YAlign
		a.axis.Tick.Label = style(10)
		a.axis.Tick.Label.XAlign, a.axis.Tick.Label.YAlign = xa, ya
		a.axis.LineStyle = line(ink, 0.7)
		a.axis.Tick.LineStyle = line(ink, 0.7)
		a.axis.Tick.Length = 4
		a.axis.Tick.Marker = ticks{}
		a.axis.Padding = 0
	}
	grid := plotter.NewGrid()
	grid.Vertical = line(faint(ink, 0x30), 0.5)
	grid.Horizontal = line(faint(ink, 0x50), 0.5)
	p.Add(grid)
	return p
}

// ticks are at round numbers, four to eleven of them, written short.
type ticks struct {
	suffix string
	whole  bool // for what is counted
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, high float64) []plot.Tick {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return []plot.Tick{{Value: low, Label: short(low) + t.suffix}}
	}
	step := math.Pow(10, math.Floor(math.Log10(span)))
	for _, part := range []float64{0.1, 0.2, 0.5, 1} {
		if span/(step*part) <= 10 {
			step *= part
			break
		}
	}
	if t.whole {
		step = math.Max(1, math.Round(step))
	}
	var out []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i <= high/step+1e-9; i++ {
		v := i * step
		out = append(out, plot.Tick{Value: v, Label: short(v+0) + t.suffix})
	}
	return out
}

// short writes a number with k, M or B.
func short(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "B"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.size {
			return strconv.FormatFloat(v/u.size, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// named makes a short harmless line of a name of others.
func named(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if runes := []rune(s); len(runes) > 40 {
		s = string(runes[:39]) + "…"
	}
	return s
}

// clockUnit is the unit of a time axis.
type clockUnit struct {
	size float64 // seconds
	name string
}

func clockOf(seconds float64) clockUnit {
	switch {
	case seconds > 4*3600:
		return clockUnit{3600, "h"}
	case seconds > 240:
		return clockUnit{60, "min"}
	}
	return clockUnit{1, "s"}
}

func (u clockUnit) label() string {
	return "time since the start of the measured phase (" + u.name + ")"
}
