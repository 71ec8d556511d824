package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
)

// Whatever lies in the artifacts beside the records is neither told nor kept, at any
// depth, and the artifacts stay as they are.
func TestPublishForgedFiles(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	artifacts := filepath.Join(h.dir, "artifacts")
	forgedBaseline(t, filepath.Join(artifacts, "1-head", "fixed-256x16-c2"), 20, nil)
	const script = "<script>steal()</script>"
	for _, name := range []string{
		"engine.log", "agentx.effective.yaml", "server_metrics_export.json", "profile_export_aiperf.csv", "report.html", "charts/x.svg", "fixed-cut/run.json",
		"fixed-256x16-c2/report.html", "fixed-256x16-c2/charts/x.svg", "fixed-256x16-c2/sub/deeper/x.html", "fixed-256x16-c2/engine.log", "fixed-256x16-c2/profile_export.jsonl",
	} {
		name = filepath.Join(artifacts, "1-head", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := sumsOf(t, artifacts)
	h.run("agentx", "publish", "artifacts", "--print", "--untrusted", "--store", "kept").want(t, exitDone)
	h.run("agentx", "publish", "artifacts", "--store", "kept").want(t, exitDone, "comment: created")
	if after := sumsOf(t, artifacts); after != before {
		t.Errorf("the artifacts were changed: before\n%s\nafter\n%s", before, after)
	}
	kept := sumsOf(t, filepath.Join(h.dir, "kept"))
	for _, bad := range []string{script, "x.svg", "x.html", "engine.log", "effective", "server_metrics", "fixed-cut"} {
		if strings.Contains(kept, bad) {
			t.Errorf("%q went into the store:\n%s", bad, kept)
		}
	}
	if !strings.Contains(kept, "fixed-256x16-c2/result.json") || !strings.Contains(kept, "/report.html") {
		t.Errorf("in the store:\n%s", kept)
	}
}

// sumsOf lists what is below a folder, a file a line; those with a script say so.
func sumsOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(&b, "%s %x", name, sha256.Sum256(text))
		if i := strings.Index(string(text), "<script>steal"); i >= 0 {
			b.WriteString(" " + string(text[i:i+len("<script>steal()</script>")]))
		}
		b.WriteString("\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Baselines say no more in words of their own than runs do.
func TestPublishForgedBaselines(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	for i, name := range []string{"1-head", "2-base"} {
		forgedBaseline(t, filepath.Join(h.dir, "artifacts", name, "fixed-256x16-c2"), uint64(20+i), map[string]string{"env." + boast: name})
	}
	s := h.run("agentx", "publish", "artifacts")
	s.want(t, exitDone)
	for where, text := range map[string]string{"the comment": h.last(), "the summary": s.summary} {
		if !strings.Contains(text, "differ in env.“"+boast+"”") || strings.Contains(text, "env."+boast) {
			t.Errorf("%s:\n%s", where, text)
		}
	}
	dir := filepath.Join(h.dir, "artifacts", "2-base", "fixed-256x16-c2")
	forgedBaseline(t, dir, 20, map[string]string{boast: "x"})
	h.run("agentx", "publish", "artifacts").want(t, exitFailed, "2-base: fixed-256x16-c2: run.json: extra_identity has the key")
	forged(t, dir, 20, 1, func(f *result.Facts) { f.Mode, f.RunID = result.ModeFixed, boast })
	h.run("agentx", "publish", "artifacts").want(t, exitFailed, "2-base: fixed-256x16-c2: run.json: the run's id is")
	if body := h.last(); strings.Contains(body, "faster") {
		t.Errorf("the comment:\n%s", body)
	}
	for i := range 9 {
		forgedBaseline(t, fmt.Sprint(dir, i), uint64(30+i), nil)
	}
	h.run("agentx", "publish", "artifacts").want(t, exitFailed, "more than 8 of strangers")
}

// A rule set is ours, whatever a run says that it asks for.
func TestPublishForgedRules(t *testing.T) {
	t.Parallel()
	number := func(v float64) *float64 { return &v }
	ruled := func(f *result.Facts) {
		limit, none := 1.0, 0.0
		f.Settings.Other = map[string]string{otherCell: "h200/c8"}
		f.Scenario = result.Scenario{Name: scenario.InferenceX, Version: "1", DropsAllowed: true, OverflowLimit: &limit, CoverageRequired: &none}
		f.Settings.Concurrency, f.Settings.DurationS, f.Settings.SystemIdleCapS = 8, number(1800), number(10)
		f.Settings.History, f.Settings.LanePlan = "recorded", "shared"
		f.Corpus = &result.Corpus{Name: "x", SourceType: "public_dataset", Loader: "semianalysis_cc_traces_weka_062126", Digest: "d", Traces: 1, Kept: 1}
	}
	for name, c := range map[string]struct {
		change func(*result.Facts)
		broken string // "-": there is no rule set
	}{
		"kept":            {func(*result.Facts) {}, ""},
		"admitted":        {func(f *result.Facts) { f.Scenario.Overridden = []result.Violation{{Setting: "--cache-bust"}} }, "--cache-bust"},
		"short":           {func(f *result.Facts) { f.Settings.DurationS = number(5) }, "--benchmark-duration"},
		"of no time":      {func(f *result.Facts) { f.Settings.DurationS = nil }, "--benchmark-duration"},
		"no idle cap":     {func(f *result.Facts) { f.Settings.SystemIdleCapS = nil }, "--system-idle-gap-cap-seconds"},
		"live":            {func(f *result.Facts) { f.Settings.History = "live" }, "--history"},
		"the sample":      {func(f *result.Facts) { f.Corpus.SourceType, f.Corpus.Name = "folder", "bundled sample" }, "--input-file"},
		"another corpus":  {func(f *result.Facts) { f.Corpus.Loader = boast }, "--public-dataset"},
		"no corpus":       {func(f *result.Facts) { f.Corpus = nil }, "--public-dataset"},
		"another name":    {func(f *result.Facts) { f.Scenario.Name = boast }, "-"},
		"another version": {func(f *result.Facts) { f.Scenario.Version = boast }, "-"},
		"a baseline":      {func(f *result.Facts) { f.Mode = result.ModeFixed }, "-"},
	} {
		f := &result.Facts{Mode: result.ModeAgentic}
		ruled(f)
		c.change(f)
		got := ruledAnew(f)
		var broken []string
		for _, v := range got.Overridden {
			broken = append(broken, v.Setting)
		}
		if want := strings.Trim(c.broken, "-"); c.broken != "-" && strings.Join(broken, ",") != c.broken && want != "" || c.broken == "" && len(broken) > 0 || (got.Name == "") != (c.broken == "-") {
			t.Errorf("%s: %+v, want broken %q", name, got, c.broken)
		}
		if got.Name != "" && (got.DropsAllowed || got.OverflowLimit != nil || *got.CoverageRequired != 0.95) {
			t.Errorf("%s: limits of its own: %+v", name, got)
		}
	}

	for _, c := range []struct {
		change           func(*result.Facts)
		valid, says, not string
	}{
		{func(f *result.Facts) { f.Settings.DurationS = number(5) }, "false", "NOT VALID", "valid under"},
		{func(f *result.Facts) { f.Scenario.Name = boast }, "", "not judged", "valid under"},
	} {
		h := forgedJob(t, 1)
		for i, name := range []string{"1-head", "2-base", "3-base", "4-head"} {
			forged(t, filepath.Join(h.dir, "artifacts", name), uint64(i+1), 1, func(f *result.Facts) { ruled(f); c.change(f) })
		}
		s := h.run("agentx", "publish", "artifacts")
		s.want(t, exitDone)
		if body := h.last(); !strings.Contains(body, c.says) || strings.Contains(body, c.not) || s.outputs["submission-valid"] != c.valid {
			t.Errorf("submission-valid=%q, want %q; the comment:\n%s", s.outputs["submission-valid"], c.valid, body)
		}
	}
}

// A fork can't fill a pull request with comments.
func TestPublishForgedMany(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	for n := 1; n <= maxAnswers+1; n++ {
		forged(t, filepath.Join(h.dir, "many", fmt.Sprint("c", n)), uint64(n), 1, func(f *result.Facts) {
			f.Settings.Concurrency, f.Settings.Other = n, map[string]string{otherCell: "h200", "sweep": "many"}
		})
	}
	s := h.run("agentx", "publish", "many")
	s.want(t, exitFailed, "they hold 17 results; more than 16 of strangers are not told")
	if n := len(h.api.CommentsOn(9)); n != 1 || !strings.Contains(h.last(), "FAILED") {
		t.Errorf("%d comments, the last one:\n%s", n, h.last())
	}
	if err := os.RemoveAll(filepath.Join(h.dir, "many", "c17")); err != nil {
		t.Fatal(err)
	}
	h.run("agentx", "publish", "many", "--print").want(t, exitDone)
}

// What its author could have made up opens no gate.
func TestPublishForgedCheckRun(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 0.6)
	h.run("agentx", "publish", "artifacts", "--check-run", "agentx").want(t, exitDone)
	runs := h.api.CheckRuns()
	if len(runs) != 1 || runs[0]["conclusion"] != "neutral" || !strings.Contains(h.last(), "IMPROVEMENT") {
		t.Errorf("check runs %+v; the comment:\n%s", runs, h.last())
	}
}

// A .zip that is none, or harms, ends as a folder does that is refused.
func TestPublishForgedZip(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	if err := os.WriteFile(filepath.Join(h.dir, "a.zip"), []byte("no zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := h.run("agentx", "publish", "a.zip")
	s.want(t, exitFailed, "::error", "a.zip: no .zip")
	if body := h.last(); !strings.Contains(body, "FAILED") || s.outputs["verdict"] != "failed" || !strings.Contains(s.summary, "the artifacts are refused") {
		t.Errorf("outputs %v; the summary:\n%s\nthe comment:\n%s", s.outputs, s.summary, body)
	}
}

// What is computed of strangers has its bound in time too.
func TestRebuiltInTime(t *testing.T) {
	t.Parallel()
	from := filepath.Join(t.TempDir(), "run")
	forged(t, from, 1, 1, nil)
	job := &publication{console: &console{ctx: t.Context(), err: io.Discard}}
	if _, err := new(publishCmd).inTime(job, from, t.TempDir(), 1); err == nil || !strings.Contains(err.Error(), "takes longer than 1ns") {
		t.Errorf("the time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	job.ctx = ctx
	if _, err := new(publishCmd).inTime(job, from, t.TempDir(), rebuiltWithin); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}
