package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// What a head could not be compared with is refused by what is known of it, and
// the key is named.
func TestBaseFits(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, dir := range []string{"a", "b", "store/c"} {
		finished(t, dir, uint64(i), 1, 42, false)
	}
	finished(t, "seed", 10, 1, 43, false)
	finished(t, "dead", 11, 1, 42, true)
	finished(t, "store/unfinished", 12, 1, 42, false)
	if err := os.Remove("store/unfinished/" + result.FileManifest); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := Main([]string{"compare", "--aa", "-o", "floor.json", "a", "b", "store/c"}, nil, &out, &out); code != exitDone {
		t.Fatal(out.String())
	}
	of := func(change map[string]string) *result.Identity {
		values := map[string]string{}
		for _, p := range wanted(t, "a").Identity.Pairs {
			values[p.Key] = p.Value
		}
		for k, v := range change {
			values[k] = v
		}
		id := result.NewIdentity(values)
		return &id
	}
	same := of(nil)
	for _, c := range []struct {
		dirs  []string
		floor string
		head  *result.Identity
		says  string // empty = it fits
	}{
		{[]string{"a"}, "floor.json", same, ""},
		{[]string{"a", "b"}, "", same, ""},
		{[]string{"store"}, "", same, ""},
		{[]string{"a"}, "", of(map[string]string{"engine_version": "2"}), ""},
		{[]string{"seed"}, "", same, "--compare-with seed: the comparison would be refused: seed is 43 there and 42 here"},
		{[]string{"a"}, "", of(map[string]string{"corpus": "x", "history": "live", "concurrency": "3", "marker": "y"}), "concurrency is unknown there and 3 here, corpus is unknown there and x here, history is unknown there and live here, and 1 more keys differ"},
		{[]string{"a"}, "", of(map[string]string{"engine": "vllm"}), "engine is unknown there and vllm here"},
		{[]string{"a", "seed"}, "", same, "seed is 43 there"},
		{[]string{"a", "a"}, "", same, "the run run-0 is given twice"},
		{[]string{"dead"}, "", same, "no request of it succeeded"},
		{[]string{"store"}, "", of(map[string]string{"seed": "7"}), "store holds no run that can be the base: 1 run turned down: "},
		{nil, "floor.json", of(map[string]string{"seed": "7"}), "the noise floor floor.json is of something else: seed is 42 there and 7 here"},
	} {
		b, err := newBase(c.dirs, c.floor, "artifacts", new(shelf))
		if err != nil {
			t.Error(c.dirs, err)
			continue
		}
		err = b.fits(c.head)
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "nothing was run: ") || exitCode(err) != exitUsage) {
			t.Errorf("%v: %v, want %q", c.dirs, err, c.says)
		}
	}
}

func TestBaseRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	finished(t, "a", 1, 1, 42, false)
	if err := os.WriteFile("floor.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, floor, out, says string }{
		{"a", "", "./a", "--compare-with a: the run is to be written there"},
		{"missing", "", "o", "--compare-with: missing: no such folder"},
		{"a", "floor.json", "o", "--floor floor.json: "},
		{"a", "missing", "o", "--floor missing: "},
	} {
		if _, err := newBase([]string{c.dir}, c.floor, c.out, new(shelf)); err == nil || !strings.Contains(err.Error(), c.says) || exitCode(err) != exitUsage {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}

// Long values are shown where they differ.
func TestDifferences(t *testing.T) {
	long := strings.Repeat("x", 200)
	a := result.NewIdentity(map[string]string{"k": long + "1" + long, "s": "a\x1b[31m"})
	b := result.NewIdentity(map[string]string{"k": long + "2" + long})
	got := differences([]string{"k", "s"}, &a, &b)
	x := func(n int) string { return strings.Repeat("x", n) }
	if want := "k is …" + x(20) + "1" + x(39) + "… there and …" + x(20) + "2" + x(39) + "… here, s is a?[31m there and unknown here"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// What only the run shows refuses the comparison, never the run: its result is
// whole, and the exit code is that of a base that does not fit.
func TestRefusedAfterTheRun(t *testing.T) {
	dir := t.TempDir()
	base, head := filepath.Join(dir, "base"), filepath.Join(dir, "head")
	replay := func(to string, more ...string) (int, string) {
		var out, err bytes.Buffer
		code := Main(append([]string{
			"replay", "--url", simulated(t), "--input-file", "../../pkg/workload/corpus/sample", "--output-artifact-dir", to,
			"--concurrency", "4", "--benchmark-duration", "1", "--benchmark-grace-period", "0.5", "--burst-phase-starts", "--random-seed", "1", "--trace-idle-gap-cap-seconds", "0.2", "--stats-interval", "0",
		}, more...), nil, &out, &err)
		return code, out.String() + err.String()
	}
	if code, said := replay(base); code != exitDone {
		t.Fatal(said)
	}
	code, said := replay(head, "--no-server-metrics", "--compare-with", base)
	if code != exitUsage || !strings.Contains(said, "the run's own result stands as it is: Not compared: the sides differ in engine.") || !strings.Contains(said, "artifacts: "+head) {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if problems, err := result.Check(head); err != nil || len(problems) > 0 {
		t.Errorf("the run's folder: %v %v", problems, err)
	}
	text, err := os.ReadFile(filepath.Join(head, result.FileComparison))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := compare.Decode(text); err != nil || c.Verdict != compare.Refused {
		t.Errorf("%+v %v", c, err)
	}
}

// After the run a window is chosen for the head as it turned out to be.
func TestWindowAfterTheRun(t *testing.T) {
	t.Chdir(t.TempDir())
	finished(t, "store/a", 1, 1, 42, false)
	finished(t, "store/head", 2, 1, 42, false)
	finished(t, "other", 3, 1, 43, false)
	b := &base{dirs: []string{"store"}}
	var out bytes.Buffer
	c, from, err := b.compare(&out, "store/head")
	if err != nil || from != "store/a" || len(c.Base.Runs) != 1 || !strings.Contains(out.String(), "Below store, 1 run turned down: the head itself (head).") {
		t.Errorf("%v %s %+v\n%s", err, from, c, &out)
	}
	if _, err := os.Stat("store/head/comparison.json"); err != nil || result.Verify("store/head") != nil {
		t.Error("the comparison is not in the manifest: ", err, result.Verify("store/head"))
	}
	_, _, err = b.compare(&out, "other")
	if err = notCompared(err); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "store holds no run that can be the base: 2 runs turned down: differs from the head in seed (a, head)") {
		t.Error(err)
	}
	if err := result.Verify("other"); err != nil {
		t.Error("the run itself: ", err)
	}
}
