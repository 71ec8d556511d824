package store

import "testing"

func TestWhoMayWriteABaseline(t *testing.T) {
	main := "refs/heads/main"
	run := func(up Event) Event {
		return Event{Name: "workflow_run", Ref: main, DefaultBranch: "main", Upstream: &up}
	}
	for name, c := range map[string]struct {
		e   Event
		may bool
		ref string
	}{
		"push":                        {Event{Name: "push", Ref: main}, true, "main"},
		"nightly":                     {Event{Name: "schedule", Ref: main}, true, "main"},
		"by hand":                     {Event{Name: "workflow_dispatch", Ref: main}, true, "main"},
		"by hand on a branch":         {Event{Name: "workflow_dispatch", Ref: "refs/heads/x/y"}, false, "x/y"},
		"push to a branch":            {Event{Name: "push", Ref: "refs/heads/feature"}, false, "feature"},
		"a tag of the branch's name":  {Event{Name: "push", Ref: "refs/tags/main"}, false, "tag-main"},
		"pull request":                {Event{Name: "pull_request", Ref: "refs/pull/7/merge"}, false, "pr-7"},
		"pull request by number":      {Event{Name: "pull_request", Ref: main, PullRequest: 7}, false, "pr-7"},
		"pull_request_target":         {Event{Name: "pull_request_target", Ref: main, PullRequest: 8}, false, "pr-8"},
		"pull_request_target, hidden": {Event{Name: "pull_request_target", Ref: main}, false, "pull_request_target-main"},
		"a comment":                   {Event{Name: "issue_comment", Ref: main}, false, "issue_comment-main"},
		"merge queue":                 {Event{Name: "merge_group", Ref: "refs/heads/gh-readonly-queue/main/pr-7-abc"}, false, "merge_group-gh-readonly-queue/main/pr-7-abc"},
		"push for a fork":             {Event{Name: "push", Ref: main, Fork: true, RunID: "5"}, false, "fork-5"},
		"push with a pull request":    {Event{Name: "push", Ref: main, PullRequest: 9}, false, "pr-9"},
		"after a push":                {run(Event{Name: "push", Ref: main}), true, "main"},
		"after a push elsewhere":      {run(Event{Name: "push", Ref: "refs/heads/x"}), false, "x"},
		"after a fork's main":         {run(Event{Name: "pull_request", Ref: main, Fork: true, RunID: "5"}), false, "fork-5"},
		"after a fork's push":         {run(Event{Name: "push", Ref: main, Fork: true, RunID: "5"}), false, "fork-5"},
		"after a pull request":        {run(Event{Name: "pull_request", Ref: "refs/heads/main", PullRequest: 7}), false, "pr-7"},
		"after who knows what":        {Event{Name: "workflow_run", Ref: main, RunID: "5"}, false, "workflow_run-main"},
		"after another":               {run(Event{Name: "workflow_run", Ref: main, RunID: "6"}), false, "workflow_run-main"},
		"an event to come":            {Event{Name: "push_force", Ref: main}, false, "push_force-main"},
		"nothing":                     {Event{RunID: "4"}, false, "run-4"},
	} {
		c.e.DefaultBranch = "main"
		err := MayWriteBaseline(c.e)
		if (err == nil) != c.may {
			t.Errorf("%s: %v", name, err)
		}
		if got := RefOf(c.e); got != c.ref {
			t.Errorf("%s: %q, want %q", name, got, c.ref)
		}
	}
	if MayWriteBaseline(Event{Name: "push", Ref: "refs/heads/"}) == nil {
		t.Error("without a default branch")
	}
	// Whatever the default branch is called.
	e := Event{Name: "pull_request", Ref: "refs/pull/7/merge", DefaultBranch: "pr-7"}
	if got := RefOf(e); got == "pr-7" || MayWriteBaseline(e) == nil {
		t.Errorf("a pull request is kept as %q", got)
	}
}
