package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/org/agentx-action/pkg/result/compare"
)

func TestComparisonGolden(t *testing.T) {
	for name, c := range map[string]*compare.Comparison{
		"regression": regression(), "nochange": noChange(), "refused": refused(), "notenough": notEnough(),
		"onerun": oneRun(), "hostile": hostile(), "zero": {},
	} {
		for _, o := range []struct {
			ending string
			Options
		}{{"txt", Options{}}, {"md", Options{Markdown: true}}, {"html", Options{HTML: true}}} {
			t.Run(name+"."+o.ending, func(t *testing.T) {
				var b strings.Builder
				if err := Comparison(&b, c, o.Options); err != nil {
					t.Fatal(err)
				}
				golden(t, "comparison_"+name+"."+o.ending, b.String())
				harmless(t, b.String(), false)
				switch {
				case o.Markdown:
					atLeastTables(t, b.String(), map[string]int{"zero": 0, "refused": 2}[name])
				case !o.HTML:
					for _, line := range strings.Split(b.String(), "\n") {
						if w := twwidth.Width(line); w > lineWidth {
							t.Errorf("%d columns: %s", w, line)
						}
					}
				}
			})
		}
	}
}

func TestAgainstFixedGolden(t *testing.T) {
	for name, o := range map[string]Options{"txt": {}, "md": {Markdown: true}} {
		var b strings.Builder
		if err := AgainstFixed(&b, againstBoth(), o); err != nil {
			t.Fatal(err)
		}
		golden(t, "fixed."+name, b.String())
	}
	var b strings.Builder
	if err := AgainstFixed(&b, nil, Options{}); err != nil || b.Len() > 0 {
		t.Errorf("no baseline: %q, %v", b.String(), err)
	}
}

func TestNoComparison(t *testing.T) {
	if err := Comparison(&strings.Builder{}, nil, Options{}); err == nil {
		t.Error("no error")
	}
	if err := Comparison(broken{}, noChange(), Options{}); err == nil {
		t.Error("the writer's error is lost")
	}
}

func TestChange(t *testing.T) {
	for _, c := range []struct {
		f    compare.Finding
		want string
	}{
		{compare.Finding{}, absent},
		{compare.Finding{Ratio: ptr(1.102), Low: ptr(1.081), High: ptr(1.124), Better: compare.LowerIsBetter}, "+10.2 % [8.1, 12.4]"},
		{compare.Finding{Ratio: ptr(1.102), Low: ptr(1.081), High: ptr(1.124), Better: compare.HigherIsBetter}, "+10.2 % [8.1, 12.4]"},
		{compare.Finding{Ratio: ptr(0.9), Better: compare.HigherIsBetter}, "-10.0 %"},
		{compare.Finding{Ratio: ptr(0.9), Low: ptr(0.88), High: ptr(0.92), Better: compare.LowerIsBetter}, "-10.0 % [-12.0, -8.0]"},
		{compare.Finding{Ratio: ptr(1.0), Low: ptr(1.0), High: ptr(1.0), Better: compare.LowerIsBetter}, "0 % [0, 0]"},
		{compare.Finding{Ratio: ptr(1.000001), Low: ptr(0.995), High: ptr(1.004), Better: compare.LowerIsBetter}, "0 % [-0.50, 0.40]"},
		{compare.Finding{Ratio: ptr(12.0), Better: compare.LowerIsBetter}, "+1100 %"},
		{compare.Finding{Ratio: ptr(0.05), Low: ptr(0.03), High: ptr(0.07), Absolute: true, Unit: "ratio", Better: compare.LowerIsBetter}, "+5.0 points [3.0, 7.0]"},
		{compare.Finding{Ratio: ptr(0.0), Absolute: true, Unit: "ratio", Better: compare.LowerIsBetter}, "0 points"},
		{compare.Finding{Ratio: ptr(12.0), Low: ptr(2.0), High: ptr(20.0), Absolute: true, Unit: "ms", Better: compare.LowerIsBetter}, "+12.0 ms [2.00 ms, 20.0 ms]"},
	} {
		c.f.Verdict = compare.Regression
		if got := change(c.f); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.f, got, c.want)
		}
	}
}

// The word goes by the figure's better direction; what a rate moved by is points.
func TestVerdictAndLeast(t *testing.T) {
	for _, c := range []struct {
		f             compare.Finding
		verdict, from string
	}{
		{compare.Finding{Verdict: compare.Changed, Ratio: ptr(0.9), Better: compare.HigherIsBetter, SmallestDetectable: ptr(0.0831)}, "changed, worse", "8.31 %"},
		{compare.Finding{Verdict: compare.Changed, Ratio: ptr(0.9), Better: compare.LowerIsBetter}, "changed, better", absent},
		{compare.Finding{Verdict: compare.Changed, Ratio: ptr(0.036), Absolute: true, Unit: "ratio", Better: compare.LowerIsBetter, SmallestDetectable: ptr(0.0162)}, "changed, worse", "1.62 points"},
		{compare.Finding{Verdict: compare.Changed, Ratio: ptr(-5.0), Absolute: true, Unit: "ms", Better: compare.LowerIsBetter, SmallestDetectable: ptr(3.0)}, "changed, better", "3.00 ms"},
		{compare.Finding{Verdict: compare.Changed, Better: compare.LowerIsBetter}, "changed", absent},
		{compare.Finding{Verdict: compare.Regression, Ratio: ptr(1.2), Better: compare.LowerIsBetter}, "regression", absent},
		{compare.Finding{Verdict: compare.NoChange}, "none seen", absent},
		{compare.Finding{Verdict: compare.NotEnough}, "not enough", absent},
	} {
		if v, l := verdictOf(c.f, true), least(c.f); v != c.verdict || l != c.from {
			t.Errorf("%+v: %q %q, want %q %q", c.f, v, l, c.verdict, c.from)
		}
	}
}

// Of two long values the table shows what differs.
func TestUnlike(t *testing.T) {
	long := strings.Repeat(`{"model":"sim","é":1},`, 20)
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"1", "2", "1", "2"},
		{"", long, "", long},
		{long + "x=1", long + "x=2", "…\":\"sim\",\"é\":1},x=1", "…\":\"sim\",\"é\":1},x=2"},
	} {
		if a, b := unlike(c.a, c.b); a != c.wantA || b != c.wantB {
			t.Errorf("%q and %q, want %q and %q", a, b, c.wantA, c.wantB)
		}
	}
	// What is common is cut between two characters.
	a, b := unlike(strings.Repeat("é", 20)+"éaaaaaaaaaaax=1", strings.Repeat("é", 20)+"éaaaaaaaaaaax=2")
	if len(a) > 24 || !utf8.ValidString(a) || !utf8.ValidString(b) || !strings.HasSuffix(a, "x=1") {
		t.Errorf("%q and %q", a, b)
	}
}

var day = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func oneSide(label string, runs int) compare.Side {
	s := compare.Side{Label: label, Identity: strings.Repeat("0123456789abcdef", 4), OK: 1170 * runs, Errors: 3, Censored: 21}
	for i := range runs {
		s.Runs = append(s.Runs, compare.RunRef{RunID: label + "-" + whole(i), StartedAt: day.Add(time.Duration(i) * time.Hour), Valid: ptr(true), Trusted: true})
	}
	return s
}

func finding(key, label, unit string, better compare.Direction, base, ratio, half float64, v compare.Verdict) compare.Finding {
	return compare.Finding{Metric: key, Label: label, Unit: unit, Better: better, Gated: true, Base: ptr(base), Head: ptr(base * ratio),
		Ratio: ptr(ratio), Low: ptr(ratio - half), High: ptr(ratio + half), Confidence: 0.9917, SmallestDetectable: ptr(2 * half), Threshold: 0.03,
		Verdict: v, Samples: 1150, Over: overOf(key)}
}

func overOf(key string) compare.Over {
	if strings.HasPrefix(key, "output_throughput") || key == "join_wait_p50" {
		return compare.OverRun
	}
	return compare.OverPairs
}

func noChange() *compare.Comparison {
	return &compare.Comparison{
		Kind: compare.Kind, SchemaVersion: compare.SchemaVersion, CreatedAt: day, Verdict: compare.NoChange,
		Summary: "No change seen in any of 5 gated figures over 2300 paired requests.",
		Head:    oneSide("pr-7", 2), Base: oneSide("main", 2),
		Pairing: compare.Pairing{Pairs: 2300, HeadOnly: 12, BaseOnly: 9, Coverage: 0.991, RootTraces: 64, EffectiveN: 48.21, LargestPart: 0.061},
		Floor:   &compare.FloorRef{Pool: "h200-8", Repeats: 10, Digest: "deadbeefdeadbeefdeadbeef"},
		Gated: []compare.Finding{
			finding("ttft_p50", "TTFT p50", "ms", compare.LowerIsBetter, 812, 1.003, 0.012, compare.NoChange),
			finding("ttft_p90", "TTFT p90", "ms", compare.LowerIsBetter, 1620, 0.998, 0.017, compare.NoChange),
			finding("itl_p50", "ITL p50", "ms", compare.LowerIsBetter, 15, 1, 0.004, compare.NoChange),
			finding("output_throughput_per_gpu", "Output throughput per GPU", "tokens/s", compare.HigherIsBetter, 37.8, 0.996, 0.011, compare.NoChange),
			{Metric: "error_rate", Label: "Error rate", Unit: "ratio", Better: compare.LowerIsBetter, Gated: true, Base: ptr(0.0), Head: ptr(0.0),
				Ratio: ptr(0.0), Low: ptr(0.0), High: ptr(0.001), Absolute: true, SmallestDetectable: ptr(0.0162), Verdict: compare.NoChange, Samples: 2300, Over: compare.OverPairs},
		},
		Described: []compare.Finding{{Metric: "e2e_p99", Label: "E2E latency p99", Unit: "ms", Better: compare.LowerIsBetter, Base: ptr(95900.0), Verdict: compare.NotEnough, Note: "both sides failed in the same tail", Over: compare.OverRun}},
		Layers: []compare.Layer{
			{Name: "decode", WorseBy: ptr(-0.003), SmallestDetectable: ptr(0.031), On: []compare.Number{{Label: "ITL p50", Unit: "ms", Base: ptr(16.5), Head: ptr(16.5), Over: compare.OverRun}},
				Text: "no move seen (-0.30 %, -2.5 to +1.9; a change of 3.1 % would have been seen): time per output token after the first, over 2300 paired requests"},
			{Name: "errors", WorseBy: ptr(0.0), Absolute: true, SmallestDetectable: ptr(0.016), On: []compare.Number{{Label: "Error rate", Unit: "ratio", Base: ptr(0.0), Head: ptr(0.0), Over: compare.OverRun}},
				Text: "no move seen (0 points, -1.2 to +1.2; a change of 1.6 points would have been seen): error rate, over 2300 paired requests"},
		},
		HeadAgainstFixed: againstBoth()[:1],
	}
}

func againstBoth() []compare.AgainstFixed {
	row := func(key, label, unit string, better compare.Direction, agentic, fixed float64) compare.Row {
		return compare.Row{Metric: key, Label: label, Unit: unit, Better: better, Agentic: ptr(agentic), Fixed: ptr(fixed), Ratio: ptr(agentic / fixed)}
	}
	return []compare.AgainstFixed{
		{Shape: "8192/1024", AgenticLoad: ptr(40.7), FixedLoad: ptr(40.7), FixedPoints: []int{32, 64}, Matched: true, Rows: []compare.Row{
			row("output_throughput_per_gpu", "Output throughput per GPU", "tokens/s", compare.HigherIsBetter, 37.8, 141),
			row("total_throughput_per_gpu", "Total throughput per GPU", "tokens/s", compare.HigherIsBetter, 9380, 1270),
			row("ttft_p50", "TTFT p50", "ms", compare.LowerIsBetter, 812, 430),
			row("itl_p50", "ITL p50", "ms", compare.LowerIsBetter, 15, 14.1),
			row("requests_in_flight", "Requests in flight", "requests", "", 40.7, 40.7),
			{Metric: "hit_rate", Label: "Hit rate, reported", Unit: "ratio", Better: compare.HigherIsBetter, Agentic: ptr(0.888), Fixed: ptr(0.0)},
			{Metric: "hit_rate_ideal", Label: "Hit rate, ideal as played", Unit: "ratio", Better: compare.HigherIsBetter, Agentic: ptr(0.922)},
		}},
		{Shape: "1024/1024", AgenticLoad: ptr(40.7), FixedLoad: ptr(16.0), FixedPoints: []int{16}, Note: "no fixed-length point comes within 10 % of the agentic load; the nearest is shown", Rows: []compare.Row{
			row("ttft_p50", "TTFT p50", "ms", compare.LowerIsBetter, 812, 51),
		}},
	}
}

func regression() *compare.Comparison {
	c := noChange()
	c.Verdict, c.Summary = compare.Regression, "TTFT p50 +10.2 % (regression); TTFT p90 +12.1 % (regression); Output throughput per GPU -5.9 % (regression). Likeliest layer: cache, worse by 6.8 %."
	c.Gated[0] = finding("ttft_p50", "TTFT p50", "ms", compare.LowerIsBetter, 812, 1.102, 0.0214, compare.Regression)
	c.Gated[1] = finding("ttft_p90", "TTFT p90", "ms", compare.LowerIsBetter, 1620, 1.121, 0.04, compare.Regression)
	c.Gated[3] = finding("output_throughput_per_gpu", "Output throughput per GPU", "tokens/s", compare.HigherIsBetter, 37.8, 0.941, 0.02, compare.Regression)
	c.Described = append(c.Described, finding("join_wait_p50", "Join wait p50", "ms", compare.LowerIsBetter, 2350, 0.8, 0.1, compare.Improvement))
	c.Described[1].Gated = false
	c.Layers = []compare.Layer{
		{Name: "cache", Moved: true, WorseBy: ptr(0.068), SmallestDetectable: ptr(0.02), Text: "got worse by 6.8 % (5.1 to 8.5): prompt tokens to compute for the same requests, over 2290 paired requests", On: []compare.Number{
			{Label: "Hit rate, reported", Unit: "ratio", Base: ptr(0.888), Head: ptr(0.827), Over: compare.OverRun}, {Label: "Hit rate, ideal as played", Unit: "ratio", Base: ptr(0.922), Head: ptr(0.922), Over: compare.OverRun},
			{Label: "Uncached input", Unit: "tokens/s", Base: ptr(8340.0), Head: ptr(12900.0), Over: compare.OverRun},
		}},
		c.Layers[0],
	}
	c.Allowed = []compare.Mismatch{{Key: "engine.image", Base: "vllm:0.14.0", Head: "vllm:0.14.1"}}
	c.BaseAgainstFixed = againstBoth()[:1]
	return c
}

func refused() *compare.Comparison {
	return &compare.Comparison{
		Kind: compare.Kind, SchemaVersion: compare.SchemaVersion, Verdict: compare.Refused, Summary: "The sides differ in corpus.digest and 1 other key; give --allow-mismatch for each to compare all the same.",
		Head: oneSide("pr-7", 1), Base: oneSide("main", 1),
		Refused: []compare.Mismatch{{Key: "corpus.digest", Base: strings.Repeat("ab", 32), Head: strings.Repeat("cd", 32)}, {Key: "env.VLLM_USE_V2", Head: "1"}},
	}
}

func notEnough() *compare.Comparison {
	c := noChange()
	c.Verdict, c.Summary = compare.NotEnough, "6.2 effective traces are fewer than 10."
	c.Pairing.EffectiveN, c.Pairing.RootTraces = 6.2, 9
	for i := range c.Gated {
		c.Gated[i].Verdict, c.Gated[i].SmallestDetectable, c.Gated[i].Low, c.Gated[i].High = compare.NotEnough, nil, nil, nil
	}
	return c
}

func oneRun() *compare.Comparison {
	c := regression()
	c.Head, c.Base, c.Floor = oneSide("pr-7", 1), oneSide("main", 1), nil
	c.Head.Runs[0].Trusted, c.Head.Runs[0].Findings = false, []string{"client_cpu", "schedule_lag"}
	c.Base.Runs[0].Valid = ptr(false)
	c.Verdict, c.Summary = compare.Changed, "TTFT p50 +10.2 % (changed for the worse). One run a side: run-to-run noise is unknown, so this is no regression yet."
	for i := range c.Gated {
		if hasMoved(c.Gated[i]) {
			c.Gated[i].Verdict = compare.Changed
		}
	}
	return c
}

func hostile() *compare.Comparison {
	const evil = "a|b\n<script>alert(1)</script> @team [x](https://evil.example) \x1b[31m`code`\u202e"
	c := oneRun()
	c.Summary, c.Head.Label, c.Base.Label = evil, evil, longText()
	c.Head.Runs[0].RunID, c.Head.Runs[0].Findings = evil, []string{evil, evil}
	c.Gated[0].Label, c.Gated[0].Unit, c.Gated[0].Verdict = evil, evil, compare.Verdict(evil)
	c.Gated[1].Label, c.Gated[1].Better = "", compare.Direction(evil)
	c.Layers[0].Name, c.Layers[0].Text, c.Layers[0].On[0].Label = evil, longText(), evil
	c.Allowed = append(c.Allowed, compare.Mismatch{Key: evil, Base: evil, Head: longText()})
	c.HeadAgainstFixed[0].Shape, c.HeadAgainstFixed[0].Note, c.HeadAgainstFixed[0].Rows[0].Label = evil, evil, evil
	c.HeadAgainstFixed[0].Rows[0].Better = compare.Direction(evil)
	c.Notes = []string{evil}
	c.Floor = &compare.FloorRef{Pool: evil, Digest: evil}
	return c
}

// The same content as JSON: comparison.json as it is written, checked against its
// schema.
func TestComparisonJSON(t *testing.T) {
	for name, c := range map[string]*compare.Comparison{"regression": regression(), "refused": refused(), "notenough": notEnough()} {
		text, err := c.Encode()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden := filepath.Join("testdata", "comparison_"+name+".json")
		if *update {
			if err := os.WriteFile(golden, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(text)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
