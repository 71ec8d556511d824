package validity

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result/summary"
)

func ptr[T any](v T) *T { return &v }

// good is evidence of a run without a fault.
func good() Evidence {
	return Evidence{
		Scenario: "inferencex-agentx-mvp", CoverageRequired: 0.95, Concurrency: 100, MaxModelLen: 1000, PeakTokens: 1000,
		Start: &Window{0, 1}, RuleStart: &Window{0, 1}, Replicas: 1, ColdStart: &ColdStart{PromptTokensBefore: ptr(50.0), OwnPromptTokens: 50},
		CountersExpected: true, PromptTokens: ptr(1000.0), GenerationTokens: ptr(500.0),
		Figures: &summary.Figures{
			Requests: summary.Requests{Profiling: summary.Outcomes{OK: 1000}},
			Coverage: &summary.Coverage{ExpectedDurationSeconds: 1800, TTFTRatio: 0.95, InterTokenLatencyRatio: 0.5},
			Load:     summary.Load{LiveTrees: &summary.Weighted{Avg: 95}},
			Sessions: summary.Sessions{EffectiveRoots: ptr(10.0)},
			Client:   summary.Client{ScheduleLag: &summary.Stats{P99: 10}, ConnectionWait: &summary.Stats{P99: 10}, CPUHighS: ptr(2.04)},
			Tokens: summary.Tokens{DriftShare: &summary.Stats{P99: 0.01}, OutputJudged: 1000,
				Served: summary.Served{PromptMin: 990, PromptMax: 1000, GenerationMin: 490, GenerationMax: 500}},
		},
	}
}

func TestGoodRunHasNoFinding(t *testing.T) {
	v := Judge(good())
	if len(v.Findings) != 0 || !v.Valid() || !v.Trusted || len(v.SubmissionInvalidReasons) != 0 {
		t.Errorf("%+v", v)
	}
}

// TestBothSides holds every finding just inside and just outside its limit.
func TestBothSides(t *testing.T) {
	for name, c := range map[string]struct {
		inside, outside func(*Evidence)
		code            string
		severity        Severity
	}{
		"override": {func(e *Evidence) {}, func(e *Evidence) { e.Overridden = []string{"benchmark-duration"} }, UnsafeOverride, Invalid},
		"overflow": {
			func(e *Evidence) { e.Figures.Requests.Profiling = summary.Outcomes{OK: 99, Overflow: 1} },
			func(e *Evidence) { e.Figures.Requests.Profiling = summary.Outcomes{OK: 98, Overflow: 1} }, ContextOverflowRate, Invalid},
		"overflow, own limit": {
			func(e *Evidence) {
				e.OverflowLimit = 0.5
				e.Figures.Requests.Profiling = summary.Outcomes{OK: 1, Overflow: 1}
			},
			func(e *Evidence) {
				e.OverflowLimit = 0.5
				e.Figures.Requests.Profiling = summary.Outcomes{OK: 1, Overflow: 2}
			}, ContextOverflowRate, Invalid},
		"cancelled": {func(e *Evidence) {}, func(e *Evidence) { e.Cancelled, e.CancelledBy = true, "user" }, RunCancelled, Invalid},
		"coverage": {
			func(e *Evidence) { e.Figures.Coverage.TTFTRatio, e.Figures.Coverage.InterTokenLatencyRatio = 0, 0.95 },
			func(e *Evidence) {
				e.Figures.Coverage.TTFTRatio, e.Figures.Coverage.InterTokenLatencyRatio = 0.9499, 0.9499
			}, InsufficientCoverage, Invalid},
		"nothing": {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Requests.Profiling.OK = 0 }, NothingMeasured, Untrusted},
		"errors, note": {
			func(e *Evidence) { e.Figures.Requests.Profiling = summary.Outcomes{OK: 99, Errors: 1} },
			func(e *Evidence) { e.Figures.Requests.Profiling = summary.Outcomes{OK: 98, Errors: 1} }, ErrorRate, Note},
		"errors": {
			func(e *Evidence) { e.Figures.Requests.Profiling = summary.Outcomes{OK: 90, Errors: 10} },
			func(e *Evidence) { e.Figures.Requests.Profiling = summary.Outcomes{OK: 89, Errors: 11} }, ErrorRate, Untrusted},
		"broken":     {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Requests.Broken = 1 }, BrokenRecords, Untrusted},
		"cut":        {func(e *Evidence) {}, func(e *Evidence) { e.RecordsCut = true }, RecordsCut, Untrusted},
		"lag":        {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Client.ScheduleLag.P99 = 10.01 }, ScheduleLag, Untrusted},
		"connection": {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Client.ConnectionWait.P99 = 10.01 }, ConnectionWait, Untrusted},
		"CPU":        {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Client.CPUHighS = ptr(4.0) }, ClientCPU, Untrusted},
		"live trees": {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Load.LiveTrees.Avg = 94.99 }, LiveTrees, Untrusted},
		"dropped": {
			func(e *Evidence) { e.Dropped, e.DropsAllowed = 5, true },
			func(e *Evidence) { e.Dropped = 1 }, CutCorpus, Untrusted},
		"start window": {
			func(e *Evidence) { e.Start = nil },
			func(e *Evidence) { e.Start = &Window{0, 0.75} }, StartWindow, Untrusted},
		"beyond context": {func(e *Evidence) {}, func(e *Evidence) { e.PeakTokens = 1001 }, CorpusBeyondContext, Untrusted},
		"few roots":      {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Sessions.EffectiveRoots = ptr(9.99) }, FewRoots, Note},
		"replicas": {
			func(e *Evidence) { e.Replicas, e.SessionRouted = 2, true },
			func(e *Evidence) { e.Replicas = 2 }, ReplicasUnrouted, Untrusted},
		"GPU users": {func(e *Evidence) {}, func(e *Evidence) { e.ForeignGPUUsers = []string{"python (123)"} }, ForeignGPUUsers, Untrusted},
		"warm cache": {
			func(e *Evidence) { e.ColdStart = &ColdStart{PromptTokensBefore: ptr(1e9), Reset: true} },
			func(e *Evidence) { e.ColdStart.PromptTokensBefore = ptr(51.0) }, CacheNotCold, Untrusted},
		"cache unknown": {
			func(e *Evidence) { e.ColdStart = nil },
			func(e *Evidence) { e.ColdStart = &ColdStart{} }, CacheStartUnknown, Note},
		"prompts fewer": {
			func(e *Evidence) { e.PromptTokens = ptr(980.2) },
			func(e *Evidence) { e.PromptTokens = ptr(980.0) }, EngineCountersDiffer, Untrusted},
		"prompts more": {
			func(e *Evidence) { e.PromptTokens = ptr(1010.0) },
			func(e *Evidence) { e.PromptTokens = ptr(1010.1) }, EngineCountersDiffer, Untrusted},
		"generation more": {
			func(e *Evidence) { e.GenerationTokens = ptr(505.0) },
			func(e *Evidence) { e.GenerationTokens = ptr(505.1) }, EngineCountersDiffer, Untrusted},
		"counters unknown": {
			func(e *Evidence) { e.PromptTokens, e.GenerationTokens, e.CountersExpected = nil, nil, false },
			func(e *Evidence) { e.PromptTokens, e.GenerationTokens = nil, nil }, EngineCountersUnknown, Note},
		"usage, note":   {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.MissingUsage = 10 }, MissingUsage, Note},
		"usage":         {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.MissingUsage = 11 }, MissingUsage, Untrusted},
		"cached, note":  {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.MissingCached = 1 }, MissingCachedTokens, Note},
		"cached":        {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.MissingCached = 11 }, MissingCachedTokens, Untrusted},
		"below chunks":  {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.BelowChunks = 11 }, UsageBelowChunks, Untrusted},
		"lengths, note": {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.OutputMismatch = 10 }, OutputLength, Note},
		"lengths":       {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.OutputMismatch = 11 }, OutputLength, Untrusted},
		"drift":         {func(e *Evidence) {}, func(e *Evidence) { e.Figures.Tokens.DriftShare.P99 = 0.0101 }, TokenDrift, Untrusted},
	} {
		in, out := good(), good()
		c.inside(&in)
		c.outside(&out)
		if f, ok := find(Judge(in), c.code); ok && f.Severity == c.severity {
			t.Errorf("%s: found inside the limit: %+v", name, f)
		}
		v := Judge(out)
		f, ok := find(v, c.code)
		if !ok || f.Severity != c.severity {
			t.Errorf("%s: %+v %v, want %s as %s", name, f, ok, c.code, c.severity)
			continue
		}
		if len(strings.Fields(f.Text)) < 5 {
			t.Errorf("%s: the text %q says nothing", name, f.Text)
		}
		for _, n := range []*float64{f.Figure, f.Limit} {
			if n != nil && (math.IsNaN(*n) || math.IsInf(*n, 0)) {
				t.Errorf("%s: figure or limit %v", name, *n)
			}
		}
		if valid := c.severity != Invalid; v.Valid() != valid || slices.Contains(v.SubmissionInvalidReasons, c.code) == valid {
			t.Errorf("%s: valid %v, reasons %v", name, v.Valid(), v.SubmissionInvalidReasons)
		}
		if trusted := c.severity == Note || c.code == UnsafeOverride; v.Trusted != trusted {
			t.Errorf("%s: trusted %v", name, v.Trusted)
		}
	}
}

func find(v Verdict, code string) (Finding, bool) {
	for _, f := range v.Findings {
		if f.Code == code {
			return f, true
		}
	}
	return Finding{}, false
}

// TestAbortIsCancelled: a run that stopped itself has AIPerf's reason and our detail.
func TestAbortIsCancelled(t *testing.T) {
	e := good()
	e.Cancelled, e.CancelledBy = true, "failed_request_threshold"
	e.Figures.Requests.Profiling = summary.Outcomes{OK: 80, Errors: 20}
	v := Judge(e)
	f, ok := find(v, RunCancelled)
	if !ok || f.Detail != "failed_request_threshold" || *f.Figure != 0.2 || !slices.Equal(v.SubmissionInvalidReasons, []string{"run_cancelled"}) {
		t.Errorf("%+v, reasons %v", f, v.SubmissionInvalidReasons)
	}
}

// TestWithoutScenario: nothing to be valid for, but the same faults count.
func TestWithoutScenario(t *testing.T) {
	e := good()
	e.Scenario = ""
	e.Cancelled = true
	v := Judge(e)
	if f, _ := find(v, RunCancelled); f.Severity != Untrusted || v.SubmissionValid != nil || v.Trusted {
		t.Errorf("%+v", v)
	}
}

func TestGravestFirst(t *testing.T) {
	e := good()
	e.Figures.Sessions.EffectiveRoots = ptr(1.0)
	e.Figures.Client.ScheduleLag.P99 = 99
	e.Cancelled = true
	rank := map[Severity]int{Invalid: 0, Untrusted: 1, Note: 2}
	v := Judge(e)
	if !slices.IsSortedFunc(v.Findings, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] }) || len(v.Findings) != 3 {
		t.Errorf("%+v", v.Findings)
	}
}

// TestUnknownUsageLeavesCountersOut: bounds that mean nothing judge nothing.
func TestUnknownUsageLeavesCountersOut(t *testing.T) {
	e := good()
	e.Figures.Tokens.Served.Unknown = 1
	e.PromptTokens = ptr(1e9)
	if f, ok := find(Judge(e), EngineCountersDiffer); ok {
		t.Errorf("%+v", f)
	}
}

func TestNoEvidenceNoPanic(t *testing.T) {
	v := Judge(Evidence{Figures: &summary.Figures{}})
	if _, ok := find(v, NothingMeasured); !ok || v.Trusted {
		t.Errorf("%+v", v)
	}
}
