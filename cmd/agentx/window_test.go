package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// wanted is a head like the run in a folder.
func wanted(t *testing.T, dir string) *compare.Wanted {
	t.Helper()
	doc, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &compare.Wanted{RunIDs: []string{doc.RunID}, Identity: doc.Identity, MayDiffer: compare.DefaultAxis}
}

// A folder of runs stands for its newest accepted ones; what is turned down is said.
func TestWindow(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, name := range []string{"store/a", "store/b", "store/deep/c", "store/dead", "store/seed", "store/altered", "store/garbage", "store/unfinished", "store/head"} {
		seed := int64(42)
		if name == "store/seed" {
			seed = 43
		}
		finished(t, name, uint64(i), 1, seed, name == "store/dead")
	}
	if err := os.Remove("store/unfinished/" + result.FileManifest); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"store/altered/" + result.FileAIPerfCSV: "x", "store/garbage/" + result.FileResult: "x", "store/" + result.FileComparison: "x"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("store", "link"); err != nil {
		t.Skip(err)
	}
	w := wanted(t, "store/head")
	in, notes, err := chooseBase([]string{"link"}, w, new(shelf), compare.Check)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, s := range in {
		dirs = append(dirs, s.Where)
	}
	if diff := cmp.Diff([]string{"link/a", "link/b", "link/deep/c"}, dirs); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"Base from link, the newest accepted first: a, b, deep/c.",
		"Below link, 2 runs turned down: not as the run left it (garbage, altered).",
		"Below link, 1 run turned down: did not finish (unfinished).",
		"Below link, 1 run turned down: no request succeeded (dead).",
		"Below link, 1 run turned down: the head itself (head).",
		"Below link, 1 run turned down: differs from the head in seed (seed).",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
	// A run that was named is not taken twice, wherever it was named.
	in, notes, err = chooseBase([]string{"store", "store/b"}, w, new(shelf), compare.Check)
	if err != nil || len(in) != 3 || in[0].Where != "store/b" || !strings.Contains(strings.Join(notes, "\n"), "the same run as one taken (b)") {
		t.Errorf("%v %v %v", in, notes, err)
	}
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, says := range map[string]string{
		"empty":            "empty holds no run",
		"store/deep":       "", // one run is enough
		"store/unfinished": "the run did not finish",
		"missing":          "no such folder",
	} {
		_, _, err := chooseBase([]string{dir}, w, new(shelf), compare.Check)
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || exitCode(err) != exitUsage) {
			t.Errorf("%s: %v, want %q", dir, err, says)
		}
	}
	w.Identity = result.NewIdentity(map[string]string{"corpus": "other"})
	if _, _, err := chooseBase([]string{"store"}, w, new(shelf), compare.Check); err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), "store holds no run that can be the base: 5 runs turned down: differs from the head in corpus; ") {
		t.Error(err)
	}
}

// A window has the newest five.
func TestWindowIsBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 7 {
		finished(t, fmt.Sprint("store/", i), uint64(i), 1, 42, false)
	}
	w := wanted(t, "store/0")
	w.RunIDs = nil
	if in, _, err := chooseBase([]string{"store"}, w, new(shelf), compare.Check); err != nil || len(in) != windowRuns {
		t.Errorf("%d runs, %v", len(in), err)
	}
}
