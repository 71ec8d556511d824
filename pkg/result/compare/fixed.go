package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/result"
)

// rows of agentic against fixed-length load.
var rows = []figure{
	{"output_throughput", "Output throughput", "tokens/s", HigherIsBetter, perGPU("output_token_throughput")},
	{"total_throughput", "Total throughput", "tokens/s", HigherIsBetter, perGPU("total_token_throughput")},
	{"uncached_input_throughput", "Uncached input throughput", "tokens/s", HigherIsBetter, uncachedThroughput},
	{"interactivity_p50", "Interactivity p50", "tokens/s/user", HigherIsBetter, inverse(p50)},
	{"interactivity_p90", "Interactivity p90", "tokens/s/user", HigherIsBetter, inverse(p90)},
	{"ttft_p50", "TTFT p50", "ms", LowerIsBetter, requestStat("time_to_first_token", p50)},
	{"ttft_p90", "TTFT p90", "ms", LowerIsBetter, requestStat("time_to_first_token", p90)},
	{"itl_p50", "ITL p50", "ms", LowerIsBetter, requestStat("inter_token_latency", p50)},
	{"itl_p90", "ITL p90", "ms", LowerIsBetter, requestStat("inter_token_latency", p90)},
	{"e2e_per_output_token_p90", "E2E per output token p90", "ms/token", LowerIsBetter, requestStat("e2e_latency_per_output_token", p90)},
	{"cache_ideal", "Cache hit rate, ideal as played", "ratio", HigherIsBetter, share(idealShare)},
	{"cache_reported", "Cache hit rate, reported", "ratio", HigherIsBetter, share(reportedShare)},
	{"cache_counted", "Cache hit rate, counted by the engine", "ratio", HigherIsBetter, share(countedShare)},
	{"requests_in_flight", "Requests in flight", "requests", "", load},
}

// matchTolerance is how far a single fixed-length point may lie from what it is
// matched by, relative to the agentic value.
const matchTolerance = 0.10

// AgainstFixedRuns puts an agentic run beside the shapes of its fixed-length
// baseline, one entry a shape, at matched load (decisions.md 23): the fixed
// figures are interpolated over the time-weighted mean of requests in flight.
// Where the points don't enclose the agentic load the nearest one is shown; it is
// Matched up to 10 % away. Runs that are not fixed-length are left out.
func AgainstFixedRuns(agentic *result.Document, fixed []*result.Document) []AgainstFixed {
	shapes := map[string][]*result.Document{}
	for _, d := range fixed {
		if d.Mode == result.ModeFixed {
			shapes[shapeOf(d)] = append(shapes[shapeOf(d)], d)
		}
	}
	var out []AgainstFixed
	for shape, docs := range shapes {
		out = append(out, againstShape(agentic, shape, docs))
	}
	slices.SortFunc(out, func(a, b AgainstFixed) int { return cmp.Compare(a.Shape, b.Shape) })
	return out
}

func shapeOf(d *result.Document) string {
	side := func(p *int) string {
		if p == nil {
			return "?"
		}
		return fmt.Sprint(*p)
	}
	return side(d.Settings.FixedISL) + "/" + side(d.Settings.FixedOSL)
}

// blend is a point of the fixed curve: the share at of b, the rest of a.
type blend struct {
	a, b *result.Document
	at   float64 // 0..1
}

func (x blend) of(f *figure) *float64 {
	a, ok := f.of(x.a)
	if !ok {
		return nil
	}
	if x.at == 0 {
		return finite(a)
	}
	b, ok := f.of(x.b)
	if !ok {
		return nil
	}
	return finite(a + x.at*(b-a))
}

func againstShape(agentic *result.Document, shape string, docs []*result.Document) AgainstFixed {
	slices.SortStableFunc(docs, func(a, b *result.Document) int { return cmp.Compare(a.Settings.Concurrency, b.Settings.Concurrency) })
	out := AgainstFixed{Shape: shape, FixedPoints: []int{}, Rows: []Row{}}
	want, known := load(agentic)
	if known {
		out.AgenticLoad = &want
	}
	point, matched, note := match(docs, load, want, known)
	out.Matched, out.Note = matched, note
	inFlight := figure{of: load}
	out.FixedLoad = point.of(&inFlight)
	out.FixedPoints = append(out.FixedPoints, point.a.Settings.Concurrency)
	if point.at > 0 {
		out.FixedPoints = append(out.FixedPoints, point.b.Settings.Concurrency)
	}
	for i := range rows {
		f := &rows[i]
		r := Row{Metric: f.key, Label: f.label, Unit: f.unit, Better: f.better, Fixed: point.of(f)}
		if v, ok := f.of(agentic); ok {
			r.Agentic = finite(v)
		}
		if r.perGPU() && agentic.GPUs != nil && agentic.GPUs.Count > 0 {
			r.Label, r.Unit = r.Label+" per GPU", r.Unit+"/GPU"
		}
		r.Ratio = quotient(r.Agentic, r.Fixed)
		out.Rows = append(out.Rows, r)
	}
	if r, ok := atInteractivity(agentic, docs); ok {
		out.Rows = append(out.Rows, r)
	}
	return out
}

func (r *Row) perGPU() bool { return r.Unit == "tokens/s" }

// atInteractivity compares output throughput where both serve a user equally
// fast; only where the fixed curve reaches that speed.
func atInteractivity(agentic *result.Document, docs []*result.Document) (Row, bool) {
	speed := inverse(p50)
	want, known := speed(agentic)
	point, matched, _ := match(docs, speed, want, known)
	if !known || !matched || len(docs) < 2 {
		return Row{}, false
	}
	f := rows[0]
	r := Row{Metric: "output_throughput_at_interactivity", Label: "Output throughput at equal interactivity p50", Unit: f.unit, Better: f.better, Fixed: point.of(&f)}
	if agentic.GPUs != nil && agentic.GPUs.Count > 0 {
		r.Unit += "/GPU"
	}
	if v, ok := f.of(agentic); ok {
		r.Agentic = finite(v)
	}
	r.Ratio = quotient(r.Agentic, r.Fixed)
	return r, true
}

// match finds the point of the curve at which a figure has a value: between
// neighbours, or the nearest point when that is close enough.
func match(docs []*result.Document, of func(*result.Document) (float64, bool), want float64, known bool) (point blend, matched bool, note string) {
	point = blend{a: docs[0], b: docs[0]}
	if !known {
		return point, false, "the agentic load is not known"
	}
	nearest := math.Inf(1)
	var last *result.Document
	lastAt := 0.0
	for _, d := range docs {
		at, ok := of(d)
		if !ok {
			continue
		}
		if gap := math.Abs(at - want); gap < nearest {
			nearest, point = gap, blend{a: d, b: d}
		}
		if last != nil && (lastAt-want)*(at-want) <= 0 && at != lastAt {
			return blend{last, d, (want - lastAt) / (at - lastAt)}, true, ""
		}
		last, lastAt = d, at
	}
	switch {
	case math.IsInf(nearest, 1):
		return point, false, "the load of the fixed-length runs is not known"
	case nearest <= matchTolerance*want:
		return point, true, fmt.Sprintf("the fixed-length points do not enclose the agentic load; the nearest is within %.0f %% of it, which counts as matched", 100*matchTolerance)
	}
	return point, false, fmt.Sprintf("no fixed-length point comes within %.0f %% of the agentic load; the nearest is shown", 100*matchTolerance)
}
