package chart

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"gonum.org/v1/plot/plotter"

	"github.com/org/agentx-action/pkg/result/record"
)

// bins is how many points a curve in time has at most; each shows the highest
// value in it, so that no burst is lost.
const bins = 600

// InFlight shows requests in flight and live trees over time. Fan-out bursts are
// where the requests of children rise.
func InFlight(e *Evidence) (*Chart, error) {
	const name, title = "in_flight", "Requests in flight and live trees"
	if len(e.requests) == 0 {
		return nil, &Absent{name, title, "no request of the measured phase was sent"}
	}
	from, to := e.window()
	if to <= from {
		return nil, &Absent{name, title, "the measured phase has no length"}
	}
	unit := clockOf(since(to, from))
	p := newPlot(unit.label(), "at once")
	p.Y.Min, p.X.Min, p.X.Max = 0, 0, since(to, from)/unit.size
	p.Y.Tick.Marker = ticks{whole: true}

	all := peaks(spansOf(e.requests, nil), from, to)
	children := peaks(spansOf(e.requests, func(q request) bool { return q.child }), from, to)
	trees := peaks(e.treeSpans(to), from, to)

	var legend []entry
	p.Y.Max = float64(max(1, slices.Max(all), slices.Max(trees))) * 1.05
	add := func(text string, curve []int, s entry) error {
		points := steps(curve, since(to, from)/unit.size)
		l, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		l.StepStyle = plotter.PostStep
		l.FillColor = s.area
		if s.line != nil {
			l.LineStyle = *s.line
		} else {
			l.Width = 0
		}
		p.Add(l)
		s.text = fmt.Sprintf("%s (peak %d)", text, slices.Max(curve))
		legend = append(legend, s)
		return nil
	}
	solid, of, dash := line(blue, 1.3), line(orange, 1), line(teal, 1.5, dashed...)
	if err := add("requests in flight", all, entry{line: &solid, area: faint(blue, 0x28)}); err != nil {
		return nil, err
	}
	if slices.Max(children) > 0 {
		if err := add("of them of child streams: fan-out", children, entry{line: &of, area: faint(orange, 0x60)}); err != nil {
			return nil, err
		}
	}
	if len(e.trees) > 0 {
		if err := add("live trees", trees, entry{line: &dash}); err != nil {
			return nil, err
		}
	}
	return &Chart{
		Name: name, Title: title, plot: p, legend: legend, height: height,
		Note: fmt.Sprintf("Each point is the highest value within %s s.", short(since(to, from)/bins)),
	}, nil
}

type span struct{ from, to record.Stamp }

func spansOf(requests []request, keep func(request) bool) []span {
	var out []span
	for _, q := range requests {
		if keep == nil || keep(q) {
			out = append(out, span{q.sent, q.end})
		}
	}
	return out
}

// treeSpans are the lives of trees; one that the run cut lives to its end.
func (e *Evidence) treeSpans(end record.Stamp) []span {
	out := make([]span, 0, len(e.trees))
	for _, t := range e.trees {
		to := t.end
		if !to.Seen() {
			to = end
		}
		out = append(out, span{t.start, max(to, t.start)})
	}
	return out
}

// peaks gives the most spans alive at once in each bin of the window.
func peaks(spans []span, from, to record.Stamp) []int {
	type change struct {
		at record.Stamp
		by int
	}
	changes := make([]change, 0, 2*len(spans))
	for _, s := range spans {
		if s.to > from && s.from < to && s.to > s.from {
			changes = append(changes, change{max(s.from, from), 1}, change{min(s.to, to), -1})
		}
	}
	// An end before a start at the same time: those two were never alive together.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	out := make([]int, bins)
	bin := func(at record.Stamp) int {
		high, low := bits.Mul64(uint64(at-from), bins)
		n, _ := bits.Div64(high, low, uint64(to-from))
		return int(n)
	}
	now, since := 0, from
	for _, c := range changes {
		if c.at > since { // the state lasted from then until just before
			for b := bin(since); b <= bin(c.at-1); b++ {
				out[b] = max(out[b], now)
			}
			since = c.at
		}
		now += c.by
	}
	return out
}

// steps are the corners of a curve of bins.
func steps(curve []int, length float64) plotter.XYs {
	var out plotter.XYs
	for i, v := range curve {
		if i == 0 || v != curve[i-1] {
			out = append(out, plotter.XY{X: length * float64(i) / float64(len(curve)), Y: float64(v)})
		}
	}
	return append(out, plotter.XY{X: length, Y: float64(curve[len(curve)-1])})
}
