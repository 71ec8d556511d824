package validity

import "github.com/org/agentx-action/pkg/result/summary"

// Evidence is what a judgement rests on. The zero value of a field means that
// nothing is known or asked, and leaves the judgements that need it out.
type Evidence struct {
	Figures *summary.Figures

	// Scenario is the rule set asked for; empty without one.
	Scenario string
	// Overridden lists the rules that were broken under --unsafe-override.
	Overridden []string
	// OverflowLimit is the share of context overflows that a submission may
	// have; 0 means 0.01 (spec/replay.md §6.3).
	OverflowLimit float64
	// CoverageRequired is the share of the phase up to which first tokens or
	// token gaps must have been seen; 0 asks for none.
	CoverageRequired float64

	// Cancelled says that the run ended before its time; CancelledBy by whom or
	// what, e.g. "user", "failed_request_threshold".
	Cancelled   bool
	CancelledBy string
	// RecordsCut says that the last line of the records was cut off.
	RecordsCut bool

	// Concurrency is the number of lanes asked for.
	Concurrency int
	// Start is the start window used, RuleStart the rule set's, as fractions of
	// a trace's time.
	Start, RuleStart *Window
	// Dropped counts traces that were left out of the corpus by filters;
	// DropsAllowed says that the rule set does so itself.
	Dropped      int
	DropsAllowed bool
	// PeakTokens is the largest prompt plus output of the corpus as played.
	PeakTokens int64

	// MaxModelLen is the engine's context, in tokens.
	MaxModelLen int64
	// Replicas of the engine behind the URL, and whether requests of a session
	// are routed to the same one.
	Replicas      int
	SessionRouted bool
	// ForeignGPUUsers names processes that are not the engine's on its GPUs.
	ForeignGPUUsers []string
	// Start of the cache; nil when nothing is known.
	ColdStart *ColdStart
	// CountersExpected says that the engine's metrics were asked for.
	CountersExpected bool
	// PromptTokens and GenerationTokens are the engine's own counts over the
	// whole run; nil when not scraped.
	PromptTokens     *float64
	GenerationTokens *float64
}

// Window is a start window.
type Window struct {
	Min, Max float64
}

// ColdStart is what the engine's counters say about its cache at the start.
type ColdStart struct {
	// PromptTokensBefore is how many prompt tokens the engine had processed
	// before the first request of the run; nil when it has no counter.
	PromptTokensBefore *float64
	// OwnPromptTokens of them were our probes'.
	OwnPromptTokens float64
	// Reset says that the cache was reset after those, successfully.
	Reset bool
}

// Judge gives every finding.
func Judge(e Evidence) Verdict {
	var findings []Finding
	for _, judge := range []func(*Evidence) []Finding{
		submission, measured, client, workload, engineStart, engineCounts, usage,
	} {
		findings = append(findings, judge(&e)...)
	}
	return derive(findings, e.Scenario != "")
}

// over gives a finding when figure exceeds limit.
func over(code string, s Severity, figure, limit float64, unit, text string) []Finding {
	if figure > limit {
		return one(code, s, figure, limit, unit, text)
	}
	return nil
}

func one(code string, s Severity, figure, limit float64, unit, text string) []Finding {
	return []Finding{{Code: code, Severity: s, Figure: &figure, Limit: &limit, Unit: unit, Text: text}}
}
