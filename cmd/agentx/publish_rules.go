package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/run"
)

// ruledAnew is the rule set of a run of strangers: of its name and version alone, with
// limits of ours, and broken where its settings and its corpus break it. One that is
// not known, or of another version, is none. What the run admits to have broken stays
// so: facts don't hold every setting.
func ruledAnew(facts *result.Facts) result.Scenario {
	claimed := &facts.Scenario
	rules, err := scenario.Lookup(claimed.Name)
	if err != nil || rules.Name == "" || fmt.Sprint(rules.Version) != claimed.Version || facts.Mode != result.ModeAgentic {
		return result.Scenario{}
	}
	asked := askedOf(facts)
	outcome, _ := rules.Apply(&asked, true) // whatever it would refuse stands in the outcome, or is in no rule
	sc := run.RuleSet(&rules, outcome.Violations)
	broken := slices.DeleteFunc(sc.Overridden, func(v result.Violation) bool {
		return slices.ContainsFunc(claimed.Overridden, func(admitted result.Violation) bool { return admitted.Setting == v.Setting })
	})
	sc.Overridden = slices.Concat(claimed.Overridden, broken)
	sc.UnsafeOverride = claimed.UnsafeOverride || len(sc.Overridden) > 0
	return sc
}

// askedOf are the settings of a run that its facts hold, as far as rules speak of them.
// What facts leave out is the worst that it can mean.
func askedOf(facts *result.Facts) scenario.Settings {
	s := &facts.Settings
	zero, forever := 0.0, math.Inf(1)
	asked := scenario.Settings{
		Dataset: datasetOf(facts.Corpus), Concurrency: []int{s.Concurrency},
		BenchmarkDurationS: &zero, SystemIdleGapCapS: &forever,
		TrajectoryStartMinRatio: s.StartMinRatio, TrajectoryStartMaxRatio: s.StartMaxRatio,
		TraceIdleGapCapS: s.TreeIdleCapS, WarmupRequestsPerLane: s.WarmupRequestsPerLane, AgenticCacheWarmupDurationS: s.WarmupDurationS,
		FailedRequestThreshold: s.FailedRequestThreshold, SliceDurationS: s.SliceS,
		History: &s.History, LanePlan: &s.LanePlan,
	}
	if s.DurationS != nil {
		asked.BenchmarkDurationS = s.DurationS
	}
	if s.SystemIdleCapS != nil { // facts leave out one that never fires
		asked.SystemIdleGapCapS = s.SystemIdleCapS
	}
	if s.Seed != nil {
		seed := uint64(*s.Seed)
		asked.RandomSeed = &seed
	}
	return asked
}

func datasetOf(c *result.Corpus) scenario.Dataset {
	switch {
	case c == nil:
		return scenario.Dataset{}
	case c.SourceType == "public_dataset":
		return scenario.Dataset{Kind: scenario.DatasetPublic, Name: c.Loader}
	}
	return scenario.Dataset{Kind: scenario.DatasetLocal, Name: c.Name}
}
