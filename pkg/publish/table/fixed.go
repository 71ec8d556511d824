package table

import (
	"fmt"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
)

// fixedLength shows a run of the fixed-length baseline, by the names that vLLM's
// and InferenceX' serving benchmarks use: the whole run, and beside it the window
// in which the cap was full.
func fixedLength(p *page, d *result.Document) {
	p.section("Fixed-length run")
	f := d.Fixed
	steady := summary.FixedFigures{}
	if f.Steady != nil {
		steady = f.Steady.FixedFigures
	}
	g := grid{head: []string{fmt.Sprintf("Fixed length %d/%d", f.ISL, f.OSL), "whole run", "while full"}}
	add := func(label, key string, show func(float64) string) {
		g.rows = append(g.rows, []string{label, opt(at(f.Raw, key), show), opt(at(steady.Raw, key), show)})
	}
	add("Successful requests", "completed", exact)
	add("Duration", "duration", seconds)
	add("Input tokens", "total_input_tokens", count)
	add("Output tokens", "total_output_tokens", count)
	add("Request throughput (req/s)", "request_throughput", count)
	add("Output token throughput (tok/s)", "output_throughput", count)
	add("Total token throughput (tok/s)", "total_token_throughput", count)
	for _, r := range []struct{ label, key string }{
		{"Output throughput per GPU (tok/s)", "output_tput_per_gpu"}, {"Total throughput per GPU (tok/s)", "tput_per_gpu"},
	} {
		if _, known := f.Aggregated[r.key]; known {
			g.rows = append(g.rows, []string{r.label, opt(at(f.Aggregated, r.key), count), opt(at(steady.Aggregated, r.key), count)})
		}
	}
	if good := value(d.Metrics.Run, "goodput"); good != nil {
		g.rows = append(g.rows, []string{"Request goodput, within the SLOs (req/s)", count(*good), absent})
	}
	p.table(g)
	if f.Steady == nil {
		p.note(fmt.Sprintf("While full: %d requests were never in flight at once before the last was sent.", f.MaxConcurrency))
	} else {
		p.note(fmt.Sprintf("While full: from when %d requests were first in flight to when the last was sent, without ramp-up and tail.", f.MaxConcurrency))
	}
	fixedLatency(p, d, steady)
	p.section("Load")
	inFlight(p, d)
}

// fixedLatency shows the four latencies twice, then what there is of the whole run
// alone.
func fixedLatency(p *page, d *result.Document, steady summary.FixedFigures) {
	p.section("Latency")
	g := grid{head: []string{"Latency", "mean", "median", "std", "p90", "p99", "p99.9"}}
	row := func(label string, from map[string]float64, key string, show func(float64) string) {
		cells := []string{label}
		for _, q := range []string{"mean", "median", "std", "p90", "p99", "p99.9"} {
			cells = append(cells, opt(at(from, q+"_"+key), show))
		}
		g.rows = append(g.rows, cells)
	}
	for _, r := range []struct{ label, key string }{{"TTFT", "ttft_ms"}, {"TPOT", "tpot_ms"}, {"ITL", "itl_ms"}, {"E2EL", "e2el_ms"}} {
		row(r.label, d.Fixed.Raw, r.key, millis)
		if d.Fixed.Steady != nil {
			row(r.label+", while full", steady.Raw, r.key, millis)
		}
	}
	whole := func(label string, s *summary.Stats, show func(float64) string) {
		if s == nil {
			return
		}
		g.rows = append(g.rows, []string{label, show(s.Avg), show(s.P50), show(s.Std), show(s.P90), show(s.P99), absent})
	}
	m := d.Metrics.Request
	whole("E2EL per output token", at(m, perToken), millis)
	row("Interactivity, 1/TPOT (tok/s)", withoutStd(d.Fixed.Aggregated), "intvty", digits)
	whole("Input length, ISL (tokens)", at(m, "input_sequence_length"), count)
	whole("Output length, OSL (tokens)", at(m, "output_sequence_length"), count)
	whole("Schedule lag (client)", d.Client.ScheduleLag, millis)
	p.table(g)
	p.note("TPOT: a request's time after its first token, over its other tokens. ITL: the gaps between chunks, of all requests together. " +
		"Interactivity: TPOT turned over, so that its p90 is that of the slow requests.")
	if p.HTTP {
		phases(p, m)
	}
}

// withoutStd leaves out a spread that means nothing: that of a figure turned over.
func withoutStd(from map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for _, q := range []string{"mean", "median", "p90", "p99", "p99.9"} {
		if v, ok := from[q+"_intvty"]; ok {
			out[q+"_intvty"] = v
		}
	}
	return out
}
