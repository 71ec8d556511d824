package run

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/corpus"
)

// Version is the program's release; the build sets it.
var Version = "dev"

// begun is what is known before the first request. It is what stays of a run that was
// killed.
func (s *session) begun() *result.Facts {
	f := &result.Facts{
		Program: program(), RunID: s.runID, Mode: result.ModeAgentic,
		OriginAt: s.clock.Origin().Round(0), StartedAt: s.started.Round(0), EndedAt: time.Now().Round(0),
		Command:  s.Command,
		Scenario: s.scenarioFacts(), Settings: s.settingsFacts(), Corpus: s.corpusFacts(),
		Client: machine(), Engine: s.engineFacts(),
		Outcome: result.Outcome{Cancelled: true, CancelledBy: "killed", Error: "agentx was killed before the run had ended; what had been measured by then is here"},
	}
	if s.probes.Known {
		o := s.probes.Overhead
		constant, message, drift := float64(o.Prompt), float64(o.User), float64(s.probes.DriftTokens)
		f.Calibration = &result.Calibration{
			Source: "probes", TemplateConstant: &constant, TemplatePerMessage: &message,
			MarkerTokens: &s.probes.MarkerTokens, ProbeDrift: &drift,
		}
	}
	return f
}

// facts is everything about the run that its records don't say.
func (s *session) facts(out *replay.Outcome, runErr error) *result.Facts {
	f := s.begun()
	f.Phases, f.Client, f.Outcome = phases(out), clientFacts(out), result.Outcome{}
	s.scraper.telemetry.fill(f, s.keeper)
	var died *engineDied
	switch {
	case out.Aborted != nil:
		f.Outcome = result.Outcome{Cancelled: true, CancelledBy: "failed_request_threshold", Error: out.Aborted.Error()}
	case out.Cancelled && errors.As(runErr, &died):
		f.Outcome = result.Outcome{Cancelled: true, CancelledBy: "engine_died", Error: runErr.Error()}
	case out.Cancelled:
		f.Outcome = result.Outcome{Cancelled: true, CancelledBy: "user"}
	case runErr != nil:
		f.Outcome = result.Outcome{Cancelled: !profiled(out), Error: runErr.Error()}
	}
	return f
}

// profiled reports whether the measured phase was reached and ended.
func profiled(out *replay.Outcome) bool {
	n := len(out.Phases)
	return n > 0 && out.Phases[n-1].Name == "profiling" && out.Phases[n-1].End.Seen()
}

func program() result.Program {
	p := result.Program{Name: "agentx", Version: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				p.Commit = s.Value
			}
		}
	}
	return p
}

func (s *session) scenarioFacts() result.Scenario {
	sc := RuleSet(&s.rules, s.applied.Violations)
	sc.UnsafeOverride, sc.OverflowLimit = s.UnsafeOverride, s.OverflowLimit
	return sc
}

// RuleSet is what a result says of its rule set and of the rules that were broken.
func RuleSet(rules *scenario.Rules, broken []scenario.Violation) (sc result.Scenario) {
	if rules.Name == "" {
		return sc
	}
	sc.Name, sc.Version = rules.Name, fmt.Sprint(rules.Version)
	coverage := requiredCoverage
	sc.CoverageRequired = &coverage
	for _, r := range rules.Rules {
		v, ok := r.Value.(float64)
		switch {
		case ok && r.Setting == "trajectory-start-min-ratio":
			sc.StartMinRatio = &v
		case ok && r.Setting == "trajectory-start-max-ratio":
			sc.StartMaxRatio = &v
		}
	}
	for _, v := range broken {
		sc.Overridden = append(sc.Overridden, result.Violation{Setting: v.Setting, Got: v.Asked, Want: v.Rule, Text: v.Why})
	}
	return sc
}

// requiredCoverage is the share of the measured phase that first tokens or token
// gaps must reach (decisions.md 2).
const requiredCoverage = 0.95

func (s *session) settingsFacts() result.Settings {
	set := &s.Settings
	seed := int64(*set.RandomSeed)
	f := result.Settings{
		Concurrency: set.Concurrency[0], DurationS: set.BenchmarkDurationS, GraceS: finite(set.BenchmarkGracePeriodS), Seed: &seed,
		StartMinRatio: set.TrajectoryStartMinRatio, StartMaxRatio: set.TrajectoryStartMaxRatio,
		SystemIdleCapS: finite(set.SystemIdleGapCapS), TreeIdleCapS: finite(set.TraceIdleGapCapS),
		WarmupRequestsPerLane: set.WarmupRequestsPerLane, WarmupDurationS: set.AgenticCacheWarmupDurationS,
		FailedRequestThreshold: set.FailedRequestThreshold,
		Sampling:               or(nonEmpty(string(s.Sampling)), string(replay.SamplingSequential)),
		LanePlan:               or(set.LanePlan, string(replay.LanePlanShared)),
		History:                or(set.History, "recorded"),
		ISLMode:                or(nonEmpty(string(s.ISL)), "content"),
		MessageShape:           or(nonEmpty(string(s.Shape)), "roles"),
		Marker:                 or(nonEmpty(string(s.Marker)), "words"),
		Counting:               s.Counting, Model: s.model(), SLOs: s.SLOs, SliceS: set.SliceDurationS,
		Other: map[string]string{},
	}
	maps.Copy(f.Other, s.Other)
	f.ExtraInputs = s.extraInputs()
	if s.sweep != "" {
		f.Other["sweep"] = s.sweep
	}
	for k, on := range map[string]bool{"burst_phase_starts": s.Burst, "use_think_time_only": s.Delays == replay.DelaysThink} {
		if on {
			f.Other[k] = "true"
		}
	}
	return f
}

func (s *session) extraInputs() map[string]string {
	if len(s.Client.Extra) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range s.Client.Extra {
		out[k] = string(v)
	}
	return out
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func finite(s *float64) *float64 {
	if s != nil && *s > forever.Seconds() {
		return nil
	}
	return s
}

func (s *session) corpusFacts() *result.Corpus {
	c := s.corpus
	f := &result.Corpus{
		Name: c.Name, Digest: c.Digest, Traces: c.Selection.Read, Kept: c.Selection.Kept,
		PeakTokens: int64(c.Selection.KeptContextTokens), Filters: map[string]string{}, Dropped: map[string]int{},
		SourceType: "folder", Loader: "weka_trace", Revision: c.Revision,
	}
	if s.Source.Public != "" {
		f.SourceType, f.Loader = "public_dataset", s.Source.Public
		if set, err := corpus.Public(s.Source.Public); err == nil {
			f.Loader, f.HFDatasetName, f.HFSplit = set.Name, set.Dataset, "train"
		}
	}
	for _, t := range c.Traces {
		for range t.All {
			f.Requests++
		}
	}
	if n := c.Selection.MaxContextTokens; n > 0 {
		f.Filters["max_context_length"] = fmt.Sprint(n)
	}
	if n := c.Selection.Entries; n > 0 {
		f.Filters["num_dataset_entries"] = fmt.Sprint(n)
	}
	for reason, n := range map[string]int{"max_context_length": c.Selection.OverContext, "num_dataset_entries": c.Selection.OverEntries} {
		if n > 0 {
			f.Dropped[reason] = n
		}
	}
	return f
}

// phases joins the two warm-up steps into one.
func phases(out *replay.Outcome) []result.Phase {
	var list []result.Phase
	for _, p := range out.Phases {
		name := record.PhaseWarmup
		if p.Name == "profiling" {
			name = record.PhaseProfiling
		}
		if n := len(list); n > 0 && list[n-1].Name == name {
			list[n-1].End = p.End
			continue
		}
		list = append(list, result.Phase{Name: name, Start: p.Start, End: p.End})
	}
	return list
}

func clientFacts(out *replay.Outcome) result.ClientFacts {
	f := machine()
	jumps, removed := out.Skips.SystemJumps, out.Skips.System.Seconds()
	treeJumps, treeRemoved := out.Skips.TreeJumps, out.Skips.Tree.Seconds()
	f.IdleJumps, f.IdleRemoved = &jumps, &removed
	f.TreeIdleJumps, f.TreeIdleRemoved = &treeJumps, &treeRemoved
	return f
}

func machine() result.ClientFacts {
	cores := float64(runtime.GOMAXPROCS(0))
	f := result.ClientFacts{Cores: &cores}
	f.Host, _ = os.Hostname()
	return f
}

func (s *session) engineFacts() result.EngineFacts {
	f := result.EngineFacts{URL: redact(s.Client.URL), Model: s.model()}
	if s.served != nil {
		f.MaxModelLen = s.served.MaxModelLen
	}
	if s.Sim != nil {
		f.Name, f.Version = "sim", Version
		if v := s.Sim.Version; v != "" && v != sim.Default().Version {
			f.Version = v
		}
		if text, err := json.Marshal(s.Sim, json.Deterministic(true)); err == nil {
			f.Args = []string{string(text)} // its parameters are what an engine's arguments are
		}
	}
	s.keeper.facts(&f)
	f.SessionRouting = sessionRouting(&s.Client)
	if s.scraper != nil {
		s.scraper.fill(&f)
	}
	if s.Deploy.Name != "" {
		f.Name = s.Deploy.Name
	}
	if f.Name == "" {
		f.Name = s.told.name
	}
	if f.Version == "" {
		f.Version = s.told.version
	}
	if f.ColdStart != nil {
		f.ColdStart.Reset = s.wasReset
		f.ColdStart.OwnPromptTokens = s.keeper.probed()
	}
	return f
}

// sessionRouting names the headers, beside the one that is always sent, by which a
// router can keep requests together: those of a stream, and those of a tree. The
// two place subagents differently, so that such results don't compare.
func sessionRouting(c *openai.Config) string {
	var names []string
	for _, h := range []struct {
		name string
		sent bool
	}{
		{c.SessionHeader, c.SessionHeader != ""}, {"X-Session-ID", c.SessionID}, {"X-SMG-Routing-Key", c.SMGRoutingKey},
		{"X-Dynamo-Session-ID", c.DynamoSessionID}, {c.TreeHeader + " (tree)", c.TreeHeader != ""},
	} {
		if h.sent {
			names = append(names, h.name)
		}
	}
	return strings.Join(names, ", ")
}

// redact takes credentials out of an address.
func redact(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.Redacted()
}
