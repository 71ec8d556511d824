package chart

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/org/agentx-action/pkg/result/summary"
)

// TurnDepth shows the time to first token by the index of the turn in its stream;
// base may be empty. What grows to the right is the cost of long contexts.
func TurnDepth(head, base []summary.TurnBucket) (*Chart, error) {
	const name, title = "ttft_by_turn", "Time to first token by turn depth"
	if !slices.ContainsFunc(head, func(b summary.TurnBucket) bool { return b.TTFT != nil }) {
		return nil, &Absent{name, title, "no turn has a time to first token"}
	}
	low, high := math.Inf(1), 0.0
	at := map[string]float64{} // place on the axis
	var names []string
	for _, b := range slices.Concat(head, base) {
		if b.TTFT == nil {
			continue
		}
		low, high = min(low, b.TTFT.P50), max(high, b.TTFT.P90)
		if _, known := at[bucket(b)]; !known {
			at[bucket(b)] = float64(len(names))
			names = append(names, bucket(b))
		}
	}
	p := newPlot("turn in its stream (0 is the first)", "TTFT (s)")
	p.X.Tick.Marker = nominal(names)
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
	p.Y.Min, p.Y.Max = 0, high/1e3*1.08
	if low > 0 && high/low > 30 {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		p.Y.Min, p.Y.Max = decade(low/1e3, math.Floor), decade(high/1e3, math.Ceil)
		p.Y.Label.Text = "TTFT (s), logarithmic"
	}
	var legend []entry
	for _, s := range []struct {
		text    string
		buckets []summary.TurnBucket
		of      func(*summary.Stats) float64
		line    draw.LineStyle
		mark    draw.GlyphStyle
	}{
		{"p90", head, func(s *summary.Stats) float64 { return s.P90 }, line(orange, 1.5), draw.GlyphStyle{Color: orange, Radius: 3.2, Shape: draw.PyramidGlyph{}}},
		{"p50", head, func(s *summary.Stats) float64 { return s.P50 }, line(blue, 1.5), draw.GlyphStyle{Color: blue, Radius: 3, Shape: draw.CircleGlyph{}}},
		{"base p90", base, func(s *summary.Stats) float64 { return s.P90 }, line(orange, 1, dashed...), draw.GlyphStyle{Color: orange, Radius: 3, Shape: draw.TriangleGlyph{}}},
		{"base p50", base, func(s *summary.Stats) float64 { return s.P50 }, line(blue, 1, dashed...), draw.GlyphStyle{Color: blue, Radius: 3, Shape: draw.RingGlyph{}}},
	} {
		var points plotter.XYs
		for _, b := range s.buckets {
			if b.TTFT != nil {
				points = append(points, plotter.XY{X: at[bucket(b)], Y: s.of(b.TTFT) / 1e3})
			}
		}
		if len(points) == 0 {
			continue
		}
		l, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		l.LineStyle, marks.GlyphStyle = s.line, s.mark
		p.Add(l, marks)
		legend = append(legend, entry{text: s.text, line: &s.line, mark: &s.mark})
	}
	return &Chart{
		Name: name, Title: title, plot: p, legend: legend, height: height,
		Note: "Successful requests of the measured phase; later turns have longer contexts, most of which a prefix cache should hold.",
	}, nil
}

func bucket(b summary.TurnBucket) string {
	if b.From == b.To {
		return fmt.Sprint(b.From)
	}
	return fmt.Sprintf("%d–%d", b.From, b.To)
}

// decade rounds to a power of ten.
func decade(v float64, round func(float64) float64) float64 {
	return math.Pow(10, round(math.Log10(v)))
}

// nominal are ticks with names.
func nominal(names []string) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(names))
	for i, n := range names {
		out[i] = plot.Tick{Value: float64(i), Label: n}
	}
	return out
}

// logTicks are at powers of ten, with small ones between.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(low, high float64) []plot.Tick {
	list := plot.LogTicks{Prec: -1}.Ticks(low, high)
	for i := range list {
		if !list[i].IsMinor() {
			list[i].Label = short(list[i].Value)
		}
	}
	return list
}
