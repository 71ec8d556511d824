package github

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

const (
	mainSHA = "2222222222222222222222222222222222222222"
	fastSHA = "3333333333333333333333333333333333333333"
	forkSHA = "4444444444444444444444444444444444444444"
	runSHA  = "6666666666666666666666666666666666666666" // of the environment
)

func TestReadEvent(t *testing.T) {
	for _, c := range []struct {
		file, name, ref string
		want            Event
	}{
		{"push", "push", "refs/heads/main", Event{HeadSHA: runSHA, Trusted: true}},
		{"push", "push", "refs/heads/other", Event{HeadSHA: runSHA}},
		{"push", "push", "refs/tags/main", Event{HeadSHA: runSHA}},
		{"pull_request", "pull_request", "refs/pull/7/merge", Event{PullRequest: 7, HeadSHA: fastSHA}},
		{"pull_request", "pull_request_target", "refs/heads/main", Event{PullRequest: 7, HeadSHA: fastSHA}},
		{"pull_request_fork", "pull_request", "refs/pull/8/merge", Event{PullRequest: 8, HeadSHA: forkSHA, Fork: true}},
		{"pull_request_fork", "pull_request_target", "refs/heads/main", Event{PullRequest: 8, HeadSHA: forkSHA, Fork: true}},
		{"workflow_run", "workflow_run", "refs/heads/main", Event{PullRequest: 7, HeadSHA: fastSHA, Measured: Measured{77, 1, "https://github.com/org/engine/actions/runs/77", "benchmark"}}},
		{"workflow_run_fork", "workflow_run", "refs/heads/main", Event{HeadSHA: forkSHA, Fork: true, HeadOwner: "forker", HeadBranch: "patch-1", Find: true, Measured: Measured{78, 2, "https://github.com/org/engine/actions/runs/78", "benchmark"}}},
		{"workflow_run_push", "workflow_run", "refs/heads/main", Event{HeadSHA: mainSHA, Measured: Measured{79, 1, "", "benchmark"}}},
		{"schedule", "schedule", "refs/heads/main", Event{HeadSHA: runSHA, Trusted: true}},
		{"workflow_dispatch", "workflow_dispatch", "refs/heads/main", Event{HeadSHA: runSHA, Trusted: true}},
		{"workflow_dispatch", "workflow_dispatch", "refs/heads/fork-lookalike", Event{HeadSHA: runSHA}},
		{"issue_comment", "issue_comment", "refs/heads/main", Event{PullRequest: 7}},
	} {
		c.want.Name = c.name
		got, err := ReadEvent(c.name, filepath.Join("testdata", "events", c.file+".json"), "org/engine", c.ref, runSHA)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s as %s on %s: %s", c.file, c.name, c.ref, diff)
		}
	}
}

func TestReadEventRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"no JSON": "{", "wrong type": `{"pull_request":{"number":"seven"}}`, "twice": `{"pull_request":{"number":1},"pull_request":{"number":2}}`} {
		path := filepath.Join(dir, "event.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadEvent("pull_request", path, "o/r", "", ""); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadEvent("push", filepath.Join(dir, "none"), "", "", ""); err == nil {
		t.Error("no error without a file")
	}
	huge := filepath.Join(dir, "huge")
	f, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(maxPayload + 1); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := ReadEvent("push", huge, "", "", ""); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Error(err)
	}
	if e, err := ReadEvent("push", "", "o/r", "refs/heads/main", "abc"); err != nil || e.Trusted || e.HeadSHA != "abc" {
		t.Errorf("%+v, %v", e, err)
	}
}

func FuzzEvent(f *testing.F) {
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no payloads")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.TrimSuffix(filepath.Base(file), ".json"), data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		e, err := ParseEvent(name, data, "org/engine", "refs/heads/main", "abc")
		if err == nil && e.Trusted && name != "push" && name != "schedule" && name != "workflow_dispatch" {
			t.Errorf("%s is trusted", name)
		}
	})
}

// GitHub's own examples, where they are installed (make npm-tools): what the payloads
// say of themselves is what is read.
func TestWebhookExamples(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(npmTools(t), "node_modules", "@octokit", "webhooks-examples", "api.github.com", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name     string `json:"name"`
		Examples []any  `json:"examples"`
	}
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatal(err)
	}
	read, runs := 0, 0
	for _, e := range events {
		for _, x := range e.Examples {
			payload, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseEvent(e.Name, payload, "", "refs/heads/x", "")
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
				continue
			}
			m, _ := x.(map[string]any)
			if pr, ok := m["pull_request"].(map[string]any); ok && e.Name == "pull_request" {
				read++
				if float64(got.PullRequest) != pr["number"] || got.HeadSHA != pr["head"].(map[string]any)["sha"] {
					t.Errorf("%s: %+v", e.Name, got)
				}
			}
			if run, ok := m["workflow_run"].(map[string]any); ok && e.Name == "workflow_run" {
				runs++
				if got.HeadSHA != run["head_sha"] || float64(got.Measured.ID) != run["id"] || got.Measured.URL != run["html_url"] || got.Measured.Workflow == "" {
					t.Errorf("%s: %+v", e.Name, got)
				}
			}
		}
	}
	if read < 10 || runs == 0 {
		t.Errorf("only %d pull requests and %d runs among the examples", read, runs)
	}
}
