package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker"
)

// Driver starts a Compose project. Its name is the engine's, so that two runs of
// one file don't meet.
type Driver struct {
	// Files are Compose files, later ones laid over earlier ones. At least one.
	// Relative paths in them count from the folder of the first.
	Files []string
	// EnvFiles hold variables for ${…} in the files; .env beside the first file
	// when empty.
	EnvFiles []string
	// Profiles to switch on.
	Profiles []string
	// Env are further variables for ${…}, before those of EnvFiles. They travel in
	// the environment of docker compose, never in its arguments. Nothing else of
	// our own environment is seen by the files but PATH, HOME and what Docker needs.
	// The daemon is the one at DOCKER_HOST; contexts are not looked at.
	Env []deploy.Var
	// Endpoint is where the whole answers, e.g. router:8000.
	Endpoint Port
	// Metrics are the pages /metrics of the servers behind it. A service with
	// several containers counts as often as it has them. Empty means /metrics of
	// the endpoint.
	Metrics []Port
}

// Port is a port inside the containers of a service.
type Port struct {
	Service string
	Port    uint16
}

// ParsePort reads service:port.
func ParsePort(s string) (Port, error) {
	service, number, ok := strings.Cut(s, ":")
	n, err := strconv.ParseUint(number, 10, 16)
	if !ok || service == "" || err != nil || n == 0 {
		return Port{}, fmt.Errorf("%q: want service:port, as in router:8000", s)
	}
	return Port{service, uint16(n)}, nil
}

func (p Port) String() string { return p.Service + ":" + strconv.Itoa(int(p.Port)) }

// downTimeout bounds taking down what did not start.
const downTimeout = 30 * time.Second

// Sweep takes away containers, networks and volumes whose owner is dead, as
// [docker.Sweep].
func (d *Driver) Sweep(ctx context.Context) ([]string, error) {
	daemon, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer daemon.close()
	swept, err := docker.Sweep(ctx, daemon.api)
	if err != nil {
		err = fmt.Errorf("compose: %w", err)
	}
	return swept, err
}

// Start starts the project and returns when docker compose has started all of it;
// what waits in the file for a healthy service is waited for here.
func (d *Driver) Start(ctx context.Context, name string, logs io.Writer) (_ deploy.Engine, err error) {
	if len(d.Files) == 0 {
		return nil, errors.New("compose: no file given")
	}
	daemon, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			daemon.close()
		}
	}()
	command, p, err := d.read(ctx, name, daemon)
	if err != nil {
		return nil, err
	}
	e := newEngine(daemon, name, p, &lines{to: logs, hide: command.hide})
	if err := e.watch(ctx); err != nil {
		return nil, err
	}
	if err := e.up(ctx, command, d); err != nil {
		return nil, errors.Join(err, e.abandon(ctx))
	}
	return e, nil
}

// read lets docker compose read the files, and checks what they make.
func (d *Driver) read(ctx context.Context, name string, daemon *daemon) (*command, *project, error) {
	c, err := d.command(ctx, name, daemon)
	if err != nil {
		return nil, nil, err
	}
	p, err := c.project(ctx)
	if err != nil {
		return nil, nil, err
	}
	c.hide = p.secrets(d.Env)
	return c, p, p.check(d)
}

// abandon takes down what did not start, even when ctx has ended.
func (e *engine) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	e.cut = true
	return e.Stop(ctx, 0)
}
