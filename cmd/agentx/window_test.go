package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
)

// A folder of runs stands for its newest accepted ones.
func TestWindow(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, name := range []string{"store/a", "store/b", "store/deep/c", "store/dead", "store/unfinished"} {
		finished(t, name, uint64(i), 1, 42, name == "store/dead")
	}
	if err := os.Remove(filepath.Join("store", "unfinished", result.FileManifest)); err != nil {
		t.Fatal(err)
	}
	got, err := expand([]string{"store/a", "store"})
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != "store/a" || len(got) != 4 {
		t.Errorf("runs %v; want the named one and three accepted ones", got)
	}
	for _, dir := range got[1:] {
		if strings.Contains(dir, "dead") || strings.Contains(dir, "unfinished") {
			t.Errorf("%s is not an accepted run", dir)
		}
	}
	one, err := window("store", 1)
	if err != nil || len(one) != 1 {
		t.Errorf("%v %v", one, err)
	}
	if diff := cmp.Diff(one[0], got[1]); diff != "" {
		t.Error("the newest comes first: ", diff)
	}
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := expand([]string{"empty"}); err == nil || !strings.Contains(err.Error(), "holds no accepted one") {
		t.Error(err)
	}
}
