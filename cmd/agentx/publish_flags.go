package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/publish/github"
	"github.com/org/agentx-action/pkg/publish/store"
)

// publishFlags say who is told of a result.
type publishFlags struct {
	Comment  string `enum:"sticky,update,off" default:"sticky" help:"The pull request's comment: sticky is updated in place, and made anew when the verdict gets worse; update is only updated; off." placeholder:"HOW" group:"Publishing"`
	CheckRun string `help:"Name of a check run to make at the commit; none when not given." placeholder:"NAME" group:"Publishing" config:"substitute"`
	Cell     string `help:"Name of this point of a matrix: each has a comment and a history of its own. From engine, model, tensor parallelism and concurrency when not given; of artifacts the one that their run had." placeholder:"NAME" group:"Publishing" config:"substitute"`
	BaseSHA  string `name:"base-sha" help:"Commit that the base of this job (--base-image and the like) was built from; the tip of the pull request's base branch when not given, so name it where that is not what was built, as a merge base." placeholder:"SHA" group:"Publishing" config:"substitute"`
	// Of the store, but only a job of GitHub's knows which repository's.
	CompareBranch string `help:"In a workflow, the branch whose newest accepted runs in --store are the base; the pull request's base branch, or the branch itself, when not given; none for no base." placeholder:"NAME" group:"Publishing" config:"substitute"`
	GitHubToken   string `name:"github-token" env:"GITHUB_TOKEN" help:"Token for the comment and the check run; GITHUB_TOKEN when not given." placeholder:"TOKEN" group:"Publishing" config:"substitute,secret"`
	storeFlags
}

func (f *publishFlags) checkBaseSHA() error {
	if f.BaseSHA == "" || github.WholeCommit(f.BaseSHA) {
		return nil
	}
	return fmt.Errorf("--base-sha %s: want a whole commit, 40 hexadecimal digits in lower case, as git rev-parse writes it", strconv.QuoteToASCII(f.BaseSHA[:min(len(f.BaseSHA), 80)]))
}

// workplace is where this program runs, as GitHub's runner tells it. Outside of one
// almost all of it is empty.
type workplace struct {
	*actions.Action
	github *actions.GitHubContext
	event  github.Event
	store  store.Event
}

// newWorkplace reads the runner's environment and the event.
func newWorkplace(a *actions.Action) (*workplace, error) {
	g, err := a.Context()
	if err != nil {
		return nil, err
	}
	path := g.EventPath
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		path = ""
	}
	e, err := github.ReadEvent(g.EventName, path, g.Repository, g.Ref, g.SHA)
	if err != nil {
		return nil, err
	}
	return &workplace{Action: a, github: g, event: e, store: storeEvent(g, e)}, nil
}

// storeEvent is the event as the store asks for it, from what GitHub itself wrote.
func storeEvent(g *actions.GitHubContext, e github.Event) store.Event {
	branch, _ := dig(g.Event, "repository", "default_branch").(string)
	s := store.Event{Name: g.EventName, Ref: g.Ref, DefaultBranch: branch, Fork: e.Fork, PullRequest: e.PullRequest, RunID: fmt.Sprint(g.RunID)}
	if g.EventName != "workflow_run" {
		return s
	}
	run := func(key string) string { text, _ := dig(g.Event, "workflow_run", key).(string); return text }
	up := store.Event{Name: run("event"), Fork: e.Fork, PullRequest: e.PullRequest}
	if head := run("head_branch"); head != "" {
		up.Ref = "refs/heads/" + head
	}
	if id, ok := dig(g.Event, "workflow_run", "id").(float64); ok {
		up.RunID = fmt.Sprintf("%.0f", id)
	}
	s.Upstream = &up
	return s
}

// dig is a member of a payload, however deep; nil where it is not.
func dig(v any, path ...string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// strangers reports whether the job runs with the rights of a fork's pull request,
// which may read and nothing else.
func (w *workplace) strangers() bool { return w.event.Fork && w.event.Name == "pull_request" }

// measured is the run that did the work: the one that a workflow_run tells of, or this
// job's own. Told of again, it is the same run.
func (w *workplace) measured() (id, attempt int64) {
	if m := w.event.Measured; m.ID != 0 {
		return m.ID, m.Attempt
	}
	return w.github.RunID, w.github.RunAttempt
}

// runURL is the page of that run.
func (w *workplace) runURL() string {
	m := w.event.Measured
	if m.URL == "" {
		return w.pageOf(w.measured())
	}
	return attemptOf(m.URL, m.Attempt)
}

// ownURL is the page of this job's run.
func (w *workplace) ownURL() string { return w.pageOf(w.github.RunID, w.github.RunAttempt) }

func (w *workplace) pageOf(id, attempt int64) string {
	g := w.github
	if id == 0 || g.Repository == "" {
		return ""
	}
	return attemptOf(fmt.Sprintf("%s/%s/actions/runs/%d", strings.TrimSuffix(g.ServerURL, "/"), g.Repository, id), attempt)
}

func attemptOf(page string, attempt int64) string {
	if attempt > 1 {
		page += fmt.Sprintf("/attempts/%d", attempt)
	}
	return page
}

// runner names the machine.
func (w *workplace) runner() string {
	var words []string
	for _, name := range []string{"RUNNER_NAME", "RUNNER_OS", "RUNNER_ARCH"} {
		if v := w.Getenv(name); v != "" {
			words = append(words, v)
		}
	}
	return strings.Join(words, " ")
}

// options of publishing to GitHub.
func (f *publishFlags) github(w *workplace, cell string) github.Options {
	o := github.Options{
		Token: f.GitHubToken, APIURL: w.github.APIURL, GraphQLURL: w.github.GraphqlURL, ServerURL: w.github.ServerURL,
		Proxy: *httpproxy.FromEnvironment(), Repository: w.github.Repository, Workflow: cmp.Or(w.event.Measured.Workflow, w.github.Workflow), Cell: cell,
		Event: w.event, CheckRun: f.CheckRun, Actions: w.Action,
	}
	o.Run, o.Attempt = w.measured()
	switch f.Comment {
	case "update":
		o.Comments = github.CommentUpdate
	case "off":
		o.Comments = github.CommentOff
	}
	return o
}
