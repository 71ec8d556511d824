package github

import (
	"slices"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/validity"
)

// Standing is the answer of a comment in one word.
type Standing string

// The standings.
const (
	Failed      Standing = "failed"                // there is no result, or nothing succeeded in it
	Regressed   Standing = "regression"            //
	Invalid     Standing = "invalid"               // the run does not count under its rule set
	Worse       Standing = "changed for the worse" // of one run a side
	ManyFailed  Standing = "many requests failed"  // too many to trust what the others say
	Changed     Standing = "changed"               // of one run a side, nothing for the worse
	NotCompared Standing = "not compared"
	NotEnough   Standing = "not enough data"
	NoChange    Standing = "no change seen"
	Improved    Standing = "improvement"
)

// StandingOf judges what there is to tell. Good news, and none, are none where so many
// requests failed that the figures mislead: they are of those that succeeded.
func StandingOf(c *Content) Standing {
	s := standingOf(c)
	if (s == NotCompared || s == NoChange || s == Improved) && manyFailed(c.Head) {
		return ManyFailed
	}
	return s
}

// manyFailed goes by the limit that the result itself was judged by.
func manyFailed(d *result.Document) bool {
	return d != nil && slices.ContainsFunc(d.Validity.Findings, func(f validity.Finding) bool {
		return f.Code == validity.ErrorRate && f.Severity == validity.Untrusted
	})
}

func standingOf(c *Content) Standing {
	switch {
	case c.Failed == "" && c.Comparison == nil && c.Head != nil && c.Head.Outcome.Cancelled && c.Head.Outcome.Error == "":
		return NotCompared // nobody broke anything: another run takes its place
	case c.Failed != "" || c.Head != nil && failed(c):
		return Failed
	case c.Comparison != nil && c.Comparison.Verdict == compare.Regression:
		return Regressed
	case c.Head != nil && c.Head.Validity.SubmissionValid != nil && !*c.Head.Validity.SubmissionValid:
		return Invalid
	case c.Comparison == nil:
		return NotCompared
	}
	switch c.Comparison.Verdict {
	case compare.Changed:
		for _, f := range c.Comparison.Gated {
			if f.Verdict == compare.Changed && worse(&f) {
				return Worse
			}
		}
		return Changed
	case compare.Improvement:
		return Improved
	case compare.NoChange:
		return NoChange
	case compare.NotEnough:
		return NotEnough
	}
	return NotCompared
}

// failed tells whether a run has nothing to show.
func failed(c *Content) bool {
	return c.Head.Outcome.Error != "" || c.Head.Requests.Profiling.OK == 0
}

// worse tells whether a figure moved for the worse.
func worse(f *compare.Finding) bool {
	if f.Ratio == nil {
		return false
	}
	none := 1.0
	if f.Absolute {
		none = 0
	}
	switch f.Better {
	case compare.LowerIsBetter:
		return *f.Ratio > none
	case compare.HigherIsBetter:
		return *f.Ratio < none
	}
	return false
}

// Gravest is what several answers come to together: an improvement only where all are
// one. Of none it is Failed.
func Gravest(all ...Standing) Standing {
	for _, s := range []Standing{Failed, Regressed, Invalid, Worse, ManyFailed, Changed, NotCompared, NotEnough, NoChange, Improved} {
		if slices.Contains(all, s) {
			return s
		}
	}
	return Failed
}

// gravity orders the standings. Below 1 nothing is wrong with the change, and none
// among these is news that anybody should be woken for.
func (s Standing) gravity() int {
	switch s {
	case Failed:
		return 4
	case Regressed:
		return 3
	case Invalid:
		return 2
	case Worse, ManyFailed:
		return 1
	}
	return 0
}

// Conclusion of a check run: success, neutral or failure. What is only claimed is no
// success: its author could open a gate with it.
func (s Standing) Conclusion(claimed bool) string {
	switch s {
	case Failed, Regressed, Invalid:
		return "failure"
	case NoChange, Improved:
		if !claimed {
			return "success"
		}
	}
	return "neutral"
}
