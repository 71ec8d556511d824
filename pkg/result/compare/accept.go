package compare

import (
	"fmt"
	"slices"
	"time"

	"github.com/org/agentx-action/pkg/result"
)

// Reason says in words why a run is turned down as a baseline; empty means that
// it is one.
type Reason string

// The reasons. The first three are of the folder, the others of the run in it.
const (
	NoRun      Reason = "no run"
	Unfinished Reason = "did not finish"
	NotWhole   Reason = "not as the run left it"

	NotAgentic  Reason = "no agentic run"
	IsHead      Reason = "the head itself"
	IsTaken     Reason = "the same run as one taken"
	Failed      Reason = "failed, or ended before its time"
	NothingOK   Reason = "no request succeeded"
	NotValid    Reason = "not valid by its rule set"
	NotTrusted  Reason = "not trusted"
	UnlikeHead  Reason = "differs from the head in"                     // Key
	UnlikeTaken Reason = "no repeat of the first run taken: differs in" // Key
)

// Candidate is a stored run as far as a baseline is chosen by it.
type Candidate struct {
	RunID     string
	StartedAt time.Time
	Mode      result.Mode
	Failed    bool  // or ended before its time
	OK        int   // requests of the measured phase
	Valid     *bool // by its rule set; nil without one
	Trusted   bool
	Identity  result.Identity
}

// CandidateOf is the candidate that a result makes.
func CandidateOf(d *result.Document) Candidate {
	return Candidate{
		RunID: d.RunID, StartedAt: d.StartedAt, Mode: d.Mode, Failed: d.Outcome.Cancelled || d.Outcome.Error != "",
		OK: d.Requests.Profiling.OK, Valid: d.Validity.SubmissionValid, Trusted: d.Validity.Trusted, Identity: d.Identity,
	}
}

// Wanted says what a baseline is wanted for.
type Wanted struct {
	// RunIDs of the head; none before it has run.
	RunIDs []string
	// Identity of the head. Before it has run, Ahead says that a key which an
	// engine decides (result.FromEngine) may be missing because it is not known yet.
	Identity result.Identity
	Ahead    bool
	// MayDiffer are the keys on which head and base may differ: the axis under
	// test, and what was allowed.
	MayDiffer []string
}

// Differs lists the keys on which a base's identity differs from the head's
// although it must not.
func (w *Wanted) Differs(base *result.Identity) []string {
	return slices.DeleteFunc(base.Diff(&w.Identity), func(key string) bool {
		if slices.Contains(w.MayDiffer, key) {
			return true
		}
		_, known := w.Identity.Get(key)
		return w.Ahead && !known && result.FromEngine(key)
	})
}

// MayDiffer lists the keys on which the sides may differ: the axis, and what is
// allowed.
func (o *Options) MayDiffer() []string { return slices.Concat(o.axis(), o.AllowMismatch) }

// Rejection is why a run is turned down; the zero value means that it is not.
type Rejection struct {
	Reason Reason
	Key    string // the first key of the identity that differs, if that is why
}

func (r Rejection) String() string {
	if r.Key != "" {
		return fmt.Sprintf("%s %s", r.Reason, r.Key)
	}
	return string(r.Reason)
}

// Accept is the rule by which a window takes a run as a baseline
// (spec/pitfalls.md "Baseline and noise"): an agentic run that ended as planned,
// is trusted and, where a rule set judged it, valid; of the head's identity but
// for the axis under test; and not the head. Next to runs that are taken it must
// be another run and a repeat of the same thing, differing in no key at all: what
// an engine's versions differ by is no noise, and a window that held several would
// take it for that.
func Accept(c *Candidate, w *Wanted, taken []Candidate) Rejection {
	same := func(t Candidate) bool { return t.RunID == c.RunID }
	switch {
	case c.Mode != result.ModeAgentic:
		return Rejection{Reason: NotAgentic}
	case slices.Contains(w.RunIDs, c.RunID):
		return Rejection{Reason: IsHead}
	case slices.ContainsFunc(taken, same):
		return Rejection{Reason: IsTaken}
	case c.OK == 0:
		return Rejection{Reason: NothingOK}
	case c.Failed:
		return Rejection{Reason: Failed}
	case c.Valid != nil && !*c.Valid:
		return Rejection{Reason: NotValid}
	case !c.Trusted:
		return Rejection{Reason: NotTrusted}
	}
	if keys := w.Differs(&c.Identity); len(keys) > 0 {
		return Rejection{UnlikeHead, keys[0]}
	}
	if len(taken) > 0 {
		if keys := taken[0].Identity.Diff(&c.Identity); len(keys) > 0 {
			return Rejection{UnlikeTaken, keys[0]}
		}
	}
	return Rejection{}
}
