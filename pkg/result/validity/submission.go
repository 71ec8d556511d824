package validity

import (
	"fmt"
	"strings"
)

// defaultOverflowLimit is AIPerf's (spec/replay.md §6.3); equal passes.
const defaultOverflowLimit = 0.01

// submission gives AIPerf's reasons. Without a rule set there is no submission:
// the same faults then only take the trust away.
func submission(e *Evidence) []Finding {
	var out []Finding
	s := Invalid
	if e.Scenario == "" {
		s = Untrusted
	}
	if n := len(e.Overridden); n > 0 {
		f := one(UnsafeOverride, s, float64(n), 0, "rules",
			"rules broken under --unsafe-override: "+strings.Join(e.Overridden, ", ")+"; keep to the rule set for a run that counts")
		out = append(out, f...)
	}
	limit := e.OverflowLimit
	if limit <= 0 {
		limit = defaultOverflowLimit
	}
	out = append(out, over(ContextOverflowRate, s, e.Figures.Requests.Profiling.OverflowRate(), limit, "ratio",
		"too many prompts outgrew the engine's context; start it with a larger context or take a corpus that fits (the _256k variant)")...)
	if e.Cancelled {
		out = append(out, cancelled(e, s))
	}
	return append(out, coverage(e, s)...)
}

func cancelled(e *Evidence, s Severity) Finding {
	f := Finding{Code: RunCancelled, Severity: s, Detail: e.CancelledBy, Text: "the run was cancelled before its time; run it again"}
	if e.CancelledBy == "engine_died" {
		f.Text = "the engine died before the run's time; its log says why: mend it and run it again"
	}
	if e.CancelledBy == "failed_request_threshold" {
		f.Text = "the run stopped itself because too many requests failed; see the errors, mend the engine and run it again"
		if rate, ok := e.Figures.Requests.Profiling.ErrorRate(); ok {
			f.Figure, f.Unit = &rate, "ratio"
		}
	}
	return f
}

// coverage wants either of the two measurements to reach far enough.
func coverage(e *Evidence, s Severity) []Finding {
	c := e.Figures.Coverage
	if c == nil || e.CoverageRequired <= 0 {
		return nil
	}
	reached := max(c.TTFTRatio, c.InterTokenLatencyRatio)
	if reached >= e.CoverageRequired {
		return nil
	}
	return one(InsufficientCoverage, s, reached, e.CoverageRequired, "ratio", fmt.Sprintf(
		"first tokens were seen up to %.1f %% and token gaps up to %.1f %% of the %g s asked, %.0f %% is required; look for a stall in the engine's log",
		100*c.TTFTRatio, 100*c.InterTokenLatencyRatio, c.ExpectedDurationSeconds, 100*e.CoverageRequired))
}
