package scenario

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func lookup(t *testing.T, name string) Rules {
	t.Helper()
	r, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// proper is what both rule sets accept.
func proper() Settings {
	return Settings{
		Dataset:     Dataset{DatasetPublic, "semianalysis_cc_traces_weka_062126"},
		Concurrency: []int{8},
	}
}

func TestDefaults(t *testing.T) {
	common := func(s Settings) Settings {
		s.Dataset, s.Concurrency = proper().Dataset, []int{8}
		s.Streaming, s.IgnoreEOS = ptr(true), ptr(true)
		s.SystemIdleGapCapS, s.BenchmarkGracePeriodS = ptr(10.0), ptr(30.0)
		s.CacheBust, s.History, s.LanePlan = ptr("first_turn_prefix"), ptr("recorded"), ptr("shared")
		return s
	}
	want := map[string]Settings{
		InferenceX: common(Settings{
			BenchmarkDurationS:      ptr(1800.0),
			TrajectoryStartMinRatio: ptr(0.0), TrajectoryStartMaxRatio: ptr(1.0),
		}),
		AgentX: common(Settings{
			BenchmarkDurationS:      ptr(3600.0),
			TrajectoryStartMinRatio: ptr(0.25), TrajectoryStartMaxRatio: ptr(0.75),
			RandomSeed:            ptr(uint64(42)),
			WarmupRequestsPerLane: ptr(10), WarmupGracePeriodS: ptr(1800.0),
			TraceIdleGapCapS: ptr(300.0), FailedRequestThreshold: ptr(0.1),
			UseServerTokenCount: ptr(true), SliceDurationS: ptr(1.0), TCPUserTimeoutMS: ptr(900000),
		}),
	}
	want[""] = want[InferenceX]
	for name, want := range want {
		got := proper()
		out, err := lookup(t, name).Apply(&got, false)
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if name != AgentX {
			if got.RandomSeed == nil || *got.RandomSeed > math.MaxInt64 {
				t.Errorf("%q: seed %v, want a random one of 63 bits", name, got.RandomSeed)
			}
			got.RandomSeed = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
		if out.Violations != nil {
			t.Errorf("%q: violations %v", name, out.Violations)
		}

		given := reflect.ValueOf(got)
		filled := 0
		for i := range given.NumField() {
			if f := given.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
				filled++
			}
		}
		if name != AgentX {
			filled++ // the seed
		}
		if len(out.Filled) != filled {
			t.Errorf("%q: %d settings filled in, %d reported: %v", name, filled, len(out.Filled), out.Filled)
		}
	}
}

func TestRandomSeedsDiffer(t *testing.T) {
	a, b := proper(), proper()
	for _, s := range []*Settings{&a, &b} {
		if _, err := lookup(t, InferenceX).Apply(s, false); err != nil {
			t.Fatal(err)
		}
	}
	if *a.RandomSeed == *b.RandomSeed {
		t.Errorf("two runs drew the seed %d", *a.RandomSeed)
	}
}

func TestGivenSettingsStay(t *testing.T) {
	asked := proper()
	asked.BenchmarkDurationS = ptr(900.0)
	asked.BenchmarkGracePeriodS = ptr(math.Inf(1))
	asked.RandomSeed = ptr(uint64(7))
	asked.TrajectoryStartMinRatio = ptr(0.5)
	asked.TrajectoryStartMaxRatio = ptr(0.5)
	asked.TraceIdleGapCapS = ptr(2.0)
	asked.CacheBust = ptr("first_turn_prefix")
	asked.AgenticCacheWarmupDurationS = ptr(60.0)
	asked.FixedSchedule = ptr(false)
	asked.IgnoreTraceDelays = ptr(false)
	for _, name := range append(Names(), "") {
		got := asked
		if _, err := lookup(t, name).Apply(&got, false); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got.WarmupRequestsPerLane != nil {
			t.Errorf("%q: %d warm-up requests a lane beside a warm-up by time", name, *got.WarmupRequestsPerLane)
		}
		before, after := reflect.ValueOf(asked), reflect.ValueOf(got)
		for i := range before.NumField() {
			f := before.Field(i)
			if f.Kind() == reflect.Pointer && !f.IsNil() && !reflect.DeepEqual(f.Interface(), after.Field(i).Interface()) {
				t.Errorf("%q: %s was changed", name, before.Type().Field(i).Name)
			}
		}
	}
}

// breaches breaks every rule, one each.
var breaches = []struct {
	setting string
	breach  func(*Settings)
	never   bool // not to be overridden
}{
	{"--streaming", func(s *Settings) { s.Streaming = ptr(false) }, false},
	{"--extra-inputs ignore_eos", func(s *Settings) { s.IgnoreEOS = ptr(false) }, false},
	{"--ignore-trace-delays", func(s *Settings) { s.IgnoreTraceDelays = ptr(true) }, false},
	{"--synthesis-max-isl", func(s *Settings) { s.SynthesisMaxISL = ptr(0) }, false},
	{"--inter-turn-delay-cap-seconds", func(s *Settings) { s.InterTurnDelayCapS = ptr(60.0) }, false},
	{"--system-idle-gap-cap-seconds", func(s *Settings) { s.SystemIdleGapCapS = ptr(9.0) }, false},
	{"--system-idle-gap-cap-seconds", func(s *Settings) { s.SystemIdleGapCapS = ptr(math.Inf(1)) }, false},
	{"--cache-bust", func(s *Settings) { s.CacheBust = ptr("none") }, false},
	{"--history", func(s *Settings) { s.History = ptr("live") }, false},
	{"--lane-plan", func(s *Settings) { s.LanePlan = ptr("seeded") }, false},
	{"--request-rate", func(s *Settings) { s.RequestRate = ptr(3.0) }, false},
	{"--arrival-pattern", func(s *Settings) { s.ArrivalPattern = ptr("constant") }, false},
	{"--user-centric-rate", func(s *Settings) { s.UserCentricRate = ptr(1.0) }, false},
	{"--fixed-schedule", func(s *Settings) { s.FixedSchedule = ptr(true) }, false},
	{"--benchmark-duration", func(s *Settings) { s.BenchmarkDurationS = ptr(899.9) }, false},
	{"--concurrency", func(s *Settings) { s.Concurrency = nil }, false},
	{"--input-file", func(s *Settings) { s.Dataset = Dataset{DatasetLocal, "traces"} }, false},
	{"--hf-weka-dataset", func(s *Settings) { s.Dataset = Dataset{DatasetHub, "someone/else"} }, false},
	{"--public-dataset", func(s *Settings) { s.Dataset = Dataset{DatasetPublic, "semianalysis_cc_traces_weka"} }, false},
	{"--public-dataset", func(s *Settings) { s.Dataset = Dataset{Kind: DatasetSynthetic} }, true},
	{"--public-dataset", func(s *Settings) { s.Dataset = Dataset{} }, true},
}

func TestEveryRuleBites(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range Names() {
		rules := lookup(t, name)
		for _, b := range breaches {
			seen[strings.TrimPrefix(b.setting, "--")] = true
			s := proper()
			b.breach(&s)

			_, err := rules.Apply(ptr(s), false)
			var refusal *Refusal
			if !errors.As(err, &refusal) || len(refusal.Violations) != 1 {
				t.Errorf("%s: %s: got error %v, want one violation", name, b.setting, err)
				continue
			}
			v := refusal.Violations[0]
			if v.Setting != b.setting {
				t.Errorf("%s: %s: reported as %s", name, b.setting, v.Setting)
			}
			for _, part := range []string{v.Asked, v.Rule, v.Why, v.Remedy, v.Source} {
				if part == "" {
					t.Errorf("%s: %s: something is missing in %+v", name, b.setting, v)
				}
			}

			out, err := rules.Apply(&s, true)
			if (err != nil) != b.never {
				t.Errorf("%s: %s overridden: error %v", name, b.setting, err)
			}
			if diff := cmp.Diff(refusal.Violations, out.Violations); diff != "" {
				t.Errorf("%s: %s overridden (-refused +overridden):\n%s", name, b.setting, diff)
			}
		}
		for _, rule := range rules.Rules {
			if rule.Kind != Default && !seen[rule.Setting] {
				t.Errorf("%s: no test breaks %s", name, rule.Setting)
			}
		}
	}
}

func TestWithoutScenarioEverythingIsFree(t *testing.T) {
	rules := lookup(t, "")
	for _, b := range breaches {
		s := proper()
		b.breach(&s)
		asked := s
		out, err := rules.Apply(&s, false)
		if err != nil || out.Violations != nil {
			t.Errorf("%s: error %v, violations %v", b.setting, err, out.Violations)
		}
		if asked.Concurrency == nil {
			continue
		}
		before, after := reflect.ValueOf(asked), reflect.ValueOf(s)
		for i := range before.NumField() {
			f := before.Field(i)
			if f.Kind() == reflect.Pointer && !f.IsNil() && !reflect.DeepEqual(f.Interface(), after.Field(i).Interface()) {
				t.Errorf("%s: %s was changed", b.setting, before.Type().Field(i).Name)
			}
		}
	}
}

func TestAllViolationsAtOnce(t *testing.T) {
	s := Settings{
		Dataset:            Dataset{DatasetLocal, "../shared/data/weka"},
		Concurrency:        []int{8},
		BenchmarkDurationS: ptr(60.0),
		CacheBust:          ptr("none"),
		SystemIdleGapCapS:  ptr(5.0),
	}
	_, err := lookup(t, InferenceX).Apply(&s, false)
	want := `scenario inferencex-agentx-mvp: 4 rules are broken
  - --input-file: asked for ../shared/data/weka (local), must be a pinned public corpus, because nobody can tell which traces a local file holds: give --public-dataset semianalysis_cc_traces_weka_062126
  - --system-idle-gap-cap-seconds: asked for 5, must be 10, because it decides how much think time is skipped: drop --system-idle-gap-cap-seconds; the scenario sets it to 10
  - --cache-bust: asked for none, must be first_turn_prefix, because trees must not share a cached prefix that real sessions would not: drop --cache-bust; the scenario sets it to first_turn_prefix
  - --benchmark-duration: asked for 60, must be at least 900, because a shorter run does not reach its steady state: give 900 or more, or drop --benchmark-duration
with --unsafe-override the run starts all the same and its result is not valid`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	s.Dataset = Dataset{}
	_, err = lookup(t, InferenceX).Apply(&s, true)
	if err == nil || !strings.Contains(err.Error(), "--unsafe-override does not help") {
		t.Errorf("without traces: %v", err)
	}
}

func TestValuesThatNoRunAccepts(t *testing.T) {
	for _, c := range []struct {
		breach func(*Settings)
		want   string
	}{
		{func(s *Settings) { s.BenchmarkDurationS = ptr(math.NaN()) }, "--benchmark-duration NaN"},
		{func(s *Settings) { s.BenchmarkDurationS = ptr(math.Inf(1)) }, "--benchmark-duration +Inf"},
		{func(s *Settings) { s.BenchmarkDurationS = ptr(0.0) }, "above 0"},
		{func(s *Settings) { s.BenchmarkGracePeriodS = ptr(-1.0) }, "from 0, or inf"},
		{func(s *Settings) { s.TrajectoryStartMaxRatio = ptr(1.5) }, "from 0 to 1"},
		{func(s *Settings) {
			s.TrajectoryStartMinRatio, s.TrajectoryStartMaxRatio = ptr(0.8), ptr(0.2)
		}, "must not be above"},
		{func(s *Settings) { s.TraceIdleGapCapS = ptr(math.Inf(-1)) }, "--trace-idle-gap-cap-seconds -Inf"},
		{func(s *Settings) { s.WarmupRequestsPerLane = ptr(-1) }, "--warmup-requests-per-lane -1"},
		{func(s *Settings) {
			s.WarmupRequestsPerLane, s.AgenticCacheWarmupDurationS = ptr(1), ptr(1.0)
		}, "give one of them"},
		{func(s *Settings) { s.FailedRequestThreshold = ptr(10.0) }, "--failed-request-threshold 10"},
		{func(s *Settings) { s.SliceDurationS = ptr(0.0) }, "--slice-duration 0"},
		{func(s *Settings) { s.TCPUserTimeoutMS = ptr(-5) }, "AIPERF_HTTP_TCP_USER_TIMEOUT -5"},
		{func(s *Settings) { s.Concurrency = []int{0} }, "at least 1"},
		{func(s *Settings) { s.Concurrency = []int{1, 2} }, "one run has one concurrency"},
	} {
		for _, name := range append(Names(), "") {
			s := proper()
			c.breach(&s)
			_, err := lookup(t, name).Apply(&s, true)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %v, want an error with %q", name, err, c.want)
			}
		}
	}
}

func TestBadValuesAndBrokenRulesTogether(t *testing.T) {
	s := proper()
	s.Concurrency = []int{1, 2}
	s.CacheBust = ptr("none")
	_, err := lookup(t, AgentX).Apply(&s, false)
	if err == nil || !strings.Contains(err.Error(), "one run has one concurrency") || !strings.Contains(err.Error(), "--cache-bust") {
		t.Errorf("got %v, want both faults", err)
	}
}

func TestCorporaInEverySpelling(t *testing.T) {
	for _, name := range append(corpora,
		"semianalysis-cc-traces-weka-062126",
		"semianalysis-cc-traces-weka-062126-256-k",
		"semianalysis-cc-traces-weka-with-subagents-060826-256-k",
	) {
		s := proper()
		s.Dataset.Name = name
		s.CacheBust = ptr("first-turn-prefix")
		if _, err := lookup(t, InferenceX).Apply(&s, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Contains(corpora, s.Dataset.Name) || *s.CacheBust != "first_turn_prefix" {
			t.Errorf("%s: spelled %s, %s", name, s.Dataset.Name, *s.CacheBust)
		}
	}
	s := proper()
	s.Dataset = Dataset{DatasetHub, "semianalysisai/cc-traces-weka-062126"}
	if _, err := lookup(t, InferenceX).Apply(&s, false); err != nil {
		t.Error(err)
	}
}

// Rule sets are data: each of their rules must fit the setting it speaks of.
func TestRuleSetsAreSound(t *testing.T) {
	for name, set := range sets {
		if set.Name != name || set.Version < 1 {
			t.Errorf("set %q is called %q, version %d", name, set.Name, set.Version)
		}
		for _, r := range set.Rules {
			f, ok := fields[r.Setting]
			if !ok {
				t.Errorf("%q: no setting %s", name, r.Setting)
				continue
			}
			if (r.Value == nil) != (r.Kind == Forbid) {
				t.Errorf("%q: %s: kind %s with value %v", name, r.Setting, r.Kind, r.Value)
			}
			if (r.Why == "") != (r.Kind == Default) || r.Source == "" {
				t.Errorf("%q: %s: a reason or a source is missing or too much", name, r.Setting)
			}
			if r.Value != nil {
				var s Settings
				f.set(&s, r.Value) // panics when the types differ
				if got, _ := f.get(&s); got != r.Value {
					t.Errorf("%q: %s: set to %v, read %v", name, r.Setting, r.Value, got)
				}
			}
		}
	}
	for _, l := range limits {
		if _, ok := fields[l.setting]; !ok {
			t.Errorf("a limit for %s, which is no setting", l.setting)
		}
	}
	if got, want := reflect.TypeFor[Settings]().NumField(), len(fields)+2; got != want {
		t.Errorf("Settings has %d fields, of which rules can reach %d", got, want)
	}
}

func TestLookup(t *testing.T) {
	if got, want := lookup(t, "agentx").Ref(), "agentx@1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := lookup(t, "").Ref(), "none"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err := Lookup("agent-x")
	if err == nil || !strings.Contains(err.Error(), "agentx") || !strings.Contains(err.Error(), InferenceX) {
		t.Errorf("got %v, want an error that lists the names", err)
	}
}

func TestZeroRulesRefuseNothing(t *testing.T) {
	var s Settings
	out, err := Rules{}.Apply(&s, false)
	if err != nil || out.Violations != nil || len(out.Filled) != 1 || s.Concurrency[0] != 1 {
		t.Errorf("got %+v, %v, settings %+v", out, err, s)
	}
}
