package compose

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/output"
)

// command is docker compose with the settings of one project.
type command struct {
	argv  []string // without verb
	env   []string
	hide  deploy.Secrets
	input []byte // on its standard input
}

// command finds docker compose and lays out its global arguments.
func (d *Driver) command(ctx context.Context, name string, daemon *daemon) (*command, error) {
	argv, err := find(ctx)
	if err != nil {
		return nil, err
	}
	c := &command{argv: append(argv, "--ansi", "never", "--project-name", name), hide: deploy.SecretsOf(nil, d.Env)}
	dir, err := filepath.Abs(filepath.Dir(d.Files[0]))
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	c.argv = append(c.argv, "--project-directory", dir)
	for _, f := range d.Files {
		c.argv = append(c.argv, "--file", f)
	}
	for _, f := range d.EnvFiles {
		c.argv = append(c.argv, "--env-file", f)
	}
	for _, p := range d.Profiles {
		c.argv = append(c.argv, "--profile", p)
	}
	c.env = append(environment(), "DOCKER_HOST="+daemon.api.DaemonHost())
	for _, v := range d.Env {
		c.env = append(c.env, v.Name+"="+v.Value)
	}
	return c, nil
}

// over is the same command with one more file laid over the others. Who is killed
// leaves none, since it goes in on standard input.
func (c *command) over(text []byte) *command {
	return &command{append(slices.Clone(c.argv), "--file", "-"), c.env, c.hide, text}
}

const install = "install Docker's compose plugin (package docker-compose-plugin or docker-compose-v2), " +
	"or put docker-compose of version 2 or later on the PATH; the Action's container has none: run the host binary there (.github/actions/setup)"

// find looks for the plugin of the docker command, then for docker-compose alone.
func find(ctx context.Context) ([]string, error) {
	var seen []string
	for _, argv := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			seen = append(seen, argv[0]+" is not on the PATH")
			continue
		}
		c := &command{argv: append([]string{path}, argv[1:]...), env: environment()}
		out, err := c.output(ctx, "version", "--short")
		version := strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s version: %w", strings.Join(argv, " "), context.Cause(ctx))
		case err != nil:
			seen = append(seen, strings.Join(argv, " ")+" does not work")
		case strings.HasPrefix(version, "1."):
			seen = append(seen, strings.Join(argv, " ")+" is "+version)
		default:
			return c.argv, nil
		}
	}
	return nil, fmt.Errorf("compose: %s: %s", strings.Join(seen, ", "), install)
}

// environment is what docker compose needs of ours.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "DOCKER_") && name != "DOCKER_CONTEXT" || slices.Contains(inherited, name) {
			env = append(env, v)
		}
	}
	return env
}

// What the docker command and its helpers for registries and builds read.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// cutAfter is how long output may stay open after the process ended or was killed.
const cutAfter = 2 * time.Second

// Bounds of what is kept of the output.
const (
	outputLimit  = 16 << 20
	messageLimit = 4 << 10
)

// run runs a verb in a process group of its own and kills all of it when ctx ends.
// The error holds the end of what was said on stderr.
func (c *command) run(ctx context.Context, stdout, stderr io.Writer, verb ...string) error {
	argv := append(slices.Clone(c.argv), verb...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	said := &output.Tail{Limit: messageLimit}
	cmd.Stdin = bytes.NewReader(c.input)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, stdout, io.MultiWriter(stderr, said)
	ownGroup(cmd)
	cmd.WaitDelay = cutAfter
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if text := strings.TrimSpace(said.String()); text != "" {
		return fmt.Errorf("docker compose %s: %w: %s", verb[0], err, c.hide.Mask(text))
	}
	return fmt.Errorf("docker compose %s: %w", verb[0], err)
}

// output is what a verb wrote.
func (c *command) output(ctx context.Context, verb ...string) ([]byte, error) {
	out := &output.Head{Limit: outputLimit}
	if err := c.run(ctx, out, io.Discard, verb...); err != nil {
		return nil, err
	}
	if out.Cut {
		return nil, fmt.Errorf("docker compose %s: more than %d MiB", verb[0], outputLimit>>20)
	}
	return out.Bytes(), nil
}
