package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A release is a commit that the default branch does not hold: action.yml takes the
// image by its digest, the setup action the binaries by their checksums, and the tags
// of version and major show it.
func TestReleaseCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		".ci/release": fileOfOurs(t, ".ci/release"), "action.yml": fileOfOurs(t, "action.yml"),
		".github/actions/setup/action.yml": fileOfOurs(t, ".github/actions/setup/action.yml"),
		"dist/checksums.txt":               "0123  agentx-linux-amd64\n", ".gitignore": "dist\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // one is run
			t.Fatal(err)
		}
	}
	do := func(argv ...string) (string, error) {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	must := func(argv ...string) string {
		t.Helper()
		out, err := do(argv...)
		if err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
		return out
	}
	must("git", "init", "-q", "-b", "main")
	must("git", "add", ".")
	must("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "source")

	if out, err := do(".ci/release", "commit", "v1.0.0", "ghcr.io/org/agentx-action:v1.0.0"); err == nil {
		t.Errorf("an image without a digest is taken: %s", out)
	}
	for _, v := range []string{"v1.0.0", "v1.1.0"} {
		must("git", "checkout", "-q", "main")
		must("git", "reset", "-q", "--hard", must("git", "rev-list", "--max-parents=0", "HEAD"))
		image := "ghcr.io/org/agentx-action@sha256:" + strings.Repeat(v[3:4], 64)
		must(".ci/release", "commit", v, image)
		if released := must("git", "show", v+":action.yml"); !strings.Contains(released, "\n  image: docker://"+image+"\n") || strings.Contains(released, "image: Dockerfile") {
			t.Errorf("%s: action.yml does not take the image", v)
		}
		if got := must("git", "show", v+":.github/actions/setup/version.txt") + must("git", "show", v+":.github/actions/setup/checksums.txt"); got != v+"0123  agentx-linux-amd64" {
			t.Errorf("%s: the setup action holds %q", v, got)
		}
		if a, b := must("git", "rev-parse", v), must("git", "rev-parse", "v1"); a != b {
			t.Errorf("v1 is %s, %s is %s", b, v, a)
		}
	}
	if a, b := must("git", "rev-parse", "v1.0.0"), must("git", "rev-parse", "v1"); a == b {
		t.Error("v1 did not move")
	}
}

// fileOfOurs is a file of the repository.
func fileOfOurs(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
