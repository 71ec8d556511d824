package compare

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/validity"
)

// doubled is a direction in words on top of one by sign, as in "-4.9 % slower".
var doubled = regexp.MustCompile(`[-+−][0-9.]+ (%|points) (worse|better|slower|faster|lower|higher)|(worse|better) by [-+−]|-0(\.0+)? `)

// sentences are all words of a comparison.
func sentences(c *Comparison) []string {
	out := append([]string{c.Summary}, c.Notes...)
	for _, l := range c.Layers {
		out = append(out, l.Name+" "+l.Text)
	}
	for _, f := range slices.Concat(c.Gated, c.Described) {
		out = append(out, f.Note)
	}
	for _, a := range slices.Concat(c.HeadAgainstFixed, c.BaseAgainstFixed) {
		out = append(out, a.Note)
	}
	return out
}

func layerOf(t *testing.T, c *Comparison, name string) *Layer {
	t.Helper()
	for i := range c.Layers {
		if c.Layers[i].Name == name {
			return &c.Layers[i]
		}
	}
	t.Fatalf("no layer %s", name)
	return nil
}

// What moved says by how much and which way; what did not, how small a change
// would have been seen; rates go by points, the rest by percent.
func TestWords(t *testing.T) {
	floor := floorOf(t)
	base := synthetic{run: 1, selfSD: 0.02}
	with := func(change func(*synthetic)) *Run {
		s := synthetic{run: 2, selfSD: 0.02}
		change(&s)
		return s.make()
	}
	for name, c := range map[string]struct {
		head    *Run
		o       Options
		layer   string
		text    string // of the layer, a pattern
		summary string // a pattern
	}{
		"slower": {with(func(s *synthetic) { s.scale = 1.3 }), Options{Floor: floor}, LayerDecode,
			`^got worse by \d+\.\d % \(\d+\.\d to \d+\.\d\): time per output token after the first, over 400 paired requests$`,
			`^TTFT p50 \+\d+\.\d % \(regression\);.* \(regression\)\. Likeliest layer: (prefill|decode), worse by \d+\.\d %\.$`},
		"faster": {with(func(s *synthetic) { s.scale = 0.8 }), Options{Floor: floor}, LayerDecode,
			`^got better by \d+\.\d % \(\d+\.\d to \d+\.\d\):`, `^TTFT p50 -\d+\.\d % \(improvement\);.* Likeliest layer: \w+, better by \d+\.\d %\.$`},
		"the same": {with(func(s *synthetic) {}), Options{Floor: floor}, LayerDecode,
			`^no move seen \([-+]?[\d.]+ %, -[\d.]+ to \+[\d.]+; a change of [\d.]+ % would have been seen\): `, `^No change seen in any of 6 gated figures over 400 paired requests\.$`},
		"failing": {with(func(s *synthetic) { s.failures = 0.2 }), Options{Floor: floor}, LayerErrors,
			`^got worse by \d+\.\d points \(\d+\.\d to \d+\.\d\): error rate, over 400 paired requests$`, `Error rate \+\d+\.\d points \(regression\).* Likeliest layer: errors, worse by \d+\.\d points\.$`},
		"no failures": {with(func(s *synthetic) {}), Options{Floor: floor}, LayerErrors,
			`^no move seen \(0 points, -[\d.]+ to \+[\d.]+; a change of [\d.]+ points would have been seen\): error rate`, `.`},
		"one run": {with(func(s *synthetic) { s.scale = 1.3 }), Options{}, LayerDecode, `^got worse by`,
			`^TTFT p50 \+\d+\.\d % \(changed for the worse\);.* \(changed for the worse\)\..* this is no regression yet\.$`},
		"nothing judged but a layer": {with(func(s *synthetic) { s.scale = 1.3 }),
			Options{Floor: floor, Thresholds: map[string]float64{keyTTFT50: 9, keyTTFT90: 9, keyITL50: 9, keyPerTok90: 9, keyThroughput: 9}}, LayerDecode, `^got worse by`,
			`^No change seen in any of 6 gated figures over 400 paired requests; what did move, though it gates nothing: (prefill|decode) \(worse by [\d.]+ %\), `},
		"kernel": {with(func(s *synthetic) { s.scale = 1.3 }), fixedRuns(floor, 400), LayerKernel,
			`^got worse by 20\.0 %: output throughput of the fixed-length baseline, which has no noise floor of its own; it points to kernel or chip$`,
			`; the fixed-length baseline moved too, worse by 20\.0 %: kernel or chip\.$`},
		"kernel, faster": {with(func(s *synthetic) { s.scale = 0.8 }), fixedRuns(floor, 600), LayerKernel,
			`^got better by 20\.0 %: `, `moved too, better by 20\.0 %: kernel or chip\.$`},
		"serving": {with(func(s *synthetic) { s.scale = 1.3 }), fixedRuns(floor, 520), LayerServing,
			`^the fixed-length baseline did not move \(output throughput \+4\.0 %; from 5\.0 % it counts\), which points to the serving system, not to kernel or chip$`,
			`; the fixed-length baseline did not move: the serving system\.$`},
		"neither": {with(func(s *synthetic) {}), fixedRuns(floor, 480), LayerKernel,
			`^the fixed-length baseline did not move \(output throughput -4\.0 %; from 5\.0 % it counts\)$`, `^No change seen in any of 6 gated figures over 400 paired requests\.$`},
	} {
		t.Run(name, func(t *testing.T) {
			got := compared(t, one(c.head), one(base.make()), c.o)
			l := layerOf(t, got, c.layer)
			if !regexp.MustCompile(c.text).MatchString(l.Text) {
				t.Errorf("%s: %q", l.Name, l.Text)
			}
			if !regexp.MustCompile(c.summary).MatchString(got.Summary) {
				t.Errorf("summary: %q", got.Summary)
			}
			for _, s := range sentences(got) {
				if doubled.MatchString(s) {
					t.Errorf("two signs for one direction: %q", s)
				}
			}
			if l.Absolute != (l.Name == LayerErrors) || l.Name == LayerServing && l.WorseBy != nil {
				t.Errorf("%+v", l)
			}
		})
	}
}

func TestDoubledSeesOne(t *testing.T) {
	for text, want := range map[string]bool{"-4.9 % slower": true, "+3.3 % slower": true, "worse by -2.0 %": true, "changed -0.0 % of": true, "-0.5 %, -2.0 to": false, "worse by 4.9 %": false} {
		if doubled.MatchString(text) != want {
			t.Errorf("%q", text)
		}
	}
}

// floorOf is the noise of ten repeats.
func floorOf(t *testing.T) *Floor {
	t.Helper()
	var runs []*Run
	for i := range uint64(10) {
		runs = append(runs, synthetic{run: 1000 + i, selfSD: 0.02, runSD: 0.005}.make())
	}
	f, err := NewFloor(runs, "pool")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fixedRuns adds baselines of which the head's yields that much, the base's 500.
func fixedRuns(f *Floor, head float64) Options {
	return Options{Floor: f, HeadFixed: []*result.Document{point(8, 8, head, 10)}, BaseFixed: []*result.Document{point(8, 8, 500, 10)}}
}

// Every figure says which requests it is of.
func TestOver(t *testing.T) {
	c := compared(t, one(synthetic{run: 1}.make()), one(synthetic{run: 2}.make()), fixedRuns(nil, 500))
	for _, f := range c.Gated {
		if want := map[bool]Over{true: OverRun, false: OverPairs}[f.Metric == keyThroughput]; f.Over != want {
			t.Errorf("%s is over %q, want %q", f.Metric, f.Over, want)
		}
	}
	for _, f := range c.Described {
		if f.Over != OverRun || (f.Unit == unitShare) != f.Absolute {
			t.Errorf("%+v", f)
		}
	}
	for _, l := range c.Layers {
		for _, n := range l.On {
			if n.Over != OverRun {
				t.Errorf("%s: %+v", l.Name, n)
			}
		}
	}
}

// A run that is not trusted names the reasons that take the trust away, those alone,
// and says so when its result has none.
func TestDistrust(t *testing.T) {
	finding := func(code string, s validity.Severity) validity.Finding {
		return validity.Finding{Code: code, Severity: s}
	}
	for want, findings := range map[string][]validity.Finding{
		"is not trusted: its result does not say why.": nil,
		"is not trusted: client_cpu, run_cancelled.": {finding("client_cpu", validity.Untrusted), finding("few_effective_roots", validity.Note),
			finding("run_cancelled", validity.Invalid), finding(validity.UnsafeOverride, validity.Invalid)},
	} {
		head := synthetic{run: 1}.make()
		head.Doc.Validity.Trusted, head.Doc.Validity.Findings = false, findings
		c := compared(t, one(head), one(synthetic{run: 2}.make()), Options{})
		if !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.HasSuffix(n, want) }) {
			t.Errorf("no note says %q: %q", want, c.Notes)
		}
	}
}

// The word for a change goes by the figure's better direction, its sign by the figure.
func TestSentence(t *testing.T) {
	for _, c := range []struct {
		f    Finding
		want string
	}{
		{Finding{Label: "Output throughput", Better: HigherIsBetter, Ratio: ptr(0.951), Verdict: Changed}, "Output throughput -4.9 % (changed for the worse)"},
		{Finding{Label: "Output throughput", Better: HigherIsBetter, Ratio: ptr(1.2), Verdict: Changed}, "Output throughput +20.0 % (changed for the better)"},
		{Finding{Label: "Error rate", Better: LowerIsBetter, Absolute: true, Ratio: ptr(-0.02), Verdict: Changed}, "Error rate -2.0 points (changed for the better)"},
		{Finding{Label: "Error rate", Better: LowerIsBetter, Absolute: true, Ratio: ptr(0.0358), Verdict: Regression}, "Error rate +3.6 points (regression)"},
		{Finding{Label: "TTFT p90", Verdict: Changed, Note: "the head's percentile lies on a failed request"}, "TTFT p90: the head's percentile lies on a failed request (changed)"},
	} {
		if got := c.f.sentence(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", math.Copysign(0, -1): "0", 0.004: "0", -0.004: "0", 0.3: "0.30", -0.3: "-0.30", 3.61: "3.6", -12.34: "-12.3", 1234.5: "1234"} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if plus(0.001) != "0" || plus(2) != "+2.0" || plus(-2) != "-2.0" {
		t.Error(plus(0.001), plus(2), plus(-2))
	}
}
