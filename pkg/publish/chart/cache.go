package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Cache shows the prefix-cache hit rate over time, three ways: what an endless
// cache could have given in this run, what the engine reported, and what the
// recording would allow. The distance between the first two is what was lost.
func Cache(e *Evidence) (*Chart, error) {
	const name, title = "cache", "Prefix-cache hit rate over time"
	from, to := e.window()
	if to <= from {
		return nil, &Absent{name, title, "no request of the measured phase was sent"}
	}
	length := since(to, from)
	size := windowOf(length)
	n := int(math.Ceil(length / size))
	ideal, reported, theory := make([]share, n), make([]share, n), make([]share, n)
	for _, q := range e.requests {
		at := q.first
		if !at.Seen() || at < from || at > to {
			continue
		}
		w := min(int(since(at, from)/size), n-1)
		if q.hasIdeal {
			ideal[w].add(q.ideal, q.prompt)
		}
		if q.hasCached {
			reported[w].add(q.cached, q.prompt)
		}
		if q.blocks > 0 {
			theory[w].add(float64(q.hits), float64(q.blocks))
		}
	}
	unit := clockOf(length)
	p := newPlot(unit.label(), "hits, of the prompt")
	p.X.Min, p.X.Max = 0, length/unit.size
	p.Y.Min, p.Y.Max = 0, 102
	p.Y.Tick.Marker = ticks{suffix: " %"}
	var legend []entry
	for _, s := range []struct {
		text    string
		windows []share
		line    draw.LineStyle
		mark    draw.GlyphStyle
	}{
		{"theoretical, by the recording", theory, line(violet, 1.2, 2, 3), draw.GlyphStyle{Color: violet, Radius: 2.5, Shape: draw.SquareGlyph{}}},
		{"ideal as played", ideal, line(teal, 1.5, dashed...), draw.GlyphStyle{Color: teal, Radius: 2.8, Shape: draw.PyramidGlyph{}}},
		{"reported by the engine", reported, line(blue, 1.8), draw.GlyphStyle{Color: blue, Radius: 2.8, Shape: draw.CircleGlyph{}}},
	} {
		drawn := false
		for _, run := range runs(s.windows, size/unit.size) {
			l, marks, err := plotter.NewLinePoints(run)
			if err != nil {
				return nil, err
			}
			l.LineStyle, marks.GlyphStyle = s.line, s.mark
			p.Add(l, marks)
			drawn = true
		}
		if drawn {
			legend = append(legend, entry{text: s.text, line: &s.line, mark: &s.mark})
		} else {
			legend = append(legend, entry{text: s.text + ": not measured"})
		}
	}
	if empty(ideal) && empty(reported) && empty(theory) {
		return nil, &Absent{name, title, "neither the plan nor the engine says what could come from the cache"}
	}
	return &Chart{
		Name: name, Title: title, plot: p, legend: legend, height: height,
		Note: fmt.Sprintf("Weighted by tokens, per %s s of first tokens. Ideal as played: blocks that this run had already sent in the same tree.", short(size)),
	}, nil
}

// windowOf is the length of a window: 60 s, and shorter for short runs so that
// there is a curve to see.
func windowOf(length float64) float64 {
	for _, w := range []float64{1, 2, 5, 10, 15, 30} {
		if length/w <= 30 {
			return w
		}
	}
	return max(60, math.Ceil(length/60/300)*60) // days-long runs get longer ones
}

// share adds up a part and its whole.
type share struct{ part, whole float64 }

func (s *share) add(part, whole float64) { s.part += part; s.whole += whole }

func empty(windows []share) bool {
	for _, w := range windows {
		if w.whole > 0 {
			return false
		}
	}
	return true
}

// runs are the stretches without a window in which nothing was measured, as points
// in the middle of their windows.
func runs(windows []share, size float64) []plotter.XYs {
	var out []plotter.XYs
	var now plotter.XYs
	for i, w := range windows {
		if w.whole <= 0 {
			if len(now) > 0 {
				out, now = append(out, now), nil
			}
			continue
		}
		now = append(now, plotter.XY{X: (float64(i) + 0.5) * size, Y: 100 * w.part / w.whole})
	}
	if len(now) > 0 {
		out = append(out, now)
	}
	return out
}
