package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/org/agentx-action/pkg/result"
)

// Point is one run under one load.
type Point struct {
	// Output tokens a second as one user sees them: 1 over the median inter-token
	// latency.
	Interactivity float64
	// Output tokens a second, per GPU where PerGPU says so.
	Throughput float64
	PerGPU     bool
	// The load, e.g. "32 lanes".
	Load string
}

// PointOf reads a result; false when it has no interactivity or no throughput.
func PointOf(d *result.Document) (Point, bool) {
	var p Point
	if d.InferenceX == nil || d.InferenceX.Latency.Intvty == nil {
		return p, false
	}
	rate, ok := d.Metrics.Run["output_token_throughput"]
	if !ok {
		return p, false
	}
	p.Interactivity, p.Throughput = d.InferenceX.Latency.Intvty.P50, rate.Value
	if d.GPUs != nil && d.GPUs.Count > 0 {
		p.Throughput, p.PerGPU = p.Throughput/float64(d.GPUs.Count), true
	}
	if n := d.Settings.Concurrency; n > 0 {
		what := "lanes"
		if d.Mode == result.ModeFixed {
			what = "at once"
		}
		p.Load = fmt.Sprintf("%d %s", n, what)
	}
	return p, p.Interactivity > 0 && p.Throughput > 0 && !math.IsInf(p.Interactivity+p.Throughput, 0)
}

// Series are the runs of one side under one kind of load.
type Series struct {
	Name   string
	Fixed  bool // the fixed-length baseline
	Base   bool // the side that the head is held against
	Points []Point
}

// Frontier shows throughput against interactivity. The line of a series is its
// Pareto frontier: the points than which none is better in both.
func Frontier(list []Series) (*Chart, error) {
	const name, title = "frontier", "Throughput against interactivity"
	all, perGPU := 0, 0
	for _, s := range list {
		all += len(s.Points)
		for _, q := range s.Points {
			if q.PerGPU {
				perGPU++
			}
		}
	}
	if perGPU > 0 && perGPU < all {
		return nil, &Absent{name, title, "some of the results say how many GPUs they used and others don't"}
	}
	if all < 2 {
		return nil, &Absent{name, title, "one run is one point; a fixed-length baseline, a base or several concurrencies give more"}
	}
	what := "output tokens/s, all GPUs"
	if perGPU > 0 {
		what = "output tokens/s per GPU"
	}
	p := newPlot("interactivity, p50 (output tokens/s that one user sees)", what)
	var legend []entry
	notes := &labels{}
	top := Point{}
	for _, s := range list {
		if len(s.Points) == 0 {
			continue
		}
		l, mark := look(s)
		frontier, beaten := pareto(s.Points)
		if err := addPoints(p, frontier, l, mark); err != nil {
			return nil, err
		}
		small := mark
		small.Radius /= 2
		if err := addPoints(p, beaten, draw.LineStyle{}, small); err != nil {
			return nil, err
		}
		notes.lines = append(notes.lines, frontier)
		for _, q := range s.Points {
			top.Interactivity, top.Throughput = max(top.Interactivity, q.Interactivity), max(top.Throughput, q.Throughput)
			notes.add(q)
		}
		legend = append(legend, entry{text: named(s.Name), line: &l, mark: &mark})
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, top.Interactivity*1.12, 0, top.Throughput*1.12
	p.Add(notes)
	return &Chart{
		Name: name, Title: title, plot: p, legend: legend, height: height,
		Note: "Up and to the right is better. Lines are Pareto frontiers; small points are beaten in both by another of their series.",
	}, nil
}

// look tells load by colour and shape, side by fill and dashes.
func look(s Series) (draw.LineStyle, draw.GlyphStyle) {
	c := blue
	var shape draw.GlyphDrawer = draw.CircleGlyph{}
	if s.Fixed {
		c, shape = orange, draw.BoxGlyph{}
	}
	l := line(c, 1.6)
	if s.Base {
		l.Dashes = dashed
		shape = draw.RingGlyph{}
		if s.Fixed {
			shape = draw.SquareGlyph{}
		}
	}
	return l, draw.GlyphStyle{Color: c, Radius: 4, Shape: shape}
}

func addPoints(p *plot.Plot, points []Point, l draw.LineStyle, mark draw.GlyphStyle) error {
	if len(points) == 0 {
		return nil
	}
	xy := make(plotter.XYs, len(points))
	for i, q := range points {
		xy[i] = plotter.XY{X: q.Interactivity, Y: q.Throughput}
	}
	curve, marks, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	curve.LineStyle, marks.GlyphStyle = l, mark
	if l.Width > 0 {
		p.Add(curve)
	}
	p.Add(marks)
	return nil
}

// pareto parts the points that none beats in both from the others, each by
// rising interactivity.
func pareto(points []Point) (frontier, beaten []Point) {
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b Point) int {
		return cmp.Or(cmp.Compare(b.Interactivity, a.Interactivity), cmp.Compare(b.Throughput, a.Throughput))
	})
	best := math.Inf(-1)
	for _, q := range sorted {
		if q.Throughput > best {
			best = q.Throughput
			frontier = append(frontier, q)
		} else {
			beaten = append(beaten, q)
		}
	}
	slices.Reverse(frontier)
	slices.Reverse(beaten)
	return frontier, beaten
}

// labels names the load of points where there is room.
type labels struct {
	points []Point
	lines  [][]Point // which no label may cover
}

func (l *labels) add(p Point) {
	if p.Load != "" {
		l.points = append(l.points, p)
	}
}

// Plot implements plot.Plotter. A label that would lie on another one or on a
// point is tried on all sides, and else left out.
func (l *labels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	sty := style(9.5)
	sty.YAlign = draw.YCenter
	var taken []vg.Rectangle
	for _, q := range l.points {
		at := vg.Point{X: x(q.Interactivity), Y: y(q.Throughput)}
		taken = append(taken, vg.Rectangle{Min: vg.Point{X: at.X - 5, Y: at.Y - 5}, Max: vg.Point{X: at.X + 5, Y: at.Y + 5}})
	}
	for _, points := range l.lines {
		for i := 1; i < len(points); i++ {
			taken = append(taken, along(vg.Point{X: x(points[i-1].Interactivity), Y: y(points[i-1].Throughput)}, vg.Point{X: x(points[i].Interactivity), Y: y(points[i].Throughput)})...)
		}
	}
	for _, q := range l.points {
		w := sty.Rectangle(q.Load).Size().X
		at := vg.Point{X: x(q.Interactivity), Y: y(q.Throughput)}
		for _, off := range []vg.Point{{X: 8, Y: 7}, {X: 8, Y: -8}, {X: -8 - w, Y: 7}, {X: -8 - w, Y: -8}} {
			box := vg.Rectangle{Min: vg.Point{X: at.X + off.X, Y: at.Y + off.Y - 6}, Max: vg.Point{X: at.X + off.X + w, Y: at.Y + off.Y + 6}}
			if box.Min.X < c.Min.X || box.Max.X > c.Max.X || box.Min.Y < c.Min.Y || slices.ContainsFunc(taken, func(o vg.Rectangle) bool { return overlap(box, o) }) {
				continue
			}
			c.FillText(sty, vg.Point{X: box.Min.X, Y: at.Y + off.Y}, q.Load)
			taken = append(taken, box)
			break
		}
	}
}

// along covers a line with small boxes.
func along(from, to vg.Point) []vg.Rectangle {
	const each = 4
	d := to.Sub(from)
	n := int(math.Hypot(float64(d.X), float64(d.Y))/each) + 1
	out := make([]vg.Rectangle, 0, n)
	for i := range n {
		at := from.Add(d.Scale(vg.Length(i) / vg.Length(n)))
		out = append(out, vg.Rectangle{Min: vg.Point{X: at.X - 1, Y: at.Y - 1}, Max: vg.Point{X: at.X + each, Y: at.Y + 1}})
	}
	return out
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}
