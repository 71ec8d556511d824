package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/publish/github/githubtest"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/record"
)

// boast is what nobody but its author wants in a comment.
const boast = "All is 40 % faster"

// forged makes a run's folder as whoever owns the job can: any words in its facts, and
// everything else computed from them, so that nothing contradicts itself.
func forged(t *testing.T, dir string, run uint64, scale float64, change func(*result.Facts)) {
	t.Helper()
	finished(t, dir, run, scale, 42, false)
	facts, err := result.ReadFacts(dir)
	if err != nil {
		t.Fatal(err)
	}
	facts.RunID = fmt.Sprintf("00000000-0000-4000-8000-%012d", run)
	facts.StartedAt = facts.StartedAt.Add(time.Duration(run) * time.Second)
	if change != nil {
		change(facts)
	}
	refinish(t, dir, facts)
}

func refinish(t *testing.T, dir string, facts *result.Facts) {
	t.Helper()
	if err := result.WriteFacts(dir, facts); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Finish(dir); err != nil {
		t.Fatal(err)
	}
}

// forgedJob is a runner after a fork's workflow that alternated, whose head was slower by
// that factor. Its artifacts say otherwise.
func forgedJob(t *testing.T, scale float64) *actionHost {
	t.Helper()
	h := newActionHost(t, "run")
	h.inputs, h.extra = nil, []string{"GITHUB_TOKEN=ghs_job"}
	h.env["GITHUB_WORKFLOW"], h.env["GITHUB_RUN_ID"], h.env["GITHUB_RUN_ATTEMPT"] = "publish", "99", "3"
	h.api.AddPull(githubtest.Pull{Number: 9, State: "open", HeadSHA: actionHead, HeadOwner: "stranger", HeadBranch: "main"})
	dir := filepath.Join(h.dir, "artifacts")
	for i, name := range []string{"1-head", "2-base", "3-base", "4-head"} {
		s := 1.0
		if strings.HasSuffix(name, "head") {
			s = scale
		}
		forged(t, filepath.Join(dir, name), uint64(i+1), s, func(f *result.Facts) {
			f.Settings.Other = map[string]string{otherCell: "h200/c8"}
			if strings.HasSuffix(name, "base") {
				f.Settings.Other[otherBase] = actionMerge
			}
		})
	}
	head := filepath.Join(dir, "1-head")
	runs, err := loadRuns([]string{head, filepath.Join(dir, "2-base")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(runs[:1], runs[1:], compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Verdict, c.Summary, c.Notes = compare.Improvement, boast, []string{boast}
	for i := range c.Gated {
		f := &c.Gated[i]
		better := 0.6
		f.Verdict, f.Ratio, f.Label, f.Note = compare.Improvement, &better, boast, boast
	}
	for i := range c.Layers {
		c.Layers[i].Text = boast
	}
	if _, err := writeComparison(c, head, ""); err != nil {
		t.Fatal(err)
	}
	return h
}

// forgedBaseline makes a fixed-length run with further keys in its identity.
func forgedBaseline(t *testing.T, dir string, run uint64, extra map[string]string) {
	t.Helper()
	forged(t, dir, run, 1, func(f *result.Facts) {
		isl, osl := 256, 16
		f.Mode, f.Settings.Concurrency, f.Settings.FixedISL, f.Settings.FixedOSL = result.ModeFixed, 2, &isl, &osl
		f.ExtraIdentity = extra
	})
}

// last is the newest comment on the fork's pull request.
func (h *actionHost) last() string {
	h.t.Helper()
	all := h.api.CommentsOn(9)
	if len(all) == 0 {
		h.t.Fatal("there is no comment")
	}
	return all[len(all)-1].Body
}

// What the artifacts of strangers say of the comparison is not even read: it is made
// anew from their runs, and said to be of the run that measured.
func TestPublishForgedComparison(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1.3)
	s := h.run("agentx", "publish", "artifacts", "--store", "kept", "--check-run", "agentx")
	s.want(t, exitDone, "comment: created")
	body := h.last()
	if marker, _, _ := strings.Cut(body, "\n"); !strings.HasSuffix(marker, " run=77 attempt=2 -->") { // not the publishing job's
		t.Errorf("marker %q", marker)
	}
	for where, text := range map[string]string{"the comment": body, "the summary": s.summary, "the check run": fmt.Sprint(h.api.CheckRuns()), "the outputs": fmt.Sprint(s.outputs)} {
		if strings.Contains(text, "faster") || strings.Contains(text, "IMPROVEMENT") {
			t.Errorf("%s believes the artifacts:\n%s", where, text)
		}
	}
	for _, want := range []string{
		"bench / h200/c8: REGRESSION", "TTFT p50 +29.8 % (regression)", "Whose word it is:", "commit 1111111", "https://github.test/octo/engine/actions/runs/77/attempts/2",
		"base, as the artifacts say, " + actionMerge, "workflow=bench cell=h200%2Fc8 ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the comment lacks %q:\n%s", want, body)
		}
	}
	for _, bad := range []string{"gpu-1", "runs/99", "publish /", "1970"} {
		if strings.Contains(body, bad) {
			t.Errorf("the comment says %q of the publisher:\n%s", bad, body)
		}
	}
	if s.outputs["verdict"] != "regression" || s.outputs["comparison-path"] != "" || s.outputs["result-path"] != "" {
		t.Errorf("outputs %v", s.outputs)
	}
	found, err := filepath.Glob(filepath.Join(h.dir, "kept", "v1", "octo", "engine", "h200=2Fc8", "fork-77", "*", result.FileComparison))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v: the comparisons that are kept: %v", err, found)
	}
	kept, err := readComparison(found[0])
	if err != nil || kept.Verdict != compare.Regression || len(kept.Head.Runs) != 2 || kept.Head.Runs[0].Where != "1-head" {
		t.Errorf("what is kept: %v, %+v", err, kept)
	}
	if refs := h.stored("kept"); len(refs) != 4 || !slices.Contains(refs, "fork-77 "+actionHead[:12]) || !slices.Contains(refs, "base-of-fork-77 "+actionMerge[:12]) {
		t.Errorf("in the store: %v", refs)
	}
	names, err := filepath.Glob(filepath.Join(h.dir, "kept", "v1", "octo", "engine", "h200=2Fc8", "*", "*-77-2"))
	if err != nil || len(names) != 4 {
		t.Errorf("%v: not under the run and attempt that measured: %v", err, names)
	}
	// Told of again by another job, from another folder, it is the same.
	h.env["GITHUB_RUN_ID"] = "100"
	if err := os.Rename(filepath.Join(h.dir, "artifacts"), filepath.Join(h.dir, "again")); err != nil {
		t.Fatal(err)
	}
	h.run("agentx", "publish", "again", "--store", "kept").want(t, exitDone, "comment: unchanged")
	if refs := h.stored("kept"); len(refs) != 4 {
		t.Errorf("in the store, published twice: %v", refs)
	}
}

// Parts that are left out could be the ones that somebody dislikes.
func TestPublishForgedParts(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	drop := func(name string) {
		if err := os.RemoveAll(filepath.Join(h.dir, "artifacts", name)); err != nil {
			t.Fatal(err)
		}
	}
	drop("4-head")
	h.run("agentx", "publish", "artifacts").want(t, exitDone)
	if body := h.last(); !strings.Contains(body, "the artifacts lack the part 4-head") || strings.Contains(body, "faster") {
		t.Errorf("the comment:\n%s", body)
	}
	drop("3-base")
	drop("2-base")
	h.run("agentx", "publish", "artifacts").want(t, exitDone)
	if body := h.last(); !strings.Contains(body, "hold no run of a base") || strings.Contains(body, "faster") || strings.Contains(body, " base ") && strings.Contains(body, actionMerge) {
		t.Errorf("the comment:\n%s", body)
	}
}

// Whatever of a run only its artifacts say stands in quotation marks, in every field
// that there is; findings are in words of ours, and forged ones are refused.
func TestPublishForgedWords(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	head := filepath.Join(h.dir, "artifacts", "1-head")
	facts, err := result.ReadFacts(head)
	if err != nil {
		t.Fatal(err)
	}
	plant(reflect.ValueOf(facts).Elem())
	facts.RunID, facts.Settings.Other = "00000000-0000-4000-8000-000000000001", map[string]string{otherCell: "h200/c8"}
	facts.ExtraIdentity = map[string]string{"env." + boast: boast}
	facts.Settings.SLOs = nil
	facts.Outcome.CancelledBy = boast
	records := filepath.Join(head, result.FileRecords)
	text, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	failed := regexp.MustCompile(`(?m)^\{.*\n\{.*\n`).ReplaceAllString(string(text), "") + failedLines(t)
	if err := os.WriteFile(records, []byte(failed), 0o600); err != nil {
		t.Fatal(err)
	}
	refinish(t, head, facts)
	s := h.run("agentx", "publish", "artifacts")
	s.want(t, exitDone, "comment: created")
	body := h.last()
	quotations := regexp.MustCompile(`“[^”|\n]*(”|…|$)`)
	for where, text := range map[string]string{"the comment": body, "the summary": s.summary} {
		if n := len(quotations.FindAllString(text, -1)); n < 10 {
			t.Errorf("%s quotes only %d times:\n%s", where, n, text)
		}
		if rest := quotations.ReplaceAllString(text, "“”"); strings.Contains(rest, "faster") {
			i := strings.Index(rest, "faster")
			t.Errorf("%s says it unquoted: …%s", where, rest[max(0, i-200):min(len(rest), i+50)])
		}
	}
	for line := range strings.Lines(s.log) { // annotations
		if strings.HasPrefix(line, "::") && strings.Contains(quotations.ReplaceAllString(line, ""), "faster") {
			t.Errorf("an annotation says it unquoted: %s", line)
		}
	}
	for name, forge := range map[string]func(string) string{
		"a finding": func(s string) string {
			return strings.Replace(s, `"findings": [`, `"findings": [{"code":"x","severity":"note","text":"`+boast+`"},`, 1)
		},
		"its text": func(s string) string {
			return regexp.MustCompile(`"text": "[^"]*"`).ReplaceAllString(s, `"text": "`+boast+`"`)
		},
		"the stamps": func(s string) string { return strings.Replace(s, `"trusted": false`, `"trusted": true`, 1) },
	} {
		file := filepath.Join(head, result.FileResult)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		now := forge(string(text))
		if now == string(text) {
			t.Fatalf("%s: nothing was forged", name)
		}
		if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := result.WriteManifest(head, facts.RunID); err != nil {
			t.Fatal(err)
		}
		h.run("agentx", "publish", "artifacts", "--cell", "h200/c8").want(t, exitFailed, "the artifacts are refused: 1-head: result.json")
		if body := h.last(); !strings.Contains(body, "the artifacts are refused: they are not in everything") || strings.Contains(body, "faster") {
			t.Errorf("%s: the comment:\n%s", name, body)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// plant writes the boast wherever a string may be anything.
func plant(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.String() != result.KindFacts && v.String() != result.FactsSchemaVersion {
			v.SetString(boast)
		}
	case reflect.Pointer:
		if v.IsNil() {
			if v.Type().Elem().Kind() != reflect.Struct {
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
		}
		plant(v.Elem())
	case reflect.Slice:
		if v.Len() == 0 && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			plant(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[result.Phase]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "EnergyFrom" { // one of two words
				plant(v.Field(i))
			}
		}
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		value := reflect.New(v.Type().Elem()).Elem()
		if value.Kind() == reflect.Float64 {
			value.SetFloat(1)
		}
		plant(value)
		m.SetMapIndex(reflect.ValueOf(boast).Convert(v.Type().Key()), value)
		v.Set(m)
	}
}

// failedLines are records of two requests that failed with the boast for an error.
func failedLines(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	w := record.NewWriter[record.Record](&b)
	for i := range 2 {
		sent := record.Stamp(2e9)
		r := record.Record{
			Asked: record.Asked{Num: 1000 + i, Phase: record.PhaseProfiling, Kind: record.KindTurn, TraceID: boast, StreamID: boast, Turn: 100 + i},
			Seen:  record.Seen{Outcome: record.Failed, Sent: sent, End: sent + 1, Error: &record.Error{Code: 500, Type: boast, Message: boast}},
		}
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The cell out of the artifacts is a name or nothing.
func TestPublishForgedCell(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	for cell, good := range map[string]bool{boast: false, strings.Repeat("x", 151): false, ".": false, "a\nb": false, "-": false, "Qwen/Qwen3@1+x=y,z-tp2-c8": true} {
		for i, name := range []string{"1-head", "2-base", "3-base", "4-head"} {
			forged(t, filepath.Join(h.dir, "artifacts", name), uint64(i+1), 1, func(f *result.Facts) {
				f.Settings.Other = map[string]string{otherCell: cell}
			})
		}
		s := h.run("agentx", "publish", "artifacts")
		if good {
			s.want(t, exitDone)
			if !strings.Contains(h.last(), "cell=Qwen%2FQwen3%401%2Bx%3Dy%2Cz%2Dtp2%2Dc8 ") {
				t.Errorf("the comment:\n%s", h.last())
			}
			continue
		}
		s.want(t, exitFailed, "give --cell")
		if body := h.last(); strings.Contains(body, "faster") {
			t.Errorf("the comment:\n%s", body)
		}
	}
}

// Without a base in the artifacts, the publisher's store has one.
func TestPublishForgedAgainstStore(t *testing.T) {
	t.Parallel()
	h := forgedJob(t, 1)
	for _, name := range []string{"2-base", "3-base", "4-head"} {
		if err := os.RemoveAll(filepath.Join(h.dir, "artifacts", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(h.dir, "artifacts", "1-head"), filepath.Join(h.dir, "one")); err != nil {
		t.Fatal(err)
	}
	forged(t, filepath.Join(h.dir, "one"), 1, 1.5, func(f *result.Facts) {
		f.Settings.Other = map[string]string{otherCell: "h200"}
		f.ExtraIdentity = map[string]string{"env." + boast: "x"}
	})
	for i := range 4 { // the oldest is another's
		forged(t, filepath.Join(h.dir, "kept", "v1", "octo", "engine", "h200", "main", fmt.Sprintf("20260101T00000%dZ-%s-5-1", i, actionBase[:12])), uint64(10+i), 1, func(f *result.Facts) {
			if i > 0 {
				f.ExtraIdentity = map[string]string{"env." + boast: "x"}
			}
		})
	}
	// Their baselines differ in a key, and one run in the store is none for it.
	forgedBaseline(t, filepath.Join(h.dir, "one", "fixed-256x16-c2"), 30, map[string]string{"env." + boast: "x"})
	at := filepath.Join(h.dir, "kept", "v1", "octo", "engine", "h200", "main", fmt.Sprintf("20260101T000003Z-%s-5-1", actionBase[:12]))
	forgedBaseline(t, filepath.Join(at, "fixed-256x16-c2"), 31, nil)
	if _, err := result.Finish(at); err != nil {
		t.Fatal(err)
	}
	s := h.run("agentx", "publish", "one", "--store", "kept", "--compare-branch", "main")
	s.want(t, exitDone, "comment: created")
	if body := h.last(); !strings.Contains(body, "REGRESSION") || !strings.Contains(body, "base "+actionBase[:12]) || !strings.Contains(body, "Base from kept/v1/octo/engine/h200/main") ||
		!strings.Contains(body, "differ in env.“"+boast+"”") || strings.Contains(body, "env."+boast) || !strings.Contains(body, "Why runs of the base were turned down stands in the log") {
		t.Errorf("the comment:\n%s\n%s", body, s.log)
	}
	if s.outputs["comparison-path"] != "" {
		t.Errorf("a comparison that is kept nowhere: %v", s.outputs)
	}
	h.run("agentx", "publish", "one", "--store", "kept", "--compare-branch", "none").want(t, exitDone)
	if body := h.last(); !strings.Contains(body, "hold no run of a base") {
		t.Errorf("the comment:\n%s", body)
	}
	h.run("agentx", "publish", "one", "--store", "kept", "--compare-branch", "nowhere").want(t, exitDone, "note: not compared:")
	if body := h.last(); !strings.Contains(body, "the store has no run of nowhere") {
		t.Errorf("the comment:\n%s", body)
	}
}
