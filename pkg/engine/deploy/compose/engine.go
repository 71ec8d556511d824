package compose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker"
)

// Labels of docker compose.
const (
	serviceLabel = "com.docker.compose.service"
	numberLabel  = "com.docker.compose.container-number"
)

// engine is a project that was started.
type engine struct {
	*deploy.End
	daemon  *daemon
	name    string
	project *project
	out     *lines

	url     string
	metrics []string
	facts   deploy.Facts

	unwatch context.CancelFunc
	watched sync.WaitGroup
	stop    sync.Mutex // one Stop at a time
	cut     bool       // docker compose did not come to its end: look twice
	gone    bool       // proven
}

func newEngine(d *daemon, name string, p *project, out *lines) *engine {
	return &engine{daemon: d, name: name, project: p, out: out, End: deploy.NewEnd()}
}

func (e *engine) URL() string           { return e.url }
func (e *engine) MetricsURLs() []string { return e.metrics }
func (e *engine) Facts() deploy.Facts   { return e.facts }

// up starts the project and finds out what came of it.
func (e *engine) up(ctx context.Context, c *command, d *Driver) error {
	mark, err := docker.Labels(ctx, e.daemon.api, e.name)
	if err != nil {
		return fmt.Errorf("compose: %w", err)
	}
	text, err := e.project.override(e.name, mark, d, e.daemon.address)
	if err != nil {
		return fmt.Errorf("compose: override file: %w", err)
	}
	progress := e.out.from("compose")
	defer progress.Close()
	if err := c.over(text).run(ctx, progress, progress, "up", "--detach"); err != nil {
		return err
	}
	containers, err := e.containers(ctx)
	if err != nil {
		return err
	}
	if e.url, err = e.address(containers, d.Endpoint, 0); err != nil {
		return err
	}
	for _, port := range d.Metrics {
		for i := range containers[port.Service] {
			page, err := e.address(containers, port, i)
			if err != nil {
				return err
			}
			e.metrics = append(e.metrics, page+"/metrics")
		}
	}
	e.facts, err = e.describe(ctx, containers, c.hide, d)
	return err
}

// containers are those of each service, in the order of their numbers.
func (e *engine) containers(ctx context.Context) (map[string][]container.InspectResponse, error) {
	l, err := e.daemon.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: e.filter()})
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	out := map[string][]container.InspectResponse{}
	for _, c := range l.Items {
		full, err := e.daemon.api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		if err != nil {
			return nil, fmt.Errorf("compose: %w", err)
		}
		service := c.Labels[serviceLabel]
		out[service] = append(out[service], full.Container)
	}
	for _, list := range out {
		sortByNumber(list)
	}
	return out, nil
}

func (e *engine) filter() client.Filters {
	return client.Filters{}.Add("label", deploy.Label+"="+e.name)
}

// address is where a port of the nth container of a service answers from here.
func (e *engine) address(all map[string][]container.InspectResponse, p Port, n int) (string, error) {
	if n >= len(all[p.Service]) {
		return "", fmt.Errorf("compose: %s: the service has no container", p)
	}
	c := &all[p.Service][n]
	if s := e.project.Services[p.Service]; s.onHost() {
		return "http://" + net.JoinHostPort(e.daemon.host, strconv.Itoa(int(p.Port))), nil
	}
	if c.NetworkSettings == nil {
		return "", fmt.Errorf("compose: %s: the container has no network", p)
	}
	for inside, bindings := range c.NetworkSettings.Ports {
		if inside.Num() != p.Port || inside.Proto() != "tcp" || len(bindings) == 0 {
			continue
		}
		host, to := e.daemon.host, bindings[0]
		if to.HostIP.IsValid() && !to.HostIP.IsUnspecified() && !to.HostIP.IsLoopback() {
			host = to.HostIP.String() // published on one address only
		}
		return "http://" + net.JoinHostPort(host, to.HostPort), nil
	}
	return "", fmt.Errorf("compose: %s: the port is not published%s", p, stateOf(c))
}

func stateOf(c *container.InspectResponse) string {
	if c.State == nil || c.State.Running {
		return ""
	}
	return fmt.Sprintf(" (%s is %s, exit status %d)", strings.TrimPrefix(c.Name, "/"), c.State.Status, c.State.ExitCode)
}

// How long to wait before looking again; longer where docker compose may have asked
// for something just before it was killed.
const (
	again  = 50 * time.Millisecond
	settle = 500 * time.Millisecond
)

// Stop takes the project down and looks until nothing of it is left.
func (e *engine) Stop(ctx context.Context, grace time.Duration) error {
	e.stop.Lock()
	defer e.stop.Unlock()
	if e.gone {
		return nil
	}
	e.With(errors.New("stopped"))
	graceS := int((max(grace, 0) + time.Second - 1) / time.Second)
	for {
		l, err := e.daemon.list(ctx, deploy.Label+"="+e.name)
		pause := again
		switch {
		case err != nil:
		case !l.empty():
			err = e.daemon.remove(ctx, l, graceS)
		case e.cut:
			e.cut, pause = false, settle
		default:
			e.unwatch()
			e.watched.Wait()
			e.gone = true
			e.daemon.close()
			return nil
		}
		select {
		case <-ctx.Done():
			return e.remains(l, errors.Join(err, context.Cause(ctx)))
		case <-time.After(pause):
		}
	}
}

func (e *engine) remains(l left, why error) error {
	if l.empty() {
		return fmt.Errorf("compose: %s is not proven gone: %w", e.name, why)
	}
	return fmt.Errorf("compose: still there: %s: %w", strings.Join(l.names(), ", "), why)
}
