package stranger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
)

// whole is a run as the program wrote it.
const whole = "../../result/compare/testdata/fixtures/1.1/run"

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// artifacts is a copy of it.
func artifacts(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "artifacts")
	check(t, os.CopyFS(dir, os.DirFS(whole)))
	return dir
}

func noRules(*result.Facts) result.Scenario { return result.Scenario{} }

func rebuilt(t *testing.T, dir string) (string, error) {
	t.Helper()
	to := t.TempDir()
	return to, Rebuild(t.Context(), []string{dir}, dir, to, noRules)
}

// A run comes out as it was, of its evidence alone.
func TestRebuild(t *testing.T) {
	dir := artifacts(t)
	check(t, os.WriteFile(filepath.Join(dir, result.FileReport), []byte("<script>"), 0o600))
	to, err := rebuilt(t, dir)
	check(t, err)
	if problems, err := result.Check(to); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	before, err := result.Read(dir)
	check(t, err)
	after, err := result.Read(to)
	check(t, err)
	if diff := cmp.Diff(before.Metrics, after.Metrics); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(to, result.FileReport)); err == nil {
		t.Error("a page was taken over")
	}
}

func TestRebuildRefuses(t *testing.T) {
	edit := func(name, old, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			name := filepath.Join(dir, name)
			before, err := os.ReadFile(name)
			check(t, err)
			after := bytes.Replace(before, []byte(old), []byte(text), 1)
			if bytes.Equal(before, after) {
				t.Fatalf("%s has no %s", name, old)
			}
			check(t, os.WriteFile(name, after, 0o600))
		}
	}
	write := func(name string, text []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) { check(t, os.WriteFile(filepath.Join(dir, name), text, 0o600)) }
	}
	unclaimed := func(harm func(*testing.T, string)) func(*testing.T, string) { // as a run that was cut off leaves it
		return func(t *testing.T, dir string) {
			harm(t, dir)
			check(t, os.Remove(filepath.Join(dir, result.FileResult)))
		}
	}
	baseline := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			check(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(whole)))
		}
	}
	for name, c := range map[string]struct {
		harm func(*testing.T, string)
		says string
	}{
		"a figure":              {edit(result.FileResult, `"p50": `, `"p50": 1`), "result.json"},
		"a record":              {edit(result.FileRecords, `"phase":"profiling"`, `"phase":"elsewhere"`), "records.jsonl"},
		"facts to fool a log":   {unclaimed(edit(result.FileFacts, `"mode": "agentic"`, `"mode": "“done”\u001b[31m é"`)), result.FileFacts},
		"no facts":              {func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, result.FileFacts))) }, result.FileFacts},
		"its id":                {unclaimed(edit(result.FileFacts, `"run_id": "`, `"run_id": "faster than ever `)), "the run's id is"},
		"a key":                 {unclaimed(edit(result.FileFacts, `"corpus": {`, `"extra_identity": {"faster": "yes"}, "corpus": {`)), `extra_identity has the key "faster"`},
		"a long line":           {write(result.FileSamples, bytes.Repeat([]byte(" "), maxEvidenceLine+1)), "a line is longer than"},
		"huge JSON":             {write(result.FileResult, bytes.Repeat([]byte("["), maxClaimed+1)), "larger than"},
		"no JSON":               {write(result.FileResult, []byte("{")), "result.json"},
		"a baseline's name":     {baseline("fixed-All is 40 % faster"), "is no name of a baseline"},
		"a baseline of another": {baseline("fixed-1"), "fixed-1: no fixed-length run"},
		"many baselines": {func(t *testing.T, dir string) {
			for i := range maxBaselines + 1 {
				baseline(fmt.Sprint("fixed-", i))(t, dir)
			}
		}, "more than 8 of strangers"},
		"a link": {func(t *testing.T, dir string) {
			check(t, os.Remove(filepath.Join(dir, result.FileSamples)))
			check(t, os.Symlink("/etc/passwd", filepath.Join(dir, result.FileSamples)))
		}, "not a plain file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := artifacts(t)
			c.harm(t, dir)
			_, err := rebuilt(t, dir)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r > 126 || r < 32 && r != '\n' }) {
				t.Errorf("%q could steer a terminal", err)
			}
		})
	}
}

// What is looked at has its bounds, over all runs together.
func TestRebuildBounds(t *testing.T) {
	dir := artifacts(t)
	r := &rebuild{ctx: t.Context(), rules: noRules, left: 1 << 10}
	if err := r.all([]string{dir}, dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), "more of strangers is not looked at") {
		t.Errorf("the bytes: %v", err)
	}
	if err := Rebuild(t.Context(), slices.Repeat([]string{dir}, maxRuns+1), dir, t.TempDir(), noRules); err == nil || !strings.Contains(err.Error(), "they hold 41 runs") {
		t.Errorf("the runs: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Rebuild(ctx, []string{dir}, dir, t.TempDir(), noRules); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Rules are those of who calls, whatever the run says.
func TestRebuildJudgesAnew(t *testing.T) {
	to := t.TempDir()
	limit := 0.5
	check(t, Rebuild(t.Context(), []string{whole}, whole, to, func(*result.Facts) result.Scenario {
		return result.Scenario{Name: "ours", Version: "1", CoverageRequired: &limit}
	}))
	doc, err := result.Read(to)
	check(t, err)
	if doc.Scenario.Name != "ours" || doc.Validity.SubmissionValid == nil {
		t.Errorf("%+v, %+v", doc.Scenario, doc.Validity)
	}
}

// What a run says in words of its own is quoted, wherever it stands.
func TestDocumentQuotes(t *testing.T) {
	const boast = "faster “than” ever | <b>"
	dir := artifacts(t)
	facts, err := result.ReadFacts(dir)
	check(t, err)
	facts.Settings.Model, facts.Outcome.Error, facts.Corpus.Name = boast, boast, boast
	facts.Settings.Other = map[string]string{boast: boast}
	check(t, result.WriteFacts(dir, facts))
	doc, err := Document(dir)
	check(t, err)
	quoted := Quote(boast, quotedSentence)
	if doc.Settings.Model != quoted || doc.Outcome.Error != quoted || doc.Corpus.Name != quoted || !slices.Equal(slices.Collect(maps.Keys(doc.Settings.Other)), []string{quoted}) {
		t.Errorf("%+v %+v %+v", doc.Settings, doc.Outcome, doc.Corpus)
	}
	if !strings.HasPrefix(quoted, "“") || strings.Count(quoted, "”") != 1 {
		t.Errorf("%q", quoted)
	}
}

// Whatever is quoted cannot close its quotes, and a bare name can't be read as words.
func FuzzQuote(f *testing.F) {
	for _, text := range []string{"", "Qwen/Qwen3-30B", "a b", "”", "“x”", "\x1b[31m", "<img src=x>", "a\nb", strings.Repeat("x", 500), "\xff", "@everyone"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Quote(text, quotedName)
		if got == text {
			if text != "" && !bareName.MatchString(text) {
				t.Errorf("%q stays bare", text)
			}
			return
		}
		inside := strings.TrimSuffix(strings.TrimPrefix(got, "“"), "”")
		if len(inside) != len(got)-len("“”") || strings.ContainsAny(inside, "“”\n\r\x1b") || len([]rune(inside)) > quotedName {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
