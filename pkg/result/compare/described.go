package compare

import (
	"math"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
)

// figure reads one figure of a document; false when it was not measured.
type figure struct {
	key, label, unit string
	better           Direction
	of               func(*result.Document) (float64, bool)
}

// descriptive figures gate nothing; they are of everything that a side
// measured, not of the common requests alone.
var descriptive = []figure{
	{"total_throughput", "Total throughput", "tokens/s", HigherIsBetter, perGPU("total_token_throughput")},
	{"uncached_input_throughput", "Uncached input throughput", "tokens/s", HigherIsBetter, uncachedThroughput},
	{"request_throughput", "Requests", "requests/s", HigherIsBetter, runValue("request_throughput")},
	{"interactivity_p50", "Interactivity p50", "tokens/s/user", HigherIsBetter, inverse(p50)},
	{"interactivity_p90", "Interactivity p90", "tokens/s/user", HigherIsBetter, inverse(p90)},
	{"ttft_p99", "TTFT p99", "ms", LowerIsBetter, requestStat("time_to_first_token", func(s summary.Stats) float64 { return s.P99 })},
	{"ttft_mean", "TTFT mean", "ms", LowerIsBetter, requestStat("time_to_first_token", average)},
	{"itl_p90", "ITL p90", "ms", LowerIsBetter, requestStat("inter_token_latency", p90)},
	{"request_latency_p50", "E2E p50", "ms", LowerIsBetter, requestStat("request_latency", p50)},
	{"request_latency_p90", "E2E p90", "ms", LowerIsBetter, requestStat("request_latency", p90)},
	{"isl_mean", "ISL mean", "tokens", "", requestStat("input_sequence_length", average)},
	{"osl_mean", "OSL mean", "tokens", "", requestStat("output_sequence_length", average)},
	{"cache_ideal", "Cache hit rate, ideal as played", "ratio", HigherIsBetter, share(idealShare)},
	{"cache_reported", "Cache hit rate, reported", "ratio", HigherIsBetter, share(reportedShare)},
	{"cache_counted", "Cache hit rate, counted by the engine", "ratio", HigherIsBetter, share(countedShare)},
	{"requests_in_flight", "Requests in flight", "requests", "", load},
	{"stretch_p50", "Stretch of a tree p50", "×", LowerIsBetter, session(func(s *summary.Sessions) *summary.Stats { return s.Stretch })},
	{"join_wait_p50", "Join wait p50", "ms", LowerIsBetter, session(func(s *summary.Sessions) *summary.Stats { return s.JoinWait })},
}

func p50(s summary.Stats) float64     { return s.P50 }
func p90(s summary.Stats) float64     { return s.P90 }
func average(s summary.Stats) float64 { return s.Avg }

func requestStat(key string, of func(summary.Stats) float64) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		s, ok := d.Metrics.Request[key]
		return of(s), ok
	}
}

func runValue(key string) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		v, ok := d.Metrics.Run[key]
		return v.Value, ok
	}
}

// perGPU divides by the GPUs where their number is known.
func perGPU(key string) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		v, ok := d.Metrics.Run[key]
		return v.Value / gpus(d), ok
	}
}

// inverse is interactivity: 1 over a percentile of the latency between tokens,
// so that p90 is the slow tail (spec/replay.md §7.11).
func inverse(of func(summary.Stats) float64) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		s, ok := d.Metrics.Request["inter_token_latency"]
		if !ok || of(s) <= 0 {
			return 0, false
		}
		return 1000 / of(s), true
	}
}

// uncachedThroughput is prompt tokens that the engine had to compute, per second
// (and GPU).
func uncachedThroughput(d *result.Document) (float64, bool) {
	t, ok := d.Metrics.Run["benchmark_duration"]
	prompt, known := d.Metrics.Run["total_usage_prompt_tokens"]
	if !ok || !known || t.Value <= 0 {
		return 0, false
	}
	cached, reported := d.Metrics.Run["total_usage_prompt_cache_read_tokens"]
	if off := d.Engine.PrefixCaching != nil && !*d.Engine.PrefixCaching; !reported && !off {
		return 0, false
	}
	return (prompt.Value - cached.Value) / t.Value / gpus(d), true
}

func share(of func(*result.Document) *summary.Share) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		if s := of(d); s != nil {
			return s.Rate, true
		}
		return 0, false
	}
}

func idealShare(d *result.Document) *summary.Share    { return d.Cache.IdealEnded }
func reportedShare(d *result.Document) *summary.Share { return d.Cache.Usage }
func countedShare(d *result.Document) *summary.Share {
	if d.Cache.Engine == nil {
		return nil
	}
	return d.Cache.Engine.Local
}

func load(d *result.Document) (float64, bool) {
	if w := d.Load.RequestsInFlight; w != nil {
		return w.Avg, true
	}
	return 0, false
}

func session(of func(*summary.Sessions) *summary.Stats) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		if s := of(&d.Sessions); s != nil {
			return s.P50, true
		}
		return 0, false
	}
}

// over is the mean of a figure over the runs of a side; nil when one lacks it.
func (f *figure) over(runs []*Run) *float64 {
	sum := 0.0
	for _, r := range runs {
		v, ok := f.of(r.Doc)
		if !ok {
			return nil
		}
		sum += v
	}
	return finite(sum / float64(len(runs)))
}

func described(head, base []*Run) []Finding {
	out := []Finding{}
	for _, d := range descriptive {
		f := Finding{Metric: d.key, Label: d.label, Unit: d.unit, Better: d.better, Base: d.over(base), Head: d.over(head), Verdict: NotJudged, Over: OverRun}
		switch {
		case f.Base == nil && f.Head == nil:
			continue
		case f.Unit == unitShare: // of shares, the change in points
			f.Absolute, f.Ratio = true, difference(f.Head, f.Base)
		default:
			f.Ratio = quotient(f.Head, f.Base)
		}
		out = append(out, f)
	}
	return out
}

// unitShare is the unit of shares, 0..1.
const unitShare = "ratio"

// difference is nil where it has no value.
func difference(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return finite(*a - *b)
}

// quotient is nil where it has no value.
func quotient(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	if *a == *b {
		one := 1.0
		return &one
	}
	if q := *a / *b; !math.IsNaN(q) {
		return finite(q)
	}
	return nil
}
