package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestTemporaryFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 15))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		d      Driver
		tmpdir string
		made   bool
	}{
		"of its own": {d: Driver{Command: []string{"vllm"}}, made: true},
		"too long":   {d: Driver{Command: []string{"/venv/bin/vllm"}}, tmpdir: long, made: true},
		"declared":   {d: Driver{Command: []string{"vllm"}, Env: []deploy.Var{{Name: "TMPDIR", Value: "/x"}}}},
		"elsewhere":  {d: Driver{Command: []string{"/usr/bin/srun", "vllm"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.tmpdir != "" {
				t.Setenv("TMPDIR", c.tmpdir)
			}
			dir, err := c.d.makeTmp()
			if err != nil || (dir != "") != c.made || len(dir) >= longestTmp {
				t.Fatalf("%q, %v", dir, err)
			}
			if dir == "" {
				return
			}
			env := tmpEnv(c.d.Env, dir)
			if env[0] != (deploy.Var{Name: "TMPDIR", Value: dir}) || !strings.HasPrefix(env[1].Value, os.TempDir()) {
				t.Errorf("%+v", env)
			}
			if err := removeTmp(dir); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Error("it is still there")
			}
			if err := removeTmp(dir); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestRemovesNoOther: a state file is a file, and anybody may have written it.
func TestRemovesNoOther(t *testing.T) {
	dir := t.TempDir()
	keep := filepath.Join(dir, "keep")
	link := filepath.Join(dir, tmpPrefix+"link")
	if err := os.Mkdir(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(keep, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", keep, link, link + "/../keep", tmpPrefix + "relative"} {
		if err := removeTmp(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(link); err != nil {
		t.Error(err)
	}
}
