package summary

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

// fixedRecord is a request of the baseline, with times in ms.
func fixedRecord(num int, issued, first, last record.Stamp, in, out int64, gaps ...int64) *record.Record {
	const ms = 1e6
	r := &record.Record{
		Asked: record.Asked{Num: num, Turn: num, Phase: record.PhaseProfiling, Kind: record.KindFixed, Issued: issued * ms, Ready: issued * ms, RecordedIn: int(in)},
		Seen: record.Seen{Outcome: record.OK, Sent: issued * ms, FirstToken: first * ms, LastToken: last * ms, End: last * ms,
			Chunks: len(gaps) + 1, Usage: &record.Usage{PromptTokens: &in, CompletionTokens: &out}},
	}
	for _, g := range gaps {
		r.Seen.ChunkGapsNs = append(r.Seen.ChunkGapsNs, g*ms)
	}
	return r
}

// baseline is four requests under a cap of two: three that end well and one that fails.
func baseline(opt Options) *Figures {
	failed := fixedRecord(3, 2000, 0, 0, 400, 0)
	failed.Seen = record.Seen{Outcome: record.Failed, Sent: failed.Seen.Sent, End: 2500e6, Error: &record.Error{Code: 500, Type: "http_500"}}
	warm := fixedRecord(9, 100, 150, 200, 50, 2, 50)
	warm.Asked.Phase = record.PhaseWarmup
	b := New(opt)
	for _, r := range []*record.Record{
		failed, warm,
		fixedRecord(2, 1500, 1750, 2750, 300, 2, 1000),
		fixedRecord(0, 1000, 1100, 1500, 100, 5, 100, 100, 100, 100),
		fixedRecord(1, 1000, 1200, 2000, 200, 3, 400, 400),
	} {
		b.Record(r)
	}
	return b.Figures()
}

func TestFixedFigures(t *testing.T) {
	f := baseline(Options{ProfilingStart: 1000e6, ProfilingEnd: 3000e6, GPUs: 2, Fixed: &FixedOptions{ISL: 400, OSL: 5, Concurrency: 2}}).Fixed
	if f == nil || f.Steady == nil {
		t.Fatalf("%+v", f)
	}
	if f.ISL != 400 || f.OSL != 5 || f.MaxConcurrency != 2 || f.NumPrompts != 4 {
		t.Errorf("%+v", f)
	}
	if d := cmp.Diff([][]int64{{100, 200, 300, 400}, {5, 3, 2, 0}}, [][]int64{f.InputLens, f.OutputLens}); d != "" {
		t.Error(d)
	}
	// TTFT 100, 200, 250; TPOT 400/4, 800/2, 1000/1; gaps 4 × 100, 2 × 400, 1000;
	// latency 500, 1000, 1250 ms; the window ends with the last request, after 1.75 s.
	check(t, "raw", f.Raw, map[string]float64{
		"completed": 3, "total_input_tokens": 600, "total_output_tokens": 10, "duration": 1.75,
		"request_throughput": 3 / 1.75, "output_throughput": 10 / 1.75, "total_token_throughput": 610 / 1.75,
		"mean_ttft_ms": 550.0 / 3, "median_ttft_ms": 200, "p90_ttft_ms": 240, "p99_ttft_ms": 249, "p99.9_ttft_ms": 249.9,
		"std_ttft_ms":  math.Sqrt((83.0*83 + 2*83/3.0 + 1.0/9 + 16.0*16 + 2*16*2/3.0 + 4.0/9 + 66.0*66 + 2*66*2/3.0 + 4.0/9) / 3),
		"mean_tpot_ms": 500, "median_tpot_ms": 400, "p90_tpot_ms": 880, "p99_tpot_ms": 988, "p99.9_tpot_ms": 998.8, "std_tpot_ms": math.Sqrt(420000.0 / 3),
		"mean_itl_ms": 2200.0 / 7, "median_itl_ms": 100, "p90_itl_ms": 640, "p99_itl_ms": 964, "p99.9_itl_ms": 996.4,
		"mean_e2el_ms": 2750.0 / 3, "median_e2el_ms": 1000, "p90_e2el_ms": 1200, "p99_e2el_ms": 1245, "p99.9_e2el_ms": 1249.5,
	})
	check(t, "aggregated", f.Aggregated, map[string]float64{
		"num_gpus": 2, "tput_per_gpu": 610 / 1.75 / 2, "output_tput_per_gpu": 10 / 1.75 / 2, "input_tput_per_gpu": 600 / 1.75 / 2,
		"median_ttft": 0.2, "p99.9_e2el": 1.2495, "mean_tpot": 0.5,
		"mean_intvty": 2, "median_intvty": 2.5, "p90_intvty": 1000 / 880.0, "p99.9_intvty": 1000 / 998.8, "std_intvty": 1000 / math.Sqrt(140000),
	})

	// Full from 1 s on; the last request is issued at 2 s. The third has a quarter of
	// its output before that. The first two lie wholly inside.
	s := f.Steady
	if s.From != 1000e6 || s.To != 2000e6 {
		t.Errorf("steady from %d to %d", s.From, s.To)
	}
	check(t, "steady", s.Raw, map[string]float64{
		"completed": 2, "duration": 1, "total_input_tokens": 600, "total_output_tokens": 8.5,
		"request_throughput": 2, "output_throughput": 8.5, "total_token_throughput": 608.5,
		"median_ttft_ms": 150, "mean_tpot_ms": 250, "median_itl_ms": 100, "mean_e2el_ms": 750,
	})
	check(t, "steady", s.Aggregated, map[string]float64{"output_tput_per_gpu": 4.25, "mean_intvty": 4})
}

func check(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || math.Abs(g-v) > 1e-9*max(1, math.Abs(v)) {
			t.Errorf("%s %s: got %v (%v), want %v", what, k, g, ok, v)
		}
	}
}

// TestFixedAbsent: what was not measured has no figure.
func TestFixedAbsent(t *testing.T) {
	if f := baseline(Options{}); f.Fixed != nil {
		t.Error("an agentic run has figures of the baseline")
	}
	f := baseline(Options{Fixed: &FixedOptions{ISL: 400, OSL: 5, Concurrency: 3}})
	if f.Fixed.Steady != nil {
		t.Error("the cap of 3 was never full")
	}
	if _, ok := f.Fixed.Aggregated["tput_per_gpu"]; ok {
		t.Error("throughput per GPU without GPUs")
	}
	if n := f.Sessions.EffectiveRoots; n != nil {
		t.Errorf("%v root traces in a run without any", *n)
	}
	if f.Tokens.MissingCached != 0 {
		t.Error("the baseline misses cached tokens")
	}
	b := New(Options{Fixed: &FixedOptions{ISL: 4, OSL: 1, Concurrency: 1}})
	b.Record(fixedRecord(0, 1000, 1100, 1100, 4, 1))
	raw := b.Figures().Fixed.Raw
	if _, ok := raw["mean_tpot_ms"]; ok {
		t.Error("one token has no time per output token")
	}
	if raw["mean_ttft_ms"] != 100 {
		t.Error(raw)
	}
	if f := New(Options{Fixed: &FixedOptions{}}).Figures().Fixed; f.Raw["completed"] != 0 || len(f.Raw) != 3 || f.InputLens == nil {
		t.Errorf("nothing sent: %+v", f)
	}
}

// TestManyGaps: a pool that became a histogram keeps its percentiles within its precision.
func TestManyGaps(t *testing.T) {
	var few, many pool
	for i := range int64(2 * exactSamples) {
		many.add(1e6 + i%1000*1e4)
		if i < 1000 {
			few.add(1e6 + i%1000*1e4)
		}
	}
	a, b := map[string]float64{}, map[string]float64{}
	putGaps(a, "itl_ms", &few)
	putGaps(b, "itl_ms", &many)
	for k, v := range a {
		if math.Abs(b[k]-v) > 0.005*v {
			t.Errorf("%s: %v exactly, %v from the histogram", k, v, b[k])
		}
	}
	if len(b) != 6 {
		t.Error(b)
	}
}
