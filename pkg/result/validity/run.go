package validity

import (
	"fmt"
	"math"

	"github.com/org/agentx-action/pkg/result/summary"
)

const (
	// Failures are in no latency, so they hide the slowest part. Above 1 % the
	// p99 is unknown, which is a note; above 10 % the p90 is, the headline of
	// the public tables, and that is also where InferenceX' own gate fails
	// (spec/inferencex.md §3.9; equal passes).
	errorRateNote      = 0.01
	errorRateUntrusted = 0.10

	lagLimitMs      = 10.0 // decisions.md 20
	connWaitLimitMs = 10.0 // decisions.md 20
	cpuHighLimitS   = 2.0  // decisions.md 20

	// liveTreesShare of the concurrency asked must have been live on average.
	liveTreesShare = 0.95

	// rootsNeeded is what a comparison needs (decisions.md 24).
	rootsNeeded = 10
)

// measured judges whether there is a measurement at all.
func measured(e *Evidence) []Finding {
	var out []Finding
	q := e.Figures.Requests
	if q.Profiling.OK == 0 {
		out = append(out, one(NothingMeasured, Untrusted, 0, 1, "requests",
			"no request of the profiling phase succeeded; see the errors and the engine's log")...)
	}
	if rate, ok := q.Profiling.ErrorRate(); ok {
		const text = "failed requests are in no latency; see the errors, and the adj_ metrics for what they would do to it"
		if rate > errorRateUntrusted {
			out = append(out, one(ErrorRate, Untrusted, rate, errorRateUntrusted, "ratio", text)...)
		} else {
			out = append(out, over(ErrorRate, Note, rate, errorRateNote, "ratio", text)...)
		}
	}
	out = append(out, over(BrokenRecords, Untrusted, float64(q.Broken), 0, "records",
		"records contradicted themselves and count as failed; this is a fault of the client, please report it with records.jsonl")...)
	if e.RecordsCut {
		out = append(out, Finding{Code: RecordsCut, Severity: Untrusted, Text: "the last line of the records is cut off, as after a crash or on a full disk; what came before it is in the figures"})
	}
	return out
}

// client judges the load generator.
func client(e *Evidence) []Finding {
	var out []Finding
	c := e.Figures.Client
	if c.ScheduleLag != nil {
		out = append(out, over(ScheduleLag, Untrusted, c.ScheduleLag.P99, lagLimitMs, "ms",
			"p99 of the time from due to sent: the client could not keep up; give it more cores or lower the concurrency")...)
	}
	if c.ConnectionWait != nil {
		out = append(out, over(ConnectionWait, Untrusted, c.ConnectionWait.P99, connWaitLimitMs, "ms",
			"p99 of the wait for a connection: the pool, the open-file limit or the server's backlog throttled the load")...)
	}
	if c.CPUHighS != nil {
		// Samples come every two seconds, give or take some ms: one of them is
		// not "over two seconds".
		high := math.Round(*c.CPUHighS*10) / 10
		out = append(out, over(ClientCPU, Untrusted, high, cpuHighLimitS, "sec", fmt.Sprintf(
			"the client used more than %.0f %% of its cores that long; give it more cores, or its own machine", 100*summary.CPULimit))...)
	}
	return out
}

// workload judges what was played.
func workload(e *Evidence) []Finding {
	var out []Finding
	if t := e.Figures.Load.LiveTrees; t != nil && e.Concurrency > 0 {
		if limit := liveTreesShare * float64(e.Concurrency); t.Avg < limit {
			out = append(out, one(LiveTrees, Untrusted, t.Avg, limit, "trees", fmt.Sprintf(
				"mean number of live trees, %d were asked for: the load was lower than its name says; is the corpus too small, or were lanes held up?", e.Concurrency))...)
		}
	}
	if e.Dropped > 0 && !e.DropsAllowed {
		out = append(out, one(CutCorpus, Untrusted, float64(e.Dropped), 0, "traces",
			"traces were left out of the corpus that the rule set keeps; drop the filter, or take a corpus made for the limit")...)
	}
	if e.Start != nil && e.RuleStart != nil && *e.Start != *e.RuleStart {
		out = append(out, Finding{Code: StartWindow, Severity: Untrusted, Unit: "ratio",
			Figure: &e.Start.Min, Limit: &e.RuleStart.Min, Detail: fmt.Sprintf("%g-%g", e.Start.Min, e.Start.Max),
			Text: fmt.Sprintf("traces were entered at %g–%g of their time, the rule set says %g–%g; contexts and hit rates differ with it",
				e.Start.Min, e.Start.Max, e.RuleStart.Min, e.RuleStart.Max)})
	}
	if e.MaxModelLen > 0 {
		out = append(out, over(CorpusBeyondContext, Untrusted, float64(e.PeakTokens), float64(e.MaxModelLen), "tokens",
			"the corpus has requests longer than the engine's context; take the _256k variant of the corpus, or start the engine with a larger one")...)
	}
	if n := e.Figures.Sessions.EffectiveRoots; n != nil && *n < rootsNeeded {
		out = append(out, one(FewRoots, Note, *n, rootsNeeded, "traces",
			"effective number of root traces: too few for a comparison; run longer or with more lanes")...)
	}
	return out
}
