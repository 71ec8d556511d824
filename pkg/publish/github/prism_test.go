package github

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/publish/github/githubtest"
)

// npmTools is where make npm-tools installs, with node. Without them a test is skipped,
// but never in CI.
func npmTools(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", ".bin", "npm"))
	if err != nil {
		t.Fatal(err)
	}
	if from := os.Getenv("AGENTX_NPM_TOOLS"); from != "" {
		dir = from
	}
	missing := ""
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		missing = dir + " is not there: make npm-tools"
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node is not installed"
	}
	if missing != "" {
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return dir
}

// prism serves GitHub's own description of its API, and refuses what doesn't keep to it.
func prism(t *testing.T) string {
	t.Helper()
	dir := npmTools(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	host, port, _ := net.SplitHostPort(address)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", filepath.Join(dir, "node_modules", "@stoplight", "prism-cli", "dist", "index.js"), "mock",
		"-h", host, "-p", port, "--errors", described(t, dir))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Prism is listening") {
				ready <- true
			}
		}
		select {
		case ready <- false:
		default:
		}
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("prism ended: %s", stderr.String())
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("prism did not start within 3 minutes")
	}
	return "http://" + address
}

// described is GitHub's description of the paths that we use: Prism takes its time over
// all 1,100 of them.
func described(t *testing.T, dir string) string {
	t.Helper()
	doc := *readInto[map[string]any](t, filepath.Join(dir, "node_modules", "@octokit", "openapi", "generated", "api.github.com.json"))
	paths, kept := doc["paths"].(map[string]any), map[string]any{}
	for _, path := range []string{"/user", "/repos/{owner}/{repo}/issues/{issue_number}/comments", "/repos/{owner}/{repo}/issues/comments/{comment_id}",
		"/repos/{owner}/{repo}/check-runs", "/repos/{owner}/{repo}/pulls", "/repos/{owner}/{repo}/pulls/{pull_number}", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls"} {
		if paths[path] == nil {
			t.Fatalf("GitHub describes no %s", path)
		}
		kept[path] = paths[path]
	}
	doc["paths"] = kept
	delete(doc, "webhooks")
	delete(doc, "x-webhooks")
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Everything that we send is what GitHub's own description of its API allows.
func TestRequestsKeepToTheAPI(t *testing.T) {
	api := prism(t)
	j := newJob(t)
	j.Options.CheckRun = "AgentX"
	j.Options.Comments = CommentSticky
	j.must(t, unchanged(t), Created)
	j.must(t, regressed(t), Escalated)
	j.must(t, unchanged(t), Updated)
	j.AddComment(7, githubtest.Job, bodyOf(t, unchanged(t)).String())
	j.must(t, hostile(t), Escalated)
	j.must(t, unchanged(t), Updated)
	j.AddComment(7, githubtest.Job, bodyOf(t, unchanged(t)).String())
	j.must(t, unchanged(t), Unchanged)
	j.AddPull(githubtest.Pull{Number: 2, State: "open", HeadSHA: "abc0002", HeadOwner: "forker", HeadBranch: "patch-1"})
	j.AddPull(githubtest.Pull{Number: 9, State: "open", HeadSHA: fastSHA, HeadOwner: "org", HeadBranch: "fast"})
	j.Event = Event{Name: "workflow_run", Find: true, HeadSHA: "abc0002", HeadOwner: "forker", HeadBranch: "renamed"}
	j.must(t, unchanged(t), Created)

	if sha, err := HeadSHA(t.Context(), j.Options, 9); err != nil || sha != fastSHA {
		t.Errorf("%q, %v", sha, err)
	}

	seen := map[string]int{}
	for _, r := range j.Requests() {
		if r.Path == "/graphql" { // not part of the description
			continue
		}
		status, answer := replay(t, api, r)
		kind := r.Method + " " + strings.Trim(strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return -1
			}
			return c
		}, strings.SplitN(r.Path, "?", 2)[0]), "/")
		seen[kind]++
		// What Prism says of a request is 4xx; it says so before it makes an answer up,
		// at which it may fail with 500.
		if status >= 400 && status < 500 {
			t.Errorf("%s %s: %d %.500s", r.Method, r.Path, status, answer)
		}
	}
	for _, want := range []string{"GET repos/org/engine/issues//comments", "POST repos/org/engine/issues//comments", "PATCH repos/org/engine/issues/comments",
		"DELETE repos/org/engine/issues/comments", "GET user", "POST repos/org/engine/check-runs", "GET repos/org/engine/pulls", "GET repos/org/engine/commits/abc/pulls"} {
		if seen[want] == 0 {
			t.Errorf("no request was %s; there were %v", want, seen)
		}
	}
	// The description does refuse what is wrong.
	if status, _ := replay(t, api, githubtest.Request{Method: http.MethodPost, Path: "/repos/o/r/issues/1/comments", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"text":"x"}`)}); status != 422 {
		t.Errorf("a comment without a body is answered by %d", status)
	}
}

func replay(t *testing.T, api string, r githubtest.Request) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, api+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = r.Header.Clone()
	req.Header.Set("Accept", "application/json") // Prism doesn't know GitHub's media types
	req.Header.Set("Authorization", "Bearer x")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
