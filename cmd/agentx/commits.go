package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/publish/github"
	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/result/compare"
)

// stateSHA is the commit that a job is of, where its event doesn't say it.
const stateSHA = "sha"

// learnHead finds the commit that a comment on a pull request is about: the one that
// the pull request has now, since the event names none. It is asked for before the
// measurement, during which somebody may push.
func (w *workplace) learnHead(c *console, f *publishFlags) {
	n := w.event.PullRequest
	if w.event.HeadSHA != "" || n == 0 {
		return
	}
	if w.event.HeadSHA = w.Getenv("STATE_" + stateSHA); w.event.HeadSHA != "" {
		return
	}
	if f.GitHubToken == "" {
		fmt.Fprintf(c.err, "note: the event %s does not say which commit pull request %d has, and there is no token to ask with: set GITHUB_TOKEN, or --github-token\n", w.event.Name, n)
		return
	}
	sha, err := github.HeadSHA(c.ctx, f.github(w, ""), n)
	if err != nil {
		fmt.Fprintf(c.err, "note: the event %s does not say which commit pull request %d has, and GitHub would not: %s\n", w.event.Name, n, c.secrets.Mask(err.Error()))
		return
	}
	w.event.HeadSHA = sha
}

// baseSHA is the commit that the base of this job was built from: the one named, the
// one that the run kept, or the tip of the pull request's base branch. Of artifacts of
// strangers the second is a claim.
func (p *publication) baseSHA(base *seen) (sha string, claimed bool) {
	if p.flags.BaseSHA != "" {
		return p.flags.BaseSHA, false
	}
	if kept := base.Document.Settings.Other[otherBase]; github.WholeCommit(kept) {
		return kept, p.untrusted
	}
	sha, _ = dig(p.workplace.github.Event, "pull_request", "base", "sha").(string)
	return sha, false
}

// maxCommits bounds what is said of a base of several runs.
const maxCommits = 5

// storedCommits are the commits of a base's runs that lie in a store, or were fetched
// from one: their folders are named by their keys.
func storedCommits(runs []compare.RunRef) string {
	var list []string
	for _, r := range runs {
		ref, err := store.ParseReference(filepath.ToSlash(r.Where))
		if err == nil && ref.Key != nil && ref.Key.SHA != "" && !slices.Contains(list, ref.Key.SHA) {
			list = append(list, ref.Key.SHA)
		}
	}
	if more := len(list) - maxCommits; more > 0 {
		list = append(list[:maxCommits], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}
