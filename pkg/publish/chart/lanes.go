package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/org/agentx-action/pkg/result/record"
)

// maxLanes bounds the swim-lane picture.
const maxLanes = 40

// Lanes shows every tree as a bar in its lane, its requests as strokes in it.
func Lanes(e *Evidence) (*Chart, error) {
	const name, title = "lanes", "Trees and their requests by lane"
	if len(e.trees) == 0 {
		return nil, &Absent{name, title, "no tree was played"}
	}
	from, to := e.window()
	if to <= from {
		return nil, &Absent{name, title, "the measured phase has no length"}
	}
	lanes := 0
	for _, t := range e.trees {
		lanes = max(lanes, t.lane+1)
	}
	shown := min(lanes, maxLanes)
	unit := clockOf(since(to, from))
	p := newPlot(unit.label(), "lane")
	p.X.Min, p.X.Max = 0, since(to, from)/unit.size
	p.Y.Min, p.Y.Max = -0.6, float64(shown)-0.4
	p.Y.Tick.Marker = laneTicks(shown)
	s := &swim{from: from, to: to, unit: unit.size, lanes: shown}
	s.take(e)
	p.Add(s)
	c := &Chart{
		Name: name, Title: title, plot: p, height: vg.Length(min(max(130+shown*24, 220), 900)),
		Note: "A bar is a tree, its shade alternates from tree to tree; a stroke is a request from sending to its end. Gaps are think time, tool time and idle time.",
		legend: []entry{
			{text: "tree", area: faint(ink, 0x60)}, {text: "request of the root stream", area: blue}, {text: "of a child stream", area: orange},
		},
	}
	if s.failed {
		c.legend = append(c.legend, entry{text: "failed", area: red})
	}
	if shown < lanes {
		c.Title = fmt.Sprintf("%s, the first %d of %d", title, shown, lanes)
	}
	return c, nil
}

// laneTicks names the lanes, the first on top.
func laneTicks(n int) plot.ConstantTicks {
	every := 1 + (n-1)/20
	var out plot.ConstantTicks
	for i := 0; i < n; i += every {
		out = append(out, plot.Tick{Value: float64(n - 1 - i), Label: strconv.Itoa(i)})
	}
	return out
}

// swim draws the lanes.
type swim struct {
	from, to record.Stamp
	unit     float64
	lanes    int
	trees    []tree
	requests []request
	failed   bool
}

// take copies what lies in the lanes shown, in their order.
func (s *swim) take(e *Evidence) {
	for _, t := range e.trees {
		if t.lane >= 0 && t.lane < s.lanes {
			s.trees = append(s.trees, t)
		}
	}
	for _, q := range e.requests {
		if q.lane >= 0 && q.lane < s.lanes {
			s.requests = append(s.requests, q)
			s.failed = s.failed || q.failed
		}
	}
	slices.SortFunc(s.trees, func(a, b tree) int { return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.start, b.start)) })
	slices.SortFunc(s.requests, func(a, b request) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.sent, b.sent))
	})
}

// Plot implements plot.Plotter.
func (s *swim) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(t record.Stamp) vg.Length { return x(since(min(max(t, s.from), s.to), s.from) / s.unit) }
	of := func(lane int, offset float64) vg.Length { return y(float64(s.lanes-1-lane) + offset) }
	shades := []color.Color{faint(ink, 0x38), faint(ink, 0x70)}
	var bars [2]vg.Path
	shade, lane := 0, -1
	for _, t := range s.trees {
		if t.lane != lane {
			lane, shade = t.lane, 0
		}
		end := t.end
		if !end.Seen() {
			end = s.to
		}
		if end <= s.from || t.start >= s.to {
			continue
		}
		bars[shade] = rect(bars[shade], at(t.start), of(t.lane, -0.42), at(end), of(t.lane, 0.42))
		shade = 1 - shade
	}
	for i, path := range bars {
		fill(c, shades[i], path)
	}
	s.strokes(c, at, of)
}

// strokes draws the requests: those of root streams in the upper part of a bar,
// those of children below, failures over both. Strokes too close to be told apart
// are drawn as one.
func (s *swim) strokes(c draw.Canvas, at func(record.Stamp) vg.Length, of func(int, float64) vg.Length) {
	const least, apart = 0.9, 0.25 // points
	for _, kind := range []struct {
		colour    color.Color
		low, high float64
		keep      func(request) bool
	}{
		{blue, 0.02, 0.36, func(q request) bool { return !q.child && !q.failed }},
		{orange, -0.36, -0.02, func(q request) bool { return q.child && !q.failed }},
		{red, -0.36, 0.36, func(q request) bool { return q.failed }},
	} {
		var path vg.Path
		lane, left, right := -1, vg.Length(0), vg.Length(math.Inf(-1))
		flush := func() {
			if lane >= 0 && right > left {
				path = rect(path, left, of(lane, kind.low), right, of(lane, kind.high))
			}
		}
		for _, q := range s.requests {
			if !kind.keep(q) || q.end <= s.from || q.sent >= s.to {
				continue
			}
			l, r := at(q.sent), at(q.end)
			r = max(r, l+least)
			if q.lane == lane && l <= right+apart {
				right = max(right, r)
				continue
			}
			flush()
			lane, left, right = q.lane, l, r
		}
		flush()
		fill(c, kind.colour, path)
	}
}

func rect(p vg.Path, x0, y0, x1, y1 vg.Length) vg.Path {
	p.Move(vg.Point{X: x0, Y: y0})
	p.Line(vg.Point{X: x1, Y: y0})
	p.Line(vg.Point{X: x1, Y: y1})
	p.Line(vg.Point{X: x0, Y: y1})
	p.Close()
	return p
}

func fill(c draw.Canvas, colour color.Color, p vg.Path) {
	if len(p) > 0 {
		c.SetColor(colour)
		c.Fill(p)
	}
}
