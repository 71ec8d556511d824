package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/publish/github/githubtest"
	"github.com/org/agentx-action/pkg/result/compare"
)

const (
	repository = "org/engine"
	token      = "ghs_canaryCanaryCanary0123456789"
)

// job is what a test publishes from: a server, options, and what the runner got.
type job struct {
	*githubtest.Server
	Options
	log     *bytes.Buffer
	summary string
}

func newJob(t *testing.T) *job {
	t.Helper()
	s := githubtest.New(repository)
	s.Token = token
	s.AddPull(githubtest.Pull{Number: 7, State: "open", HeadSHA: "abc0001", HeadOwner: "org", HeadBranch: "fast"})
	j := &job{Server: s, log: &bytes.Buffer{}, summary: filepath.Join(t.TempDir(), "summary.md")}
	j.Options = Options{
		Token: token, Repository: repository, Workflow: "bench", Cell: "h200", Run: 77, Attempt: 2, Transport: s.Transport(),
		APIURL: "https://api.github.test", Event: Event{Name: "pull_request", PullRequest: 7, HeadSHA: "abc0001"},
		Actions: actions.New(actions.WithWriter(j.log), actions.WithGetenv(func(key string) string {
			if key == "GITHUB_STEP_SUMMARY" {
				return j.summary
			}
			return ""
		})),
	}
	return j
}

func (j *job) publish(t *testing.T, c Content) (Outcome, error) {
	t.Helper()
	return Publish(t.Context(), j.Options, c)
}

// must publishes what GitHub takes.
func (j *job) must(t *testing.T, c Content, want Change) Outcome {
	t.Helper()
	out, err := j.publish(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if out.Comment != want {
		t.Fatalf("comment %s, want %s", out.Comment, want)
	}
	return out
}

func (j *job) summaryText(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(j.summary)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// bubble runs a test on fake time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestCommentLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		out := j.must(t, unchanged(t), Created)
		if !strings.Contains(out.CommentURL, "/pull/7#issuecomment-") || out.PullRequest != 7 || out.Standing != NoChange {
			t.Errorf("%+v", out)
		}
		before := j.Count("")
		j.must(t, unchanged(t), Unchanged)
		if n := j.Count("") - before; j.Count("PATCH") != 0 || j.Count("POST /repos") != 1 || n != 3 {
			t.Errorf("an unchanged body costs %d requests, among them %d edits", n, j.Count("PATCH"))
		}
		invalid := contents(t)["invalid"]
		invalid.Comparison.Summary = "another summary"
		better := unchanged(t)
		better.Comparison.Summary = "still nothing moved"
		j.must(t, better, Updated)
		if list := j.CommentsOn(7); len(list) != 1 || !strings.Contains(list[0].Body, "still nothing moved") {
			t.Errorf("%+v", list)
		}

		// Worse: somebody should be told.
		out = j.must(t, regressed(t), Escalated)
		list := j.CommentsOn(7)
		if len(list) != 2 {
			t.Fatalf("%d comments", len(list))
		}
		if !strings.Contains(list[0].Body, "superseded=") || !strings.Contains(list[0].Body, "[see it]("+out.CommentURL+")") || !strings.Contains(list[0].Body, "still nothing moved") {
			t.Errorf("the older comment does not point to the newer one: %s", list[0].Body)
		}
		if !strings.Contains(list[1].Body, "REGRESSION") {
			t.Errorf("%s", list[1].Body)
		}
		j.must(t, regressed(t), Unchanged)
		j.must(t, invalid, Updated) // not worse
		j.must(t, unchanged(t), Updated)
		if list = j.CommentsOn(7); len(list) != 2 || !strings.Contains(list[1].Body, "NO CHANGE SEEN") {
			t.Errorf("%+v", list)
		}
		j.Options.Comments = CommentUpdate
		j.must(t, regressed(t), Updated)
	})
}

func TestOneCommentAWorkflowAndCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		for _, o := range []struct{ workflow, cell string }{{"bench", "h200"}, {"bench", "b200"}, {"nightly", "h200"}, {"bench", "h200"}, {"bench", "h20"}} {
			j.Workflow, j.Cell = o.workflow, o.cell
			if _, err := j.publish(t, unchanged(t)); err != nil {
				t.Fatal(err)
			}
		}
		if list := j.CommentsOn(7); len(list) != 4 {
			t.Errorf("%d comments, want 4", len(list))
		}
	})
}

// Our comment is found among hundreds; a foreign one with our marker is left alone.
func TestPagesAndForeignMarkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		text := bodyOf(t, unchanged(t)).String()
		var foreign []int64
		for i := range 310 {
			body := fmt.Sprintf("comment %d", i)
			if i == 3 || i == 250 {
				body = text + "forged"
			}
			id := j.AddComment(7, "mallory", body)
			if i == 3 || i == 250 {
				foreign = append(foreign, id)
			}
		}
		j.must(t, unchanged(t), Created) // the 311th
		j.must(t, regressed(t), Escalated)
		j.must(t, unchanged(t), Updated)
		if n := j.Count("GET /repos/org/engine/issues/7/comments?page=4"); n != 3 {
			t.Errorf("the fourth page was read %d times, want 3", n)
		}
		kept := 0
		for _, c := range j.CommentsOn(7) {
			for _, id := range foreign {
				if c.ID == id && strings.HasSuffix(c.Body, "forged") {
					kept++
				}
			}
		}
		if kept != 2 || len(j.CommentsOn(7)) != 312 {
			t.Errorf("%d of 2 foreign comments are as they were; %d comments in all", kept, len(j.CommentsOn(7)))
		}
		if !strings.Contains(j.log.String(), "2 comments of others carry our marker") {
			t.Errorf("log: %s", j.log)
		}
	})
}

func TestDuplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		text := bodyOf(t, unchanged(t)).String()
		for range 3 {
			j.AddComment(7, githubtest.Job, text)
		}
		j.AddComment(7, "mallory", text)
		out := j.must(t, unchanged(t), Unchanged)
		if list := j.CommentsOn(7); len(list) != 2 || out.Duplicates != 2 || list[1].Login != "mallory" {
			t.Errorf("%d removed, %+v", out.Duplicates, list)
		}
	})
}

// A personal token asks /user; a job's token can't, and asks GraphQL.
func TestWhoseToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			login string
			app   bool
			graph *githubtest.Failure
			asked string
		}{
			{"alice", false, nil, "GET /user"}, {githubtest.Job, true, nil, "POST /graphql"}, {"agentx[bot]", true, nil, "POST /graphql"},
			{githubtest.Job, true, &githubtest.NotFound, "POST /graphql"},
		} {
			j := newJob(t)
			j.Server.Login, j.App = c.login, c.app
			if c.graph != nil {
				j.Fail("POST /graphql", -1, *c.graph)
			}
			j.must(t, unchanged(t), Created)
			if j.Count(c.asked) != 0 {
				t.Error("asked without need")
			}
			j.must(t, unchanged(t), Unchanged)
			if j.Count(c.asked) != 1 {
				t.Errorf("%s: %q was asked %d times", c.login, c.asked, j.Count(c.asked))
			}
		}
		j := newJob(t)
		j.Options.Login = "me"
		j.Server.Login = "me"
		j.must(t, unchanged(t), Created)
		j.must(t, unchanged(t), Unchanged)
		if j.Count("GET /user")+j.Count("POST /graphql") != 0 {
			t.Error("asked although it was told")
		}
	})
}

func TestShedOnRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		j.MaxBody = 7000 // less than we think
		out := j.must(t, regressed(t), Created)
		if len(out.Shed) == 0 || out.Shed[0] != "all figures of the head" {
			t.Errorf("shed %v", out.Shed)
		}
		if body := j.CommentsOn(7)[0].Body; length(body) > 7000 || !strings.Contains(body, "_Left out,") {
			t.Errorf("%d characters", length(body))
		}
		if !strings.Contains(j.summaryText(t), "All figures of the head") {
			t.Error("the summary was shed as well")
		}
		j.Options.CheckRun = "AgentX"
		j.Fail("POST /repos/org/engine/check-runs", 2, githubtest.TooLong)
		if out, err := j.publish(t, regressed(t)); err != nil || out.CheckRunURL == "" {
			t.Errorf("%+v, %v", out, err)
		}
		j.MaxBody = 10
		out, err := j.publish(t, unchanged(t))
		var r *Refused
		if !errors.As(err, &r) || r.Status != 422 || out.Comment != NotSent {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// What GitHub refuses is a value that says what to do; the summary has the text.
func TestRefusals(t *testing.T) {
	const post, list = "POST /repos/org/engine/issues/7/comments", "GET /repos/org/engine/issues/7/comments"
	for _, c := range []struct {
		name, at string
		fail     githubtest.Failure
		times    int
		event    Event
		status   int
		requests int // most
		says     []string
	}{
		{"forbidden", post, githubtest.Forbidden, -1, Event{}, 403, 2, []string{"not accessible by integration", "pull-requests: write"}},
		{"fork", post, githubtest.Forbidden, -1, Event{Name: "pull_request", Fork: true}, 403, 2, []string{"workflow_run"}},
		{"locked", post, githubtest.Locked, -1, Event{}, 403, 2, []string{"locked"}},
		{"not found", list, githubtest.NotFound, -1, Event{}, 404, 1, []string{"may see the repository"}},
		{"gone", list, githubtest.Gone, -1, Event{}, 410, 1, []string{"switched off"}},
		{"unprocessable", post, githubtest.Spammed, -1, Event{}, 422, 2, []string{"too quickly"}},
		{"broken for ever", post, githubtest.Broken, -1, Event{}, 502, 8, []string{"agentx publish"}},
		{"secondary limit for ever", post, githubtest.Secondary(20), -1, Event{}, 403, 8, []string{"secondary rate limit"}},
		{"secondary limit beyond the budget", post, githubtest.Secondary(3600), -1, Event{}, 403, 2, []string{"secondary rate limit"}},
		{"slow", list, githubtest.Failure{Delay: time.Hour}, -1, Event{}, 0, 4, []string{"agentx publish"}},
	} {
		bubble(t, c.name, func(t *testing.T) {
			j := newJob(t)
			j.Fail(c.at, c.times, c.fail)
			if c.event.Name != "" {
				c.event.PullRequest = 7
				j.Event = c.event
			}
			from := time.Now()
			out, err := j.publish(t, regressed(t))
			var r *Refused
			if !errors.As(err, &r) {
				t.Fatalf("error %v", err)
			}
			if r.Status != c.status || r.What != "comment" || out.Comment != NotSent || len(out.Refused) != 1 {
				t.Errorf("%+v %+v", r, out)
			}
			summary := j.summaryText(t)
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q is not in %q", s, err)
				}
			}
			for _, s := range []string{"REGRESSION", "Moved most", "### Not published", "Comment refused"} {
				if !strings.Contains(summary, s) {
					t.Errorf("%q is not in the summary", s)
				}
			}
			if n := j.Count(""); n > c.requests {
				t.Errorf("%d requests, want at most %d", n, c.requests)
			}
			if took := time.Since(from); took > defaultBudget+time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestItSucceedsLater(t *testing.T) {
	const post, list = "POST /repos/org/engine/issues/7/comments", "GET /repos/org/engine/issues/7/comments"
	for name, set := range map[string]func(j *job){
		"5xx twice":         func(j *job) { j.Fail(post, 2, githubtest.Broken) },
		"5xx while listing": func(j *job) { j.Fail(list, 3, githubtest.Broken) },
		"secondary limit":   func(j *job) { j.Fail(post, 1, githubtest.Secondary(30)) },
		"429": func(j *job) {
			j.Fail(list, 1, githubtest.Failure{Status: 429, Header: map[string]string{"Retry-After": "5"}, Body: `{}`})
		},
		"hourly limit":          func(j *job) { j.Fail(list, 1, githubtest.Limited(time.Now().Add(40*time.Second))) },
		"no answer":             func(j *job) { j.Fail(list, 1, githubtest.Failure{Delay: 45 * time.Second}) },
		"made, but answer lost": func(j *job) { f := githubtest.Broken; f.Done = true; j.Fail(post, 1, f) },
	} {
		bubble(t, name, func(t *testing.T) {
			j := newJob(t)
			set(j)
			from := time.Now()
			j.must(t, regressed(t), Created)
			if n := len(j.CommentsOn(7)); n != 1 {
				t.Errorf("%d comments", n)
			}
			if took := time.Since(from); took > defaultBudget || took < time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	bubble(t, "a worse one made, but answer lost", func(t *testing.T) {
		j := newJob(t)
		j.must(t, unchanged(t), Created)
		f := githubtest.Broken
		f.Done = true
		j.Fail(post, 1, f)
		j.must(t, regressed(t), Escalated)
		if list := j.CommentsOn(7); len(list) != 2 || !strings.Contains(list[0].Body, "superseded=") {
			t.Errorf("%+v", list)
		}
	})
	bubble(t, "removed meanwhile", func(t *testing.T) {
		j := newJob(t)
		j.must(t, unchanged(t), Created)
		j.Fail("PATCH", 1, githubtest.NotFound)
		changed := unchanged(t)
		changed.Comparison.Summary = "x"
		j.must(t, changed, Created)
	})
}

// The caller's own end counts as well.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		j.Fail("GET", -1, githubtest.Failure{Delay: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		from := time.Now()
		if _, err := Publish(ctx, j.Options, regressed(t)); err == nil || time.Since(from) > 4*time.Second {
			t.Errorf("%v after %v", err, time.Since(from))
		}
	})
}

func TestCheckRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		j.Options.CheckRun = "AgentX / h200"
		j.Comments = CommentOff
		out := j.must(t, regressed(t), Skipped)
		runs := j.CheckRuns()
		if len(runs) != 1 || out.CheckRunURL == "" {
			t.Fatalf("%+v", out)
		}
		if r := runs[0]; r["conclusion"] != "failure" || r["head_sha"] != "abc0001" || r["status"] != "completed" || r["details_url"] != "https://github.com/org/fork/actions/runs/77/attempts/1" {
			t.Errorf("%v", r)
		}
		if len(j.CommentsOn(7)) != 0 {
			t.Error("a comment, although they are off")
		}
		j.Fail("POST /repos/org/engine/check-runs", -1, githubtest.Forbidden)
		if _, err := j.publish(t, regressed(t)); err == nil || !strings.Contains(err.Error(), "checks: write") {
			t.Error(err)
		}
	})
}

func TestSummaryAndAnnotations(t *testing.T) {
	for name, want := range map[string]string{
		"regression": "::error title=AgentX%3A regression::TTFT p50 +10.2 %25 (regression)",
		"nochange":   "",
		"invalid":    "::error title=AgentX%3A not a valid submission::The run ended before its time.\n::warning title=AgentX%3A not to be trusted::12 %25 of the requests failed.\n",
		"noresult":   "::error title=AgentX%3A no result::the engine died",
		"allfailed":  "::error title=AgentX%3A no result::",
		"refused":    "::warning title=AgentX%3A not compared::",
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t)
			j.Options.Token = ""
			out := j.must(t, contents(t)[name], Skipped)
			if j.Count("") != 0 {
				t.Error("something was sent without a token")
			}
			if log := j.log.String(); !strings.HasPrefix(log, want) || want == "" && log != "" {
				t.Errorf("log %q, want %q", log, want)
			}
			if s := j.summaryText(t); !strings.Contains(s, strings.ToUpper(string(out.Standing))) || strings.Contains(s, "<!--") {
				t.Errorf("summary %s", s)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	j := newJob(t)
	j.Options.CheckRun = "AgentX"
	p, err := Plan(j.Options, regressed(t))
	if err != nil {
		t.Fatal(err)
	}
	if p.Body != bodyOf(t, regressed(t)).String() || p.Standing != Regressed || p.PullRequest != 7 || len(p.Annotations) != 1 {
		t.Errorf("%+v", p)
	}
	if got := strings.Join(p.Steps, "\n"); !strings.Contains(got, "comment on https://github.com/org/engine/pull/7: create it, or update") || !strings.Contains(got, `check run "AgentX" on abc0001: failure`) {
		t.Error(got)
	}
	if j.Count("") != 0 || j.log.Len() != 0 {
		t.Error("a plan is no deed")
	}
}

// Enterprise's addresses, a proxy, and a redirect that must not take the token along.
func TestAddresses(t *testing.T) {
	s := githubtest.New(repository)
	s.Prefix, s.Token = "/api/v3", token
	server := httptest.NewServer(s)
	defer server.Close()
	o := Options{Token: token, Repository: repository, APIURL: server.URL + "/api/v3", Event: Event{PullRequest: 7}}
	for _, want := range []Change{Created, Unchanged} {
		if out, err := Publish(t.Context(), o, unchanged(t)); err != nil || out.Comment != want {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if s.Count("POST /graphql") != 1 {
		t.Error("Enterprise's GraphQL was not asked")
	}

	var through []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = append(through, r.URL.Host)
		s.Prefix = ""
		s.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	o.APIURL = "http://api.github.invalid"
	o.Proxy = httpproxy.Config{HTTPProxy: proxy.URL}
	if out, err := Publish(t.Context(), o, unchanged(t)); err != nil || out.Comment != Unchanged || len(through) == 0 || through[0] != "api.github.invalid" {
		t.Errorf("%+v, %v, through %v", out, err, through)
	}

	var leaked string
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = r.Header.Get("Authorization")
		asked++
		http.NotFound(w, r)
	}))
	defer other.Close()
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer moved.Close()
	_, _ = Publish(t.Context(), Options{Token: token, Repository: repository, APIURL: moved.URL, Event: Event{PullRequest: 7}}, unchanged(t))
	if leaked != "" || asked == 0 {
		t.Errorf("another host was shown %q in %d requests", leaked, asked)
	}
	for _, bad := range []Options{
		{Token: token, Repository: "x", Event: Event{PullRequest: 7}}, {Token: token, Repository: repository, APIURL: "::", Event: Event{PullRequest: 7}},
		{Token: token, Repository: "a/b/c", Event: Event{PullRequest: 7}},
	} {
		if _, err := Publish(t.Context(), bad, unchanged(t)); err == nil {
			t.Errorf("no error for %q %q", bad.Repository, bad.APIURL)
		}
	}
}

// The token is in no log, error, summary or body, whatever goes wrong.
func TestSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []*githubtest.Failure{nil, &githubtest.Forbidden, &githubtest.Broken, &githubtest.TooLong,
			{Status: 200, Body: "not JSON " + token}, {Status: 403, Body: `{"message":"bad token Bearer ` + token + `"}`}, {Delay: time.Hour}} {
			j := newJob(t)
			if f != nil {
				j.Fail("", -1, *f)
			}
			j.Options.CheckRun = "AgentX"
			out, err := j.publish(t, regressed(t))
			p, planErr := Plan(j.Options, regressed(t))
			all := fmt.Sprint(out, err, p, planErr, j.log, j.summaryText(t))
			for _, r := range out.Refused {
				all += fmt.Sprint(r.Err)
			}
			for _, r := range j.Requests() {
				if got := r.Header.Get("Authorization"); got != "Bearer "+token {
					t.Errorf("authorization %q", got)
				}
				r.Header.Del("Authorization")
				all += fmt.Sprint(r.Path, r.Header, string(r.Body))
			}
			if strings.Contains(all, "canary") {
				t.Errorf("the token is shown with %+v", f)
			}
		}
	})
}

// A workflow_run's pull request is found by the event, never by the artifact.
func TestFindPullRequest(t *testing.T) {
	pulls := []githubtest.Pull{
		{Number: 1, State: "open", HeadSHA: "victim1", HeadOwner: "victim", HeadBranch: "main"},
		{Number: 2, State: "open", HeadSHA: "fork002", HeadOwner: "forker", HeadBranch: "patch-1"},
		{Number: 3, State: "closed", HeadSHA: "fork003", HeadOwner: "forker", HeadBranch: "old"},
		{Number: 4, State: "open", HeadSHA: "fork004b", HeadOwner: "forker", HeadBranch: "moving"},
		{Number: 5, State: "open", HeadSHA: "same005", HeadOwner: "victim", HeadBranch: "x"},
	}
	for name, c := range map[string]struct {
		e    Event
		want int
	}{
		"by branch and commit":     {Event{Find: true, HeadSHA: "fork002", HeadOwner: "forker", HeadBranch: "patch-1"}, 2},
		"closed meanwhile":         {Event{Find: true, HeadSHA: "fork003", HeadOwner: "forker", HeadBranch: "old"}, 3},
		"branch renamed":           {Event{Find: true, HeadSHA: "fork002", HeadOwner: "forker", HeadBranch: "patch-9"}, 2},
		"moved on":                 {Event{Find: true, HeadSHA: "fork004", HeadOwner: "forker", HeadBranch: "moving"}, 4},
		"the commit of another":    {Event{Find: true, HeadSHA: "same005", HeadOwner: "mallory", HeadBranch: "main"}, 0},
		"an owner that is a trick": {Event{Find: true, HeadSHA: "victim1", HeadOwner: "", HeadBranch: "main"}, 0},
		"none":                     {Event{Find: true, HeadSHA: "none", HeadOwner: "forker", HeadBranch: "none"}, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			j := newJob(t)
			for _, p := range pulls {
				j.AddPull(p)
			}
			c.e.Name = "workflow_run"
			j.Event = c.e
			out, err := j.publish(t, unchanged(t))
			if out.PullRequest != c.want || (err != nil) != (c.want == 0) {
				t.Errorf("pull request %d, want %d, %v", out.PullRequest, c.want, err)
			}
			var r *Refused
			if c.want == 0 && !errors.As(err, &r) {
				t.Errorf("%v is no refusal", err)
			}
		})
	}
}

// A comment on a pull request names no commit; GitHub is asked for it.
func TestHeadSHA(t *testing.T) {
	for n, want := range map[int]string{8: fastSHA, 7: "no commit", 6: "refused"} {
		bubble(t, fmt.Sprint(n), func(t *testing.T) {
			j := newJob(t)
			j.AddPull(githubtest.Pull{Number: 8, State: "open", HeadSHA: fastSHA, HeadOwner: "org", HeadBranch: "x"})
			sha, err := HeadSHA(t.Context(), j.Options, n)
			if err == nil && sha != want || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q, %v; want %q", sha, err, want)
			}
		})
	}
}

func TestWorse(t *testing.T) {
	for _, c := range []struct {
		f    compare.Finding
		want bool
	}{
		{compare.Finding{}, false},
		{compare.Finding{Ratio: ptr(1.1), Better: compare.LowerIsBetter}, true}, {compare.Finding{Ratio: ptr(1.1), Better: compare.HigherIsBetter}, false},
		{compare.Finding{Ratio: ptr(0.1), Absolute: true, Better: compare.LowerIsBetter}, true}, {compare.Finding{Ratio: ptr(0.9), Better: compare.HigherIsBetter}, true},
		{compare.Finding{Ratio: ptr(1.1), Better: "?"}, false},
	} {
		if got := worse(&c.f); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
	if _, err := url.Parse(defaultServer); err != nil {
		t.Error(err)
	}
}
