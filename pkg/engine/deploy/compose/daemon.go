package compose

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// daemon is the Docker daemon, and what of ours is on it.
type daemon struct {
	api *client.Client
	// host is where ports that it publishes answer, address what it publishes them on.
	host, address string
}

// dial connects to the daemon at DOCKER_HOST, else at the default socket.
func dial(ctx context.Context) (*daemon, error) {
	api, err := client.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	d := &daemon{api: api, host: "127.0.0.1", address: "127.0.0.1"}
	if u, err := url.Parse(api.DaemonHost()); err == nil && u.Scheme == "tcp" && u.Hostname() != "" {
		d.host, d.address = u.Hostname(), "0.0.0.0" // its loopback is not ours
	}
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		d.close()
		return nil, fmt.Errorf("compose: no Docker daemon at %s: %w; start it, or set DOCKER_HOST", api.DaemonHost(), err)
	}
	return d, nil
}

func (d *daemon) close() { _ = d.api.Close() }

// left is what is there of ours.
type left struct {
	containers []container.Summary
	networks   []resource
	volumes    []resource
}

type resource struct {
	name   string
	labels map[string]string
}

// list finds what carries the label: a name, or name=value.
func (d *daemon) list(ctx context.Context, label string) (left, error) {
	var l left
	f := client.Filters{}.Add("label", label)
	containers, err := d.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: f})
	if err != nil {
		return l, err
	}
	l.containers = containers.Items
	networks, err := d.api.NetworkList(ctx, client.NetworkListOptions{Filters: f})
	if err != nil {
		return l, err
	}
	for _, n := range networks.Items {
		l.networks = append(l.networks, resource{n.Name, n.Labels})
	}
	volumes, err := d.api.VolumeList(ctx, client.VolumeListOptions{Filters: f})
	if err != nil {
		return l, err
	}
	for _, v := range volumes.Items {
		l.volumes = append(l.volumes, resource{v.Name, v.Labels})
	}
	return l, nil
}

func (l *left) empty() bool { return len(l.containers)+len(l.networks)+len(l.volumes) == 0 }

// names says what it is, a line each.
func (l *left) names() []string {
	var out []string
	for _, c := range l.containers {
		out = append(out, "container "+containerName(&c))
	}
	for _, n := range l.networks {
		out = append(out, "network "+n.name)
	}
	for _, v := range l.volumes {
		out = append(out, "volume "+v.name)
	}
	return out
}

func containerName(c *container.Summary) string {
	if len(c.Names) == 0 {
		return c.ID
	}
	return strings.TrimPrefix(c.Names[0], "/")
}

// remove stops the containers, all at once, and takes everything away. Anonymous
// volumes go with their containers.
func (d *daemon) remove(ctx context.Context, l left, graceS int) error {
	errs := make([]error, len(l.containers)+len(l.networks)+len(l.volumes))
	var all sync.WaitGroup
	for i, c := range l.containers {
		all.Go(func() {
			if c.State == container.StateRunning || c.State == container.StatePaused || c.State == container.StateRestarting {
				_, _ = d.api.ContainerStop(ctx, c.ID, client.ContainerStopOptions{Timeout: &graceS}) // the removal kills what did not stop
			}
			_, errs[i] = d.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		})
	}
	all.Wait()
	rest := errs[len(l.containers):]
	for i, n := range l.networks {
		_, rest[i] = d.api.NetworkRemove(ctx, n.name, client.NetworkRemoveOptions{})
	}
	rest = rest[len(l.networks):]
	for i, v := range l.volumes {
		_, rest[i] = d.api.VolumeRemove(ctx, v.name, client.VolumeRemoveOptions{})
	}
	var bad []error
	for _, err := range errs {
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // gone, or being removed: the next listing tells
			bad = append(bad, err)
		}
	}
	return errors.Join(bad...)
}
