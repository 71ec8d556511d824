package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Event is what made a workflow run, as far as it decides where a result may be
// written. It is stated by the trusted side, GitHub's own variables and event, and
// never read from an artifact.
type Event struct {
	Name          string // GITHUB_EVENT_NAME
	Ref           string // GITHUB_REF, in full: refs/heads/main, refs/pull/1/merge
	DefaultBranch string // repository.default_branch of the event
	Fork          bool   // the code comes from another repository
	PullRequest   int    // its number, where there is one
	RunID         string // GITHUB_RUN_ID

	// Upstream is the run that a workflow_run event tells of: there GITHUB_REF is
	// always the default branch, whoever's code ran. Ref is refs/heads/ with its
	// head_branch, Fork says that its head_repository is another one.
	Upstream *Event
}

// MayWriteBaseline says why a result of the event must not become a baseline; nil
// means that it may. Baselines come from a push, a schedule or a dispatch on the
// default branch alone: what a pull request measured is unreviewed code, and a tool
// that took workflow_run's default branch for its own could store a fork's result
// (spec/pitfalls.md "Comment and permissions").
func MayWriteBaseline(e Event) error {
	switch {
	case e.DefaultBranch == "":
		return errors.New("no baseline: the default branch is not known")
	case e.Fork:
		return errors.New("no baseline: the code is a fork's")
	case e.PullRequest != 0:
		return fmt.Errorf("no baseline: the code is that of pull request %d", e.PullRequest)
	}
	switch e.Name {
	case "push", "schedule", "workflow_dispatch":
		if e.Ref != "refs/heads/"+e.DefaultBranch {
			return fmt.Errorf("no baseline: %q is not the default branch, %q", printable(e.Ref), printable(e.DefaultBranch))
		}
		return nil
	case "workflow_run":
		switch up := e.Upstream; {
		case up == nil:
			return errors.New("no baseline: it is not known what the workflow_run event tells of")
		case up.Name == "workflow_run":
			return errors.New("no baseline: a workflow_run event that tells of another")
		default:
			it := *up
			it.DefaultBranch = e.DefaultBranch
			return MayWriteBaseline(it)
		}
	}
	return fmt.Errorf("no baseline: %q is no event that writes one (push, schedule and workflow_dispatch on the default branch are)", printable(e.Name))
}

// RefOf is the ref under which a result of the event is kept. It is the default
// branch only where MayWriteBaseline allows it, so that no window over that branch
// can read anything else.
func RefOf(e Event) string {
	if MayWriteBaseline(e) == nil {
		return e.DefaultBranch
	}
	ref := plainRef(e)
	if ref == e.DefaultBranch { // as a branch pr-1 could be the default one
		ref = "other-" + ref
	}
	return ref
}

func plainRef(e Event) string {
	of := &e
	if e.Name == "workflow_run" && e.Upstream != nil {
		of = e.Upstream
	}
	if n := max(e.PullRequest, of.PullRequest); n > 0 {
		return "pr-" + strconv.Itoa(n)
	}
	if number, ok := pullRequest(of.Ref); ok {
		return "pr-" + number
	}
	if e.Fork || of.Fork {
		return "fork-" + of.RunID
	}
	if branch, ok := strings.CutPrefix(of.Ref, "refs/heads/"); ok {
		switch of.Name {
		case "push", "schedule", "workflow_dispatch":
			return branch
		}
		return of.Name + "-" + branch
	}
	if tag, ok := strings.CutPrefix(of.Ref, "refs/tags/"); ok {
		return "tag-" + tag
	}
	return "run-" + of.RunID
}

// pullRequest is the number in refs/pull/<number>/merge.
func pullRequest(ref string) (string, bool) {
	rest, ok := strings.CutPrefix(ref, "refs/pull/")
	number, _, _ := strings.Cut(rest, "/")
	if _, err := strconv.ParseUint(number, 10, 31); !ok || err != nil {
		return "", false
	}
	return number, true
}
