package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
)

func TestMain(m *testing.M) {
	if image := os.Getenv(ownerVariable); image != "" {
		os.Exit(own(image))
	}
	os.Exit(dockertest.Wrap(m).Run())
}

// withCompose is a daemon with docker compose to speak to it: what is installed,
// else what "make compose" built. Without either the test is skipped; with CI set
// it fails.
func withCompose(t *testing.T) dockertest.Docker {
	t.Helper()
	d := dockertest.Get(t)
	t.Setenv("DOCKER_HOST", d.Host)
	if _, err := find(t.Context()); err == nil {
		return d
	}
	built := builtCompose(t)
	if built == "" && os.Getenv("CI") == "" {
		t.Skip("no docker compose: run 'make compose'")
	}
	t.Setenv("PATH", standalone(t, built)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := find(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// builtCompose is docker compose as the Makefile builds it; "" when it has not.
func builtCompose(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("../../../../.bin/docker-compose-*")
	if len(found) == 0 {
		return ""
	}
	path, err := filepath.Abs(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// standalone is a folder that holds a program as docker-compose, and nothing else;
// an empty one where the program is "".
func standalone(t *testing.T, program string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if program != "" {
		if err := os.Symlink(program, filepath.Join(dir, "docker-compose")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// installed is the program of docker compose, wherever it is; "" when nowhere.
func installed(t *testing.T) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	for _, path := range []string{
		builtCompose(t), filepath.Join(home, ".docker", "cli-plugins", "docker-compose"),
		"/usr/libexec/docker/cli-plugins/docker-compose", "/usr/lib/docker/cli-plugins/docker-compose",
	} {
		if _, err := exec.LookPath(path); err == nil && path != "" {
			return path
		}
	}
	return ""
}
