package chart

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is one picture.
type Chart struct {
	// Name of its file, without ending.
	Name string
	// What it shows.
	Title string
	// How to read it, in a sentence.
	Note string

	plot   *plot.Plot
	legend []entry
	height vg.Length
}

// Absent says why a picture was not drawn.
type Absent struct {
	Name, Title string
	Why         string
}

func (a *Absent) Error() string { return a.Name + ": " + a.Why }

// The width and usual height of a picture, in points.
const (
	width  = 820
	height = 360
)

// dotsPerInch of a PNG: two pixels a point on a screen of 72 dpi.
const dotsPerInch = 144

// SVG writes the picture as a document of its own.
func (c *Chart) SVG(w io.Writer) (err error) {
	defer caught(&err, c.Name)
	canvas := vgsvg.New(width, c.height)
	c.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	_, err = io.WriteString(w, fitted(fallbackFonts.Replace(b.String())))
	return err
}

// fallbackFonts have the same widths as the font that the text was laid out with.
var fallbackFonts = strings.NewReplacer("font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")

// Inline gives the picture as an element for an HTML page: as wide as there is
// room, its text in the colour of the text around it.
func (c *Chart) Inline() (string, error) {
	var b strings.Builder
	if err := c.SVG(&b); err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(b.String(), "<svg ")
	_, rest, opened := strings.Cut(rest, ">")
	if !ok || !opened {
		return "", errors.New(c.Name + ": not an SVG")
	}
	rest = strings.ReplaceAll(rest, "fill:"+hex(ink), "fill:currentColor")
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %g" role="img" aria-label="`, width, c.height.Points())
	return head + html.EscapeString(c.Title) + `">` + rest, nil
}

// PNG writes the picture as pixels on a transparent background.
func (c *Chart) PNG(w io.Writer) (err error) {
	defer caught(&err, c.Name)
	canvas := vgimg.NewWith(vgimg.UseWH(width, c.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.Transparent))
	c.draw(draw.New(canvas))
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// draw puts title and legend above the plot, where they can't cover anything.
func (c *Chart) draw(canvas draw.Canvas) {
	const margin = 8
	top := drawTitle(draw.Crop(canvas, margin, -margin, 0, -margin), c.Title)
	top += drawLegend(draw.Crop(canvas, margin, -margin, 0, -margin-top), c.legend)
	c.plot.Draw(draw.Crop(canvas, margin, -2*margin, margin, -margin-top-6))
}

// caught turns a panic of the drawing library into an error: it panics on what it
// can't draw, and a picture is not worth a run.
func caught(err *error, name string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("chart %s: %v", name, r)
	}
}

// Names are the files that charts can have, without ending.
var Names = []string{"frontier", "in_flight", "lanes", "ttft_by_turn", "cache"}
