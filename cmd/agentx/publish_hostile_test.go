package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/publish/github/githubtest"
	"github.com/org/agentx-action/pkg/result"
)

// hostileHost is a runner after a fork's workflow, with the artifacts of an honest run.
func hostileHost(t *testing.T, model string) *actionHost {
	t.Helper()
	h := newActionHost(t, "fork")
	h.inputs["comment"] = "off"
	if model != "" {
		h.inputs["sim-set"], h.inputs["model"] = "model="+model, model
	}
	h.run("agentx", "action").want(t, exitDone)
	h.on("run")
	h.extra = []string{"GITHUB_TOKEN=ghs_job"}
	h.api.AddPull(githubtest.Pull{Number: 9, State: "open", HeadSHA: actionHead, HeadOwner: "stranger", HeadBranch: "main"})
	return h
}

// An artifact that is not in every figure what a run leaves is refused, and the pull
// request is told nothing of what it says.
func TestPublishHostile(t *testing.T) {
	t.Parallel()
	h := hostileHost(t, "")
	dir := filepath.Join(h.dir, "artifacts")
	keep := filepath.Join(h.files, "keep")
	if err := os.CopyFS(keep, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	replace := func(file, old, by string) func() {
		return func() {
			name := filepath.Join(dir, file)
			text, err := os.ReadFile(name)
			if err != nil || !bytes.Contains(text, []byte(old)) {
				t.Fatalf("%s: %v", file, err)
			}
			if err := os.WriteFile(name, bytes.Replace(text, []byte(old), []byte(by), 1), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	blessed := func(do func()) func() { // by a manifest that fits
		return func() {
			do()
			doc, err := result.Read(keep)
			if err != nil {
				t.Fatal(err)
			}
			if err := result.WriteManifest(dir, doc.RunID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		do   func()
		says string
	}{
		{"a figure", replace("result.json", `"p50": `, `"p50": 1`), "result.json:/"},
		{"a figure and the manifest", blessed(replace("result.json", `"p50": `, `"p50": 1`)), "result.json"},
		{"a record", blessed(replace("records.jsonl", `"phase":"profiling"`, `"phase":"elsewhere"`)), "records.jsonl"},
		{"a link", func() {
			_ = os.Remove(filepath.Join(dir, "samples.jsonl"))
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "samples.jsonl")); err != nil {
				t.Fatal(err)
			}
		}, "not a plain file"},
		{"a long line", func() {
			if err := os.WriteFile(filepath.Join(dir, "samples.jsonl"), bytes.Repeat([]byte(" "), 1<<20+1), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "a line is longer than"},
		{"a baseline's name", func() {
			if err := os.CopyFS(filepath.Join(dir, "fixed-All is 40 % faster"), os.DirFS(keep)); err != nil {
				t.Fatal(err)
			}
		}, "is no name of a baseline"},
		{"a baseline that is none", func() {
			if err := os.CopyFS(filepath.Join(dir, "fixed-1"), os.DirFS(keep)); err != nil {
				t.Fatal(err)
			}
		}, "fixed-1: no fixed-length run"},
		{"huge JSON", func() {
			if err := os.WriteFile(filepath.Join(dir, "result.json"), bytes.Repeat([]byte("["), 65<<20), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "larger than"},
		{"nothing", func() { _ = os.RemoveAll(dir); _ = os.Mkdir(dir, 0o755) }, "holds no result"},
	} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(keep)); err != nil {
			t.Fatal(err)
		}
		c.do()
		s := h.run("agentx", "publish", "artifacts", "--store", "kept", "--cell", c.name)
		if s.code != exitFailed || !strings.Contains(s.log, c.says) {
			t.Errorf("%s: exit code %d, want %q\n%s", c.name, s.code, c.says, s.log)
		}
		comments := h.api.CommentsOn(9)
		if last := comments[len(comments)-1].Body; !strings.Contains(last, "FAILED") || strings.Contains(last, "TTFT") {
			t.Errorf("%s: the comment:\n%s", c.name, last)
		}
	}
	if refs := h.stored("kept"); len(refs) > 0 || len(h.api.CommentsOn(actionPull)) > 0 {
		t.Errorf("in the store: %v; on another pull request: %v", refs, h.api.CommentsOn(actionPull))
	}
}

// What an honest run measured of a hostile engine is told harmlessly, pages that came
// with it are drawn anew, and nobody is shown a command to type.
func TestPublishHostileWords(t *testing.T) {
	t.Parallel()
	const model = "<img src=x onerror=alert(1)>|[a](javascript:b)@everyone`::error::x"
	h := hostileHost(t, model)
	page := filepath.Join(h.dir, "artifacts", result.FileReport)
	if err := os.WriteFile(page, []byte("<script>steal()</script>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "artifacts", result.FolderCharts, "x.html"), []byte("<script>steal()</script>"), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := result.Read(filepath.Join(h.dir, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := result.WriteManifest(filepath.Join(h.dir, "artifacts"), doc.RunID); err != nil {
		t.Fatal(err)
	}
	s := h.run("agentx", "publish", "artifacts", "--store", "kept", "--cell", "c")
	s.want(t, exitDone, "comment: created")
	body := h.api.CommentsOn(9)[0].Body
	for _, bad := range []string{"<img", "x[a](java", "|[a](java", "@everyone", "agentx run"} {
		if strings.Contains(body, bad) || strings.Contains(s.summary, bad) {
			t.Errorf("%q is in the comment or the summary:\n%s", bad, body)
		}
	}
	for line := range strings.Lines(s.log) {
		if strings.HasPrefix(strings.TrimSpace(line), "::error::x") {
			t.Errorf("a command got through: %s", line)
		}
	}
	err = fs.WalkDir(os.DirFS(filepath.Join(h.dir, "kept")), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(h.dir, "kept", name))
		if strings.Contains(string(text), "steal()") || filepath.Base(name) == "x.html" {
			t.Errorf("%s went into the store", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
