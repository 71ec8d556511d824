package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/publish/github/githubtest"
	"github.com/org/agentx-action/pkg/result"
)

// These tests run the program as GitHub's runner does: its inputs, its files, and an
// event's payload in the shape that GitHub documents ("Webhook events and payloads").

// Commits and numbers in the events.
const (
	actionRepo  = "octo/engine"
	actionHead  = "1111111111111111111111111111111111111111"
	actionBase  = "2222222222222222222222222222222222222222"
	actionMerge = "3333333333333333333333333333333333333333"
	actionPull  = 7
)

// payloads by a name of ours.
var actionPayloads = map[string]struct{ event, ref, sha, json string }{
	"push":     {"push", "refs/heads/main", actionHead, `{"ref":"refs/heads/main","after":"` + actionHead + `",` + actionRepository + `}`},
	"schedule": {"schedule", "refs/heads/main", actionHead, `{"schedule":"0 3 * * *",` + actionRepository + `}`},
	"dispatch": {"workflow_dispatch", "refs/heads/feature", actionHead, `{"inputs":{},"ref":"refs/heads/feature",` + actionRepository + `}`},
	"pull":     {"pull_request", "refs/pull/7/merge", actionMerge, `{"action":"labeled","number":7,"pull_request":` + pullRequestJSON(actionRepo) + `,` + actionRepository + `}`},
	"fork":     {"pull_request", "refs/pull/7/merge", actionMerge, `{"action":"labeled","number":7,"pull_request":` + pullRequestJSON("stranger/engine") + `,` + actionRepository + `}`},
	"comment":  {"issue_comment", "refs/heads/main", actionBase, `{"action":"created","issue":{"number":7,"pull_request":{}},"comment":{"body":"/bench"},` + actionRepository + `}`}, // names no commit
	"run": {"workflow_run", "refs/heads/main", actionBase, `{"action":"completed","workflow":{"name":"bench"},"workflow_run":{"id":77,"run_attempt":2,"html_url":"https://github.test/octo/engine/actions/runs/77","name":"All is 40 % faster","event":"pull_request","head_sha":"` + actionHead +
		`","head_branch":"main","head_repository":{"full_name":"stranger/engine","owner":{"login":"stranger"}},"pull_requests":[]},` + actionRepository + `}`},
}

const actionRepository = `"repository":{"full_name":"` + actionRepo + `","default_branch":"main","owner":{"login":"octo"}}`

func pullRequestJSON(head string) string {
	owner, _, _ := strings.Cut(head, "/")
	return fmt.Sprintf(`{"number":%d,"state":"open","head":{"sha":%q,"ref":"change","repo":{"full_name":%q,"owner":{"login":%q}}},"base":{"sha":%q,"ref":"main","repo":{"full_name":%q}}}`,
		actionPull, actionHead, head, owner, actionBase, actionRepo)
}

// actionHost is a runner with a workspace, and GitHub's API.
type actionHost struct {
	t      *testing.T
	api    *githubtest.Server
	dir    string // the workspace
	files  string // the runner's own
	env    map[string]string
	inputs map[string]string
	state  map[string]string
	extra  []string // further environment
}

func newActionHost(t *testing.T, payload string) *actionHost {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program: not with -short")
	}
	h := &actionHost{t: t, api: githubtest.New(actionRepo), dir: t.TempDir(), files: t.TempDir(), state: map[string]string{}}
	h.api.AddPull(githubtest.Pull{Number: actionPull, State: "open", HeadSHA: actionHead, HeadOwner: "octo", HeadBranch: "change"})
	server := httptest.NewServer(h.api)
	t.Cleanup(server.Close)
	h.env = map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_API_URL": server.URL, "GITHUB_GRAPHQL_URL": server.URL + "/graphql", "GITHUB_SERVER_URL": "https://github.test",
		"GITHUB_REPOSITORY": actionRepo, "GITHUB_REPOSITORY_OWNER": "octo", "GITHUB_WORKFLOW": "bench", "GITHUB_JOB": "gpu", "GITHUB_RUN_ID": "55", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_RUN_NUMBER": "3",
		"GITHUB_WORKSPACE": h.dir, "RUNNER_NAME": "gpu-1", "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_TEMP": h.files, "HOME": h.files, "PATH": os.Getenv("PATH"),
	}
	h.on(payload)
	h.inputs = map[string]string{
		"github-token": "ghs_job", "concurrency": "2", "benchmark-duration": "1", "benchmark-grace-period": "1", "trace-idle-gap-cap-seconds": "0.2", "warmup-requests-per-lane": "0",
		"fixed-shapes": "none", "stats-interval": "0",
	}
	return h
}

// on lets an event happen.
func (h *actionHost) on(payload string) {
	p := actionPayloads[payload]
	name := filepath.Join(h.files, "event.json")
	if err := os.WriteFile(name, []byte(p.json), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.env["GITHUB_EVENT_NAME"], h.env["GITHUB_EVENT_PATH"], h.env["GITHUB_REF"], h.env["GITHUB_SHA"] = p.event, name, p.ref, p.sha
	h.env["GITHUB_REF_NAME"] = strings.TrimPrefix(p.ref, "refs/heads/")
}

// actionStep is what came of a step.
type actionStep struct {
	code    int
	log     string // as the runner shows it: without commands that mask
	masks   []string
	outputs map[string]string
	summary string
}

// command prepares a step; the files that it writes to are empty.
func (h *actionHost) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	h.t.Helper()
	program, err := exec.LookPath(args[0])
	if err != nil {
		h.t.Fatal(err)
	}
	c := exec.Command(program, args[1:]...)
	c.Dir = h.dir
	for name, value := range h.env {
		c.Env = append(c.Env, name+"="+value)
	}
	for name, value := range h.inputs {
		c.Env = append(c.Env, "INPUT_"+strings.ToUpper(name)+"="+value)
	}
	for name, value := range h.state {
		c.Env = append(c.Env, "STATE_"+name+"="+value)
	}
	c.Env = append(c.Env, h.extra...)
	for _, name := range []string{"OUTPUT", "STATE", "STEP_SUMMARY", "ENV", "PATH"} {
		file := filepath.Join(h.files, strings.ToLower(name))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			h.t.Fatal(err)
		}
		c.Env = append(c.Env, "GITHUB_"+name+"="+file)
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	return c, &out
}

// run plays a step to its end.
func (h *actionHost) run(args ...string) actionStep {
	h.t.Helper()
	c, out := h.command(args...)
	return h.ended(c.Run(), out)
}

func (h *actionHost) ended(err error, out *bytes.Buffer) (s actionStep) {
	h.t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	if exit != nil {
		s.code = exit.ExitCode()
	}
	masking := regexp.MustCompile(`(?m)^::add-mask::(.*)\n`)
	for _, m := range masking.FindAllStringSubmatch(out.String(), -1) {
		s.masks = append(s.masks, m[1])
	}
	s.log = masking.ReplaceAllString(out.String(), "")
	s.outputs = h.pairs("output")
	for name, value := range h.pairs("state") {
		h.state[name] = value
	}
	text, err := os.ReadFile(filepath.Join(h.files, "step_summary"))
	if err != nil {
		h.t.Fatal(err)
	}
	s.summary = string(text)
	return s
}

// pairs reads a file command as the runner does.
func (h *actionHost) pairs(file string) map[string]string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.files, file))
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[string]string{}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		name, end, ok := strings.Cut(lines[i], "<<")
		if !ok {
			continue
		}
		n := slices.Index(lines[i+1:], end)
		if n < 0 {
			h.t.Fatalf("%s: %q has no end", file, lines[i])
		}
		out[name] = strings.Join(lines[i+1:i+1+n], "\n")
		i += n + 1
	}
	return out
}

// want fails the test where a step ended otherwise.
func (s actionStep) want(t *testing.T, code int, says ...string) {
	t.Helper()
	if s.code != code {
		t.Fatalf("exit code %d, want %d\n%s", s.code, code, s.log)
	}
	for _, text := range says {
		if !strings.Contains(s.log, text) {
			t.Fatalf("the log does not say %q:\n%s", text, s.log)
		}
	}
}

// stored are the runs in a folder store, by their ref and commit.
func (h *actionHost) stored(dir string) (refs []string) {
	h.t.Helper()
	err := fs.WalkDir(os.DirFS(filepath.Join(h.dir, dir)), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == result.FileManifest {
			parts := strings.Split(name, "/")
			refs = append(refs, parts[4]+" "+strings.Split(parts[5], "-")[1])
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.t.Fatal(err)
	}
	return refs
}

// A pull request: a comment, a summary, outputs, and the result in the store under
// the pull request's own ref; the same again changes nothing, another result is an
// update, and the post step has nothing left to do.
func TestActionPullRequest(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	h.inputs["store"], h.inputs["check-run"] = "kept", "agentx"
	s := h.run("agentx", "action")
	s.want(t, exitDone, "::group::Run\n", "::endgroup::\n", "comment: created")
	comments := h.api.CommentsOn(actionPull)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, actionHead[:7]) || !strings.Contains(comments[0].Body, "https://github.test/octo/engine/actions/runs/55") {
		t.Fatalf("comments %+v", comments)
	}
	if marker, _, _ := strings.Cut(comments[0].Body, "\n"); !strings.HasSuffix(marker, " run=55 attempt=1 -->") {
		t.Errorf("marker %q", marker)
	}
	if strings.Contains(comments[0].Body, actionBase[:7]) { // nothing was compared
		t.Errorf("a base is named:\n%s", comments[0].Body)
	}
	if !strings.Contains(comments[0].Body, "agentx run --concurrency=2") || strings.Contains(comments[0].Body, "ghs_job") {
		t.Errorf("how to reproduce it:\n%s", comments[0].Body)
	}
	if len(h.api.CheckRuns()) != 1 || h.api.CheckRuns()[0]["head_sha"] != actionHead {
		t.Errorf("check runs %v", h.api.CheckRuns())
	}
	for name, want := range map[string]string{
		"verdict": "not compared", "submission-valid": "", "trusted": "true|false", "result-path": "artifacts/result.json", "result-url": "kept/v1/octo/engine/sim-c2/pr-7/.*",
		"comment-url": ".*#issuecomment-.*", "ttft-p50-ms": `[0-9.]+`, "error-rate": "0", "output-tokens-per-second": `[0-9.]+`, "cache-hit-rate": `0\.[0-9]+`,
	} {
		if got, ok := s.outputs[name]; !ok || !regexp.MustCompile("^("+want+")$").MatchString(got) {
			t.Errorf("output %s is %q, want %s", name, got, want)
		}
	}
	if !strings.Contains(s.summary, "NOT COMPARED") {
		t.Errorf("summary:\n%s", s.summary)
	}
	if refs := h.stored("kept"); !slices.Equal(refs, []string{"pr-7 " + actionHead[:12]}) {
		t.Errorf("in the store: %v", refs)
	}
	writes := h.api.Count("POST ") + h.api.Count("PATCH ")
	if post := h.run("agentx-post", "action"); post.code != exitDone || post.summary != "" || h.api.Count("POST ")+h.api.Count("PATCH ") != writes {
		t.Errorf("the post step ended with %d and wrote again:\n%s%s", post.code, post.log, post.summary)
	}
	h.extra = []string{"GITHUB_TOKEN=ghs_job"}
	if again := h.run("agentx", "publish", "artifacts", "--store", "kept"); !strings.Contains(again.log, "comment: u") || len(h.api.CommentsOn(actionPull)) != 1 {
		t.Errorf("published again (%d):\n%s", again.code, again.log)
	}
	if again := h.run("agentx", "publish", "artifacts", "--store", "kept"); !strings.Contains(again.log, "comment: unchanged") {
		t.Errorf("published once more (%d):\n%s", again.code, again.log)
	}
}

// Where a result is kept follows from the event alone: only a push, a schedule or a
// dispatch on the default branch makes a baseline.
func TestActionEvents(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "push")
	h.inputs["store"] = "kept"
	h.run("agentx", "action").want(t, exitDone, "note: not compared: no run is kept yet in kept/v1/octo/engine/sim-c2/main, so there is no base")
	if refs := h.stored("kept"); !slices.Equal(refs, []string{"main " + actionHead[:12]}) {
		t.Fatalf("in the store after a push: %v", refs)
	}
	if n := h.api.Count("POST /repos/"); n > 0 {
		t.Errorf("a push made %d comments", n)
	}
	// A pull request is compared with the branch's history where nothing else is said; the
	// first push had none, and was no failure.
	h.on("pull")
	h.inputs["output-artifact-dir"] = "second"
	s := h.run("agentx", "action")
	s.want(t, exitDone)
	if s.outputs["comparison-path"] == "" && !strings.Contains(s.log, "note: not compared: kept/v1/octo/engine/sim-c2/main holds no run that can be the base") { // a busy machine's are not trusted
		t.Errorf("outputs %v\n%s", s.outputs, s.log)
	}
	h.inputs["seed"], h.inputs["random-seed"] = "", "7"
	if s = h.run("agentx", "action"); s.code != exitDone || !strings.Contains(s.log, "note: not compared: ") || s.outputs["verdict"] != "not compared" {
		t.Errorf("another seed: exit code %d, verdict %q\n%s", s.code, s.outputs["verdict"], s.log)
	}
	for _, c := range []struct{ payload, kept string }{
		{"schedule", "main " + actionHead[:12]}, {"dispatch", "feature " + actionHead[:12]}, {"pull", "pr-7 " + actionHead[:12]}, {"fork", "pr-7 " + actionHead[:12]}, {"run", "fork-77 " + actionHead[:12]},
	} {
		h.on(c.payload)
		s := h.run("agentx", "publish", "artifacts", "--store", c.payload, "--comment", "off")
		s.want(t, exitDone)
		if refs := h.stored(c.payload); !slices.Equal(refs, []string{c.kept}) {
			t.Errorf("%s is kept under %v, want %s\n%s", c.payload, refs, c.kept, s.log)
		}
	}
}

// A fork's pull request may not be commented on from its own workflow: the job is no
// failure. The workflow that runs afterwards finds the pull request by what GitHub
// says of it, and comments there.
func TestActionFork(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "fork")
	h.api.Fail("POST ", -1, githubtest.Forbidden)
	s := h.run("agentx", "action")
	s.want(t, exitDone, "::notice::A fork's pull request may not be commented on")
	if h.api.Count("POST ") > 0 || s.summary == "" {
		t.Error("it tried to comment, or there is no summary")
	}
	later := newActionHost(t, "run")
	later.dir, later.extra = h.dir, []string{"GITHUB_TOKEN=ghs_job"}
	later.api.AddPull(githubtest.Pull{Number: 9, State: "open", HeadSHA: actionHead, HeadOwner: "stranger", HeadBranch: "main"})
	later.run("agentx", "publish", "artifacts", "--cell", "c").want(t, exitDone, "comment: created")
	if len(later.api.CommentsOn(9)) != 1 || len(later.api.CommentsOn(actionPull)) != 0 {
		t.Errorf("comments on 9: %v, on 7: %v", later.api.CommentsOn(9), later.api.CommentsOn(actionPull))
	}
}

// The cell that the fork's job had is the publisher's, given or made of the settings.
func TestActionForkCell(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"h200 is not a name": "", "qwen3-30b-tp2-c8": "qwen3-30b-tp2-c8"} {
		h := newActionHost(t, "fork")
		h.inputs["cell"] = given
		h.run("agentx", "action").want(t, exitDone)
		h.on("run")
		h.extra = []string{"GITHUB_TOKEN=ghs_job"}
		h.api.AddPull(githubtest.Pull{Number: 9, State: "open", HeadSHA: actionHead, HeadOwner: "stranger", HeadBranch: "main"})
		s := h.run("agentx", "publish", "artifacts", "--store", "kept")
		if want == "" {
			s.want(t, exitFailed, "give --cell")
			continue
		}
		s.want(t, exitDone)
		if body := h.api.CommentsOn(9)[0].Body; !strings.Contains(body, "bench / "+want+":") || !strings.Contains(s.log, "/"+want+"/fork-77/") {
			t.Errorf("the comment:\n%s\n%s", body, s.log)
		}
	}
}

// A base that was measured in the job is named by the commit that it was built from.
func TestActionBase(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	h.inputs["url"], h.inputs["base-url"], h.inputs["store"] = simulated(t), simulated(t), "kept"
	h.inputs["concurrency"] = "1"
	h.inputs["base-sha"] = actionBase[:12]
	h.run("agentx", "action").want(t, exitUsage, "--base-sha", "want a whole commit")
	for given, want := range map[string]string{actionMerge: actionMerge, "": actionBase} {
		h.inputs["base-sha"], h.inputs["output-artifact-dir"], h.inputs["store"] = given, "of-"+want[:1], "kept-"+want[:1]
		h.run("agentx", "action").want(t, exitDone)
		if body := h.api.CommentsOn(actionPull)[0].Body; !strings.Contains(body, " base "+want+" ") {
			t.Errorf("--base-sha %q: the comment:\n%s", given, body)
		}
		if refs := h.stored("kept-" + want[:1]); !slices.Contains(refs, "base-of-pr-7 "+want[:12]) || len(refs) != 4 {
			t.Errorf("--base-sha %q: in the store: %v", given, refs)
		}
		// Told of from the artifacts, it is the same comment and the same runs.
		h.extra = []string{"GITHUB_TOKEN=ghs_job"}
		h.run("agentx", "publish", "of-"+want[:1], "--store", "kept-"+want[:1]).want(t, exitDone, "comment: ")
		if refs := h.stored("kept-" + want[:1]); len(refs) != 4 || len(h.api.CommentsOn(actionPull)) != 1 {
			t.Errorf("published again: in the store %v, comments %v", refs, h.api.CommentsOn(actionPull))
		}
	}
	delete(h.inputs, "base-url")
	h.inputs["base-sha"], h.inputs["output-artifact-dir"] = actionMerge, "alone"
	h.run("agentx", "action").want(t, exitDone, "note: without effect: --base-sha")
	if body := h.api.CommentsOn(actionPull)[0].Body; strings.Contains(body, actionMerge) || strings.Contains(body, actionBase) {
		t.Errorf("no base was measured; the comment:\n%s", body)
	}
}

// A comment on a pull request names no commit: GitHub is asked for the one that the pull
// request has, and what can't be done without is said.
func TestActionIssueComment(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "comment")
	h.inputs["check-run"], h.inputs["store"] = "agentx", "kept"
	h.run("agentx", "action").want(t, exitDone, "comment: created")
	if runs := h.api.CheckRuns(); len(runs) != 1 || runs[0]["head_sha"] != actionHead || h.state[stateSHA] != actionHead {
		t.Errorf("check runs %v, state %v", runs, h.state)
	}
	if refs := h.stored("kept"); !slices.Equal(refs, []string{"pr-7 " + actionHead[:12]}) {
		t.Errorf("in the store: %v", refs)
	}
	delete(h.state, stateSHA)
	h.run("agentx", "publish", "artifacts", "--check-run", "agentx").want(t, exitDone,
		"note: the event issue_comment does not say which commit pull request 7 has, and there is no token", "note: no check run agentx: the event issue_comment names no commit")
	h.extra = []string{"GITHUB_TOKEN=ghs_job"}
	h.api.Fail("GET /repos/octo/engine/pulls/7", 1, githubtest.Forbidden)
	h.run("agentx", "publish", "artifacts", "--check-run", "agentx").want(t, exitDone, "and GitHub would not: ", "note: no check run agentx")
}

// A refused comment loses nothing, and is exit code 5; what failed goes before it.
func TestActionRefused(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	h.inputs["github-token"] = "ghs_job_canary"
	h.api.Fail("POST /repos/", -1, githubtest.Failure{Status: 403, Body: `{"message":"bad token Bearer ghs_job_canary"}`})
	s := h.run("agentx", "action")
	s.want(t, exitRefused, "publishing was refused; the result itself is whole")
	if !strings.Contains(s.summary, `refused:** 403 bad token Bearer \*\*\*`) || s.outputs["result-path"] == "" {
		t.Errorf("outputs %v, summary:\n%s", s.outputs, s.summary)
	}
	if all := s.log + s.summary; strings.Contains(all, "canary") {
		t.Errorf("GitHub repeated the token, and we after it:\n%s", all)
	}
	h.inputs["url"] = "http://127.0.0.1:1"
	h.inputs["model"] = "m"
	h.run("agentx", "action").want(t, exitFailed, "the engine does not answer")
}

// The exit codes that are not of publishing.
func TestActionCodes(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	h.inputs["benchmark-duration"] = "soon"
	h.run("agentx", "action").want(t, exitUsage, "benchmark-duration")
	h.inputs["benchmark-duration"], h.inputs["base-image"] = "1", "x"
	s := h.run("agentx", "action")
	s.want(t, exitUsage, "--base-image: needs --image")
	if len(h.api.CommentsOn(actionPull)) > 0 || s.summary == "" {
		t.Errorf("a fault of the configuration: comments %v, summary %q", h.api.CommentsOn(actionPull), s.summary)
	}
	delete(h.inputs, "base-image")
	h.inputs["sim-set"] = "faults.error_rate=1"
	s = h.run("agentx", "action")
	s.want(t, exitFailed, "did not get ready")
	if s.outputs["verdict"] != "failed" || len(h.api.CommentsOn(actionPull)) != 1 || !strings.Contains(h.api.CommentsOn(actionPull)[0].Body, "did not get ready") {
		t.Errorf("verdict %q, comments %v", s.outputs["verdict"], h.api.CommentsOn(actionPull))
	}
	delete(h.inputs, "sim-set")
	h.inputs["scenario"], h.inputs["unsafe-override"], h.inputs["random-seed"] = "inferencex-agentx-mvp", "true", "1"
	s = h.run("agentx", "action")
	s.want(t, exitInvalid, "::error title=AgentX%3A not a valid submission::")
	if s.outputs["submission-valid"] != "false" {
		t.Errorf("submission-valid %q", s.outputs["submission-valid"])
	}
}

// Cancelling as GitHub does it: SIGINT, SIGTERM 7.5 s later, KILL 2.5 s after that.
// The step ends in time, its engine is gone, and the post step tells what was measured.
func TestActionCancelled(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	mark := fmt.Sprintf("AGENTX_TEST=cancel-%d", time.Now().UnixNano())
	h.inputs["benchmark-duration"], h.inputs["driver"], h.inputs["engine"], h.inputs["model"], h.inputs["engine-env"], h.inputs["store"] = "60", "process", "sim", "sim", mark, "kept"
	c, out := h.command("agentx", "action")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill() })
	records := filepath.Join(h.dir, "artifacts", result.FileRecords)
	for range 600 {
		if b, _ := os.ReadFile(records); bytes.Contains(b, []byte("profiling")) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel(t, c, done)
	s := h.ended(<-done, out)
	s.want(t, exitFailed, "stopping in order", "cancelled: what was measured is written")
	if s.summary != "" || h.api.Count("POST ") > 0 {
		t.Error("the cancelled step published")
	}
	j := &job{t: t, Cmd: c, stale: mark}
	if left := j.engine(); len(left) > 0 {
		t.Errorf("the engine is still there: %v", left)
	}
	post := h.run("agentx-post", "action")
	post.want(t, exitDone, "comment: created")
	if body := h.api.CommentsOn(actionPull)[0].Body; !strings.Contains(body, "cancelled") {
		t.Errorf("the comment:\n%s", body)
	}
	if refs := h.stored("kept"); !slices.Equal(refs, []string{"pr-7 " + actionHead[:12]}) {
		t.Errorf("in the store: %v", refs)
	}
}

// cancel sends what GitHub sends until the process is gone.
func cancel(t *testing.T, c *exec.Cmd, done chan error) {
	t.Helper()
	for _, next := range []struct {
		signal syscall.Signal
		then   time.Duration
	}{{syscall.SIGINT, 7500 * time.Millisecond}, {syscall.SIGTERM, 2500 * time.Millisecond}, {syscall.SIGKILL, 10 * time.Second}} {
		if err := c.Process.Signal(next.signal); err != nil {
			return
		}
		if next.signal == syscall.SIGKILL {
			t.Error("it had to be killed")
		}
		ctx, stop := context.WithTimeout(t.Context(), next.then)
		select {
		case err := <-done:
			stop()
			done <- err
			return
		case <-ctx.Done():
			stop()
		}
	}
}

// A step that was killed on the spot leaves an engine: the post step takes it away and
// says that there is no result.
func TestActionKilled(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	mark := fmt.Sprintf("AGENTX_TEST=kill-%d", time.Now().UnixNano())
	h.inputs["benchmark-duration"], h.inputs["driver"], h.inputs["engine"], h.inputs["model"], h.inputs["engine-env"] = "60", "process", "sim", "sim", mark
	c, out := h.command("agentx", "action")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, Cmd: c, stale: mark}
	for range 1200 { // until the measured phase has a few requests
		if b, _ := os.ReadFile(filepath.Join(h.dir, "artifacts", result.FileRecords)); bytes.Count(b, []byte(`"phase":"profiling"`)) > 3 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = c.Process.Kill()
	h.ended(c.Wait(), out)
	post := h.run("agentx-post", "action")
	post.want(t, exitDone, "comment: created")
	d, err := result.Read(filepath.Join(h.dir, "artifacts"))
	if err != nil || !d.Outcome.Cancelled || d.Outcome.CancelledBy != "killed" || d.Requests.Profiling.OK == 0 {
		t.Errorf("what was measured is lost: %v, %+v", err, d)
	}
	if problems, err := result.Check(filepath.Join(h.dir, "artifacts")); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", err, problems)
	}
	if left := j.engine(); len(left) > 0 {
		t.Errorf("the engine is still there: %v\n%s", left, post.log)
	}
	if body := h.api.CommentsOn(actionPull)[0].Body; !strings.Contains(body, "killed before the run had ended") {
		t.Errorf("the comment:\n%s", body)
	}
}

// No secret shows anywhere: a canary in each, and everything is searched for it.
func TestActionSecrets(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	canary := func(name string) string { return "canary-" + name + "-4f9d2c" }
	h.inputs["store"], h.inputs["check-run"] = "kept", "agentx"
	h.inputs["driver"], h.inputs["engine"], h.inputs["model"] = "process", "custom", "sim"
	// An engine that prints its whole environment, and a command besides.
	h.inputs["engine-command"] = "/bin/sh\n-c\nenv; echo '::error::forged'; exec agentx sim --port {port}"
	h.inputs["engine-env"] = "APP_PASSWORD=" + canary("engine-env")
	h.inputs["engine-secret-env"] = "HUB_LOGIN\nHF_TOKEN"
	h.inputs["github-token"] = canary("github")
	h.inputs["header"] = "Authorization: Bearer " + canary("header")
	h.extra = []string{
		"HUB_LOGIN=" + canary("hub"), "HF_TOKEN=" + canary("hf"), "AWS_ACCESS_KEY_ID=" + canary("aws-id"), "AWS_SECRET_ACCESS_KEY=" + canary("aws-key"), "AWS_SESSION_TOKEN=" + canary("aws-session"),
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN=" + canary("oidc"),
	}
	s := h.run("agentx", "action")
	s.want(t, exitDone)
	if regexp.MustCompile(`(?m)^\s*::error::forged`).MatchString(s.log) && !strings.Contains(s.log, "::stop-commands::") {
		t.Error("the engine's output commands the runner")
	}
	seen := map[string]string{"log": s.log, "summary": s.summary, "outputs": fmt.Sprint(s.outputs), "check run": fmt.Sprint(h.api.CheckRuns())}
	for _, c := range h.api.CommentsOn(actionPull) {
		seen["comment"] += c.Body
	}
	files := 0
	err := filepath.WalkDir(h.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(name)
		seen[name] = string(text)
		return err
	})
	if err != nil || files < 20 || seen["comment"] == "" || !strings.Contains(seen[filepath.Join(h.dir, "artifacts", result.FileEngineLog)], "APP_PASSWORD=") {
		t.Fatalf("%v; %d files, comment %q\n%s", err, files, seen["comment"], s.log)
	}
	if again := "--engine-env=APP_PASSWORD=*** --engine-secret-env=HUB_LOGIN --engine-secret-env=HF_TOKEN"; !strings.Contains(strings.ReplaceAll(seen["comment"], "'", ""), again) {
		t.Errorf("how to reproduce it lacks %q:\n%s", again, seen["comment"])
	}
	if !slices.Contains(s.masks, canary("hub")) || slices.ContainsFunc(s.masks, func(m string) bool { return strings.Contains(m, "HF_TOKEN") }) {
		t.Errorf("the runner is to mask %q", s.masks)
	}
	for where, text := range seen {
		if i := strings.Index(text, "canary-"); i >= 0 {
			t.Errorf("%s holds %q", where, text[i:min(len(text), i+40)])
		}
	}
}
