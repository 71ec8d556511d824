package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// As the first process of a container we are given the orphans of engines: those
// that ended before we took the engine down must not stay as zombies.
func TestOrphansAreReaped(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	d := driver(t)
	d.Command = append([]string{"/bin/sh", "-c", `(sleep 0.01 &); exec "$@"`, "sh"}, d.Command...)
	dep, err := deploy.Bring(bounded(t), d, plan())
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); len(zombies(t)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no orphan came to us: this test tells nothing")
		}
	}
	if err := dep.Close(bounded(t)); err != nil {
		t.Error(err)
	}
	if left := zombies(t); len(left) > 0 {
		t.Errorf("zombies are left: %q", left)
	}
}

// zombies are children of ours called sleep that have ended.
func zombies(t *testing.T) (found []string) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		text, _ := os.ReadFile(name)
		if strings.Contains(string(text), fmt.Sprintf("(sleep) Z %d ", os.Getpid())) {
			found = append(found, name)
		}
	}
	return found
}
