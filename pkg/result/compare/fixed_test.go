package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
)

// point is a fixed-length run with round figures.
func point(concurrency int, load, throughput, itlMs float64) *result.Document {
	isl, osl := 8192, 1024
	return &result.Document{
		Mode: result.ModeFixed, Settings: result.Settings{Concurrency: concurrency, FixedISL: &isl, FixedOSL: &osl},
		Load: summary.Load{RequestsInFlight: &summary.Weighted{Avg: load}},
		Metrics: result.Metrics{
			Run:     map[string]summary.Value{"output_token_throughput": {Value: throughput}, "benchmark_duration": {Value: 10}, "total_usage_prompt_tokens": {Value: 1000}},
			Request: map[string]summary.Stats{"inter_token_latency": {P50: itlMs, P90: 2 * itlMs}},
		},
	}
}

func findRow(t *testing.T, a *AgainstFixed, key string) *Row {
	t.Helper()
	for i := range a.Rows {
		if a.Rows[i].Metric == key {
			return &a.Rows[i]
		}
	}
	t.Fatalf("no row %s", key)
	return nil
}

func TestAgainstFixed(t *testing.T) {
	agentic := point(0, 6, 300, 10)
	agentic.Mode = result.ModeAgentic
	curve := []*result.Document{point(8, 8, 500, 12), point(4, 4, 300, 8), point(16, 16, 800, 20)}
	out := AgainstFixedRuns(agentic, curve)
	if len(out) != 1 || out[0].Shape != "8192/1024" || !out[0].Matched || out[0].FixedPoints[0] != 4 || out[0].FixedPoints[1] != 8 {
		t.Fatalf("%+v", out)
	}
	// Halfway between 4 and 8: 400 tokens/s at 10 ms.
	r := findRow(t, &out[0], "output_throughput")
	if *r.Agentic != 300 || *r.Fixed != 400 || *r.Ratio != 0.75 {
		t.Errorf("%v %v %v", *r.Agentic, *r.Fixed, *r.Ratio)
	}
	if r := findRow(t, &out[0], "itl_p90"); *r.Fixed != 20 || *r.Ratio != 1 {
		t.Errorf("%+v", r)
	}
	if *out[0].FixedLoad != 6 || *out[0].AgenticLoad != 6 {
		t.Errorf("loads %v %v", *out[0].FixedLoad, *out[0].AgenticLoad)
	}
	// 100 tokens/s/user lie between 125 (at 4) and 83.3 (at 8): 0.6 of the way, 420 tokens/s.
	if r := findRow(t, &out[0], "output_throughput_at_interactivity"); math.Abs(*r.Fixed-420) > 1e-9 {
		t.Errorf("%v", *r.Fixed)
	}
	if r := findRow(t, &out[0], "uncached_input_throughput"); r.Fixed != nil {
		t.Error("without a count of cached tokens the uncached ones are not known")
	}
	off := false
	for _, d := range curve {
		d.Engine.PrefixCaching = &off
	}
	out = AgainstFixedRuns(agentic, curve)
	if r := findRow(t, &out[0], "uncached_input_throughput"); r.Fixed == nil || *r.Fixed != 100 {
		t.Errorf("%+v", r)
	}
}

func TestAgainstFixedUnmatched(t *testing.T) {
	agentic := point(0, 6, 300, 10)
	agentic.Mode = result.ModeAgentic
	for _, c := range []struct {
		load    float64
		matched bool
	}{{6.3, true}, {6.6, true}, {6.61, false}, {20, false}} { // up to 10 % off, and it is said
		note := map[bool]string{true: "the nearest is within 10 % of it, which counts as matched", false: "no fixed-length point comes within 10 %"}[c.matched]
		out := AgainstFixedRuns(agentic, []*result.Document{point(4, c.load, 500, 8)})
		if len(out) != 1 || out[0].Matched != c.matched || !strings.Contains(out[0].Note, note) || *out[0].FixedLoad != c.load || len(out[0].FixedPoints) != 1 {
			t.Errorf("%g: %+v", c.load, out)
		}
	}
	if out := AgainstFixedRuns(agentic, []*result.Document{agentic}); len(out) != 0 {
		t.Errorf("an agentic run is no baseline: %+v", out)
	}
}

// A slower kernel shows in both; a slower serving system in the agentic run alone.
func TestKernelOrServing(t *testing.T) {
	head, base := one(synthetic{run: 1, scale: 1.3}.make()), one(synthetic{run: 1}.make())
	for want, at := range map[string]float64{LayerKernel: 380, LayerServing: 500} {
		c := compared(t, head, base, Options{HeadFixed: []*result.Document{point(8, 8, at, 10)}, BaseFixed: []*result.Document{point(8, 8, 500, 10)}})
		l := c.Layers[len(c.Layers)-1]
		if l.Name != want || !l.Moved {
			t.Errorf("%s: %+v", want, l)
		}
		if len(c.HeadAgainstFixed) != 1 || len(c.BaseAgainstFixed) != 1 {
			t.Errorf("%+v %+v", c.HeadAgainstFixed, c.BaseAgainstFixed)
		}
	}
}

// Only points of one shape, concurrency and identity are held against each other;
// what has no partner is named.
func TestFixedRunsArePaired(t *testing.T) {
	shaped := func(isl, concurrency int, throughput float64, pairs ...string) *result.Document {
		d := point(concurrency, 8, throughput, 10)
		d.Settings.FixedISL, d.Identity = &isl, identity(pairs...)
		return d
	}
	agentic := shaped(8192, 8, 1)
	agentic.Mode, agentic.RunID = result.ModeAgentic, "a"
	for name, c := range map[string]struct {
		head, base []*result.Document
		on         int
		notes      []string
	}{
		"none":                 {},
		"partners on the axis": {[]*result.Document{shaped(8192, 8, 500)}, []*result.Document{shaped(8192, 8, 500, "engine_version", "0")}, 1, nil},
		"another shape and load": {
			[]*result.Document{shaped(8192, 8, 500), shaped(1024, 8, 500), shaped(8192, 4, 300)},
			[]*result.Document{shaped(8192, 16, 900), shaped(8192, 8, 500)}, 1,
			[]string{"Fixed-length runs of the head without a partner: 1024/1024 at 8, 8192/1024 at 4.", "Fixed-length runs of the base without a partner: 8192/1024 at 16."},
		},
		"another size": {
			[]*result.Document{shaped(8192, 8, 500, "fixed_prompts", "80")}, []*result.Document{shaped(8192, 8, 250, "fixed_prompts", "40")}, 0,
			[]string{"The fixed-length runs of both sides differ in fixed_prompts and are not held against each other: 8192/1024 at 8.", "No fixed-length run of the head could be held against one of the base, so kernel and serving are not told apart."},
		},
		"one side alone": {
			nil, []*result.Document{shaped(8192, 8, 500)}, 0,
			[]string{"Fixed-length runs of the base without a partner: 8192/1024 at 8.", "No fixed-length run of the head could be held against one of the base, so kernel and serving are not told apart."},
		},
		"agentic ones": {
			[]*result.Document{agentic}, []*result.Document{agentic, shaped(8192, 8, 500)}, 0,
			[]string{"Fixed-length runs of the head without a partner: not a fixed-length run (a).", "Fixed-length runs of the base without a partner: 8192/1024 at 8, not a fixed-length run (a).", "No fixed-length run of the head could be held against one of the base, so kernel and serving are not told apart."},
		},
	} {
		got := compared(t, one(synthetic{run: 1}.make()), one(synthetic{run: 2}.make()), Options{HeadFixed: c.head, BaseFixed: c.base})
		on := 0
		if l := got.Layers[len(got.Layers)-1]; l.Name == LayerKernel {
			on = len(l.On)
		}
		if diff := cmp.Diff(c.notes, got.Notes); on != c.on || diff != "" {
			t.Errorf("%s: held against each other %d, want %d; notes %s", name, on, c.on, diff)
		}
	}
}
