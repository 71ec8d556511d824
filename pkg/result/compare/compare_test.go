package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

func compared(t *testing.T, head, base []*Run, o Options) *Comparison {
	t.Helper()
	c, err := Compare(head, base, o)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := c.Encode(); err != nil {
		t.Fatal(err)
	} else if back, err := Decode(text); err != nil {
		t.Fatal(err)
	} else if diff := cmp.Diff(c, back); diff != "" {
		t.Error(diff)
	}
	return c
}

func one(r *Run) []*Run { return []*Run{r} }

func cell(t *testing.T, c *Comparison, key string) *Finding {
	t.Helper()
	for i := range c.Gated {
		if c.Gated[i].Metric == key {
			return &c.Gated[i]
		}
	}
	t.Fatalf("no cell %s", key)
	return nil
}

// A run against itself: ratio exactly 1, no change in any cell, with and without
// a noise floor and failures.
func TestSelf(t *testing.T) {
	floor := &Floor{Pool: "p", Runs: []RunRef{{}, {}, {}}, Kind: FloorKind, SchemaVersion: FloorSchemaVersion, Figures: map[string]FloorFigure{keyTTFT50: {SD: 0.01, DF: 2}}}
	for name, s := range map[string]synthetic{"clean": {selfSD: 0.1}, "failures": {failures: 0.03}, "gpus": {gpus: 8}} {
		x := s.make()
		floor.Identity = x.Doc.Identity
		for _, o := range []Options{{}, {Floor: floor}} {
			c := compared(t, one(x), one(x), o)
			if c.Verdict != NoChange {
				t.Errorf("%s: %s: %s", name, c.Verdict, c.Summary)
			}
			for _, f := range slices.Concat(c.Gated, c.Described) {
				want := 1.0
				if f.Absolute {
					want = 0
				}
				if f.Ratio == nil && f.Base != nil && *f.Base == 0 {
					continue
				}
				if f.Ratio == nil || *f.Ratio != want || f.Gated && f.Verdict != NoChange {
					t.Errorf("%s: %+v", name, f)
				}
			}
			for _, l := range c.Layers {
				if l.Moved {
					t.Errorf("%s: %s", name, l.Text)
				}
			}
		}
	}
}

// The order of the records changes nothing, to the last digit.
func TestPermutation(t *testing.T) {
	a, b := synthetic{run: 1, selfSD: 0.1, failures: 0.02}, synthetic{run: 2, selfSD: 0.1}
	want := compared(t, one(a.make()), one(b.make()), Options{})
	for seed := range uint64(3) {
		shuffled := func(s synthetic) *Run {
			records := s.records()
			r := s.of(records)
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			return NewRun(r.Doc, slices.Values(records))
		}
		if diff := cmp.Diff(want, compared(t, one(shuffled(a)), one(shuffled(b)), Options{})); diff != "" {
			t.Fatal(diff)
		}
	}
}

// All latencies times f gives f in every latency cell.
func TestScaling(t *testing.T) {
	for _, f := range []float64{0.5, 0.9, 1.1, 3} {
		base := synthetic{run: 1, selfSD: 0.1}
		head := base
		head.scale = f
		c := compared(t, one(head.make()), one(base.make()), Options{})
		for _, key := range []string{keyTTFT50, keyTTFT90, keyITL50, keyPerTok90} {
			x := cell(t, c, key)
			if math.Abs(*x.Ratio-f) > 1e-6*f || x.Verdict != Changed {
				t.Errorf("×%g: %s %v %s", f, key, *x.Ratio, x.Verdict)
			}
			if !(*x.Low <= *x.Ratio && *x.Ratio <= *x.High) {
				t.Errorf("×%g: %s %v outside %v to %v", f, key, *x.Ratio, *x.Low, *x.High)
			}
		}
	}
}

// Over A/A pairs of clustered data with run-to-run noise, alarms stay at the
// level asked for: the bound is the 99.9 % point of a binomial of 5 %.
func TestAlarmsStayNominal(t *testing.T) {
	n, limit := 100, 13
	if testing.Short() {
		n, limit = 40, 8
	}
	work := synthetic{runSD: 0.02, selfSD: 0.15}
	var repeats []*Run
	for i := range 10 {
		s := work
		s.run = 10_000 + uint64(i)
		repeats = append(repeats, s.make())
	}
	floor, err := NewFloor(repeats, "pool")
	if err != nil {
		t.Fatal(err)
	}
	alarms := 0
	for i := range n {
		a, b := work, work
		a.run, b.run = uint64(2*i+1), uint64(2*i+2)
		x, y := one(a.make()), one(b.make())
		c, err := Compare(x, y, Options{Floor: floor})
		if err != nil {
			t.Fatal(err)
		}
		if c.Verdict != NoChange {
			alarms++
		}
	}
	t.Logf("%d alarms in %d pairs", alarms, n)
	if alarms > limit {
		t.Errorf("%d alarms in %d pairs, want at most %d", alarms, n, limit)
	}
}

// With a floor a change is called by its name; repeats do as well.
func TestRegressionAndImprovement(t *testing.T) {
	work := synthetic{runSD: 0.005, selfSD: 0.05}
	many := func(from uint64, n int, scale float64) (out []*Run) {
		for i := range n {
			s := work
			s.run, s.scale = from+uint64(i), scale
			out = append(out, s.make())
		}
		return out
	}
	floor, err := NewFloor(many(100, 10, 1), "pool")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		head, base []*Run
		o          Options
		want       Verdict
	}{
		{many(1, 1, 1.2), many(2, 1, 1), Options{Floor: floor}, Regression},
		{many(1, 1, 0.8), many(2, 1, 1), Options{Floor: floor}, Improvement},
		{many(1, 1, 1.2), many(2, 1, 1), Options{}, Changed},
		{many(1, 4, 1.2), many(20, 4, 1), Options{}, Regression},
		{many(1, 4, 0.8), many(20, 4, 1), Options{Floor: floor}, Improvement},
		{many(1, 4, 1), many(20, 4, 1), Options{}, NoChange},
		{many(1, 1, 1.2), many(2, 1, 1), Options{Floor: floor, Thresholds: map[string]float64{keyTTFT50: 0.5, keyTTFT90: 0.5, keyITL50: 0.5, keyPerTok90: 0.5, keyThroughput: 0.5}}, NoChange},
	} {
		got := compared(t, c.head, c.base, c.o)
		if got.Verdict != c.want {
			t.Errorf("%s, want %s: %s", got.Verdict, c.want, got.Summary)
		}
	}
}

func TestIdentityFirst(t *testing.T) {
	base := synthetic{run: 1}.make()
	for _, key := range []string{"corpus", "seed", "scenario_version", "history", "engine_args"} {
		head := synthetic{run: 2, identity: map[string]string{key: "other"}}.make()
		c := compared(t, one(head), one(base), Options{})
		if c.Verdict != Refused || len(c.Gated) > 0 || len(c.Refused) != 1 || c.Refused[0].Key != key || !strings.Contains(c.Summary, key) {
			t.Errorf("%s: %s %+v", key, c.Summary, c.Refused)
		}
		c = compared(t, one(head), one(base), Options{AllowMismatch: []string{key}})
		if c.Verdict == Refused || len(c.Allowed) != 1 || !strings.Contains(c.Summary, "different "+key+", as allowed") {
			t.Errorf("%s allowed: %s %+v", key, c.Summary, c.Allowed)
		}
		c = compared(t, one(head), one(base), Options{Axis: []string{key}})
		if c.Verdict == Refused || len(c.Axis) != 1 || len(c.Allowed) > 0 {
			t.Errorf("%s as axis: %s %+v", key, c.Summary, c.Axis)
		}
	}
	version := synthetic{run: 2, identity: map[string]string{"engine_version": "2"}}.make()
	if c := compared(t, one(version), one(base), Options{}); c.Verdict == Refused || len(c.Axis) != 1 {
		t.Errorf("engine version: %s", c.Summary)
	}
	if c := compared(t, []*Run{base, version}, one(base), Options{}); c.Verdict != Refused || c.Refused[0].Key != "repeat.engine_version" {
		t.Errorf("unlike repeats: %s %+v", c.Summary, c.Refused)
	}
	floor, err := NewFloor([]*Run{synthetic{run: 3}.make(), synthetic{run: 4}.make(), synthetic{run: 5}.make()}, "p")
	if err != nil {
		t.Fatal(err)
	}
	floor.Identity = result.NewIdentity(map[string]string{"corpus": "other"})
	if c := compared(t, one(base), one(base), Options{Floor: floor}); c.Verdict != Refused || c.Refused[0].Key != "floor.corpus" {
		t.Errorf("floor of another corpus: %s %+v", c.Summary, c.Refused)
	}
}

func TestTooFewTraces(t *testing.T) {
	a, b := synthetic{run: 1, traces: 9}.make(), synthetic{run: 2, traces: 9, scale: 2}.make()
	c := compared(t, one(b), one(a), Options{})
	if c.Verdict != NotEnough || !strings.HasPrefix(c.Summary, "Not enough data") {
		t.Errorf("%s: %s", c.Verdict, c.Summary)
	}
	for _, f := range c.Gated {
		if f.Verdict != NotEnough {
			t.Errorf("%+v", f)
		}
	}
}

// A run can't get faster by failing: the head's failures are infinitely slow.
func TestFailuresCount(t *testing.T) {
	base := synthetic{run: 1}.make()
	for _, c := range []struct {
		share float64
		key   string
		ratio bool
	}{{0.06, keyErrors, true}, {0.3, keyTTFT90, false}, {0.7, keyTTFT50, false}} {
		got := compared(t, one(synthetic{run: 2, failures: c.share}.make()), one(base), Options{})
		f := cell(t, got, c.key)
		if f.Verdict != Changed || (f.Ratio != nil) != c.ratio {
			t.Errorf("%g failing: %+v", c.share, f)
		}
		if got.Layers[0].Name != LayerErrors || !got.Layers[0].Moved {
			t.Errorf("%g failing: %+v", c.share, got.Layers[0])
		}
	}
	both := compared(t, one(synthetic{run: 2, failures: 0.3}.make()), one(synthetic{run: 3, failures: 0.3}.make()), Options{})
	if f := cell(t, both, keyTTFT90); f.Verdict != NotEnough || !strings.Contains(f.Note, "both sides") {
		t.Errorf("failures on both sides: %+v", f)
	}
}

func TestEveryRequestFailed(t *testing.T) {
	good, bad := synthetic{run: 1}.make(), synthetic{run: 2, failures: 1}.make()
	for _, c := range []struct {
		head, base *Run
		want       string
	}{{bad, good, "head"}, {good, bad, "base"}} {
		got := compared(t, one(c.head), one(c.base), Options{})
		if got.Failed() != c.want || !strings.Contains(got.Summary, fmt.Sprintf("Every one of the %s's 400 requests failed", c.want)) {
			t.Errorf("%s: %q %s", c.want, got.Failed(), got.Summary)
		}
	}
}

// Pairing by hand: two traces of three turns.
func TestPairing(t *testing.T) {
	s := synthetic{traces: 2, turns: 3, lanes: 1}
	change := func(f func(i int, r *record.Record) bool) *Run {
		var kept []*record.Record
		for i, r := range s.records() {
			if f(i, r) {
				kept = append(kept, r)
			}
		}
		return s.of(kept)
	}
	fail := func(r *record.Record) { r.Seen = record.Seen{Outcome: record.Failed, Sent: r.Seen.Sent} }
	head := change(func(i int, r *record.Record) bool {
		switch i {
		case 0:
			r.Seen.Outcome = record.Censored
		case 1, 2:
			fail(r)
		}
		return i != 5
	})
	base := change(func(i int, r *record.Record) bool {
		if i == 2 || i == 3 {
			fail(r)
		}
		return true
	})
	got := pair(one(head), one(base)).Pairing
	want := Pairing{Pairs: 1, BaseOnly: 2, HeadFailed: 1, BaseFailed: 1, BothFailed: 1, Coverage: 1.0 / 6, RootTraces: 1, EffectiveN: 1, LargestPart: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Quantiles drawn with weights are those of the values written out.
func TestWeightedQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		draws := make([]int32, 1+r.IntN(5))
		for i := range draws {
			draws[i] = int32(r.IntN(4))
		}
		var vs []value
		var out []float64
		for range 1 + r.IntN(30) {
			v := value{float64(r.IntN(20)), int32(r.IntN(len(draws)))}
			vs = append(vs, v)
			for range draws[v.cluster] {
				out = append(out, v.v)
			}
		}
		slices.Sort(out)
		var got [3]float64
		qs := []float64{0, 0.5, 0.9}
		quantiles(sorted(vs), draws, false, qs, got[:])
		for i, q := range qs {
			want := math.NaN()
			if n := len(out); n > 0 {
				pos := q * float64(n-1)
				k := int(pos)
				want = out[k] + (pos-float64(k))*(out[min(k+1, n-1)]-out[k])
			}
			if math.IsNaN(want) != math.IsNaN(got[i]) || math.Abs(want-got[i]) > 1e-9 {
				t.Fatalf("q %g of %v: %g, want %g", q, out, got[i], want)
			}
		}
	}
}

func TestFloorRefuses(t *testing.T) {
	a, b, c := synthetic{run: 1}.make(), synthetic{run: 2}.make(), synthetic{run: 3}.make()
	for want, runs := range map[string][]*Run{
		"at least 3":           {a, b},
		"the same run":         {a, b, a},
		"corpus differs":       {a, b, synthetic{run: 4, identity: map[string]string{"corpus": "d"}}.make()},
		"every request failed": {a, b, synthetic{run: 4, failures: 1}.make()},
	} {
		if _, err := NewFloor(runs, "p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	f, err := NewFloor([]*Run{a, b, c}, "p")
	if err != nil {
		t.Fatal(err)
	}
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeFloor(text)
	if err != nil {
		t.Fatal(err)
	}
	d1, _ := f.Digest()
	d2, _ := back.Digest()
	if d1 != d2 {
		t.Error("the digest changes on the way through a file")
	}
}

// The floor of a plain figure is the sample standard deviation.
func TestFloorIsTheSampleSD(t *testing.T) {
	var runs []*Run
	var logs []float64
	for i := range 6 {
		s := synthetic{run: uint64(i + 1), runSD: 0.05}
		runs = append(runs, s.make())
		logs = append(logs, math.Log(runs[i].Doc.Metrics.Request["inter_token_latency"].P50))
	}
	f, err := NewFloor(runs, "p")
	if err != nil {
		t.Fatal(err)
	}
	sum, squares := 0.0, 0.0
	for _, v := range logs {
		sum += v / 6
	}
	for _, v := range logs {
		squares += (v - sum) * (v - sum)
	}
	if got, want := f.Figures[keyITL50].SD, math.Sqrt(squares/5); math.Abs(got-want) > 1e-9 || f.Figures[keyITL50].DF != 5 {
		t.Errorf("%+v, want %g", f.Figures[keyITL50], want)
	}
}
