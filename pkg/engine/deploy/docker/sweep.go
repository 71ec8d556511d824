package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Sweep is [Sweep] at the driver's daemon.
func (d *Driver) Sweep(ctx context.Context) ([]string, error) { return Sweep(ctx, d.client) }

// Sweep removes containers, then networks and volumes, that carry our labels and
// whose owner is dead, whichever driver made them. An owner in another container,
// whose process id says nothing here, is dead when that container doesn't run any
// more. What a stranger's container uses stays, with a line that says so.
func Sweep(ctx context.Context, daemon *client.Client) ([]string, error) {
	d := &Driver{client: daemon}
	swept, err := d.sweep(ctx)
	if err != nil {
		err = fmt.Errorf("docker: sweeping: %w", d.explain(err))
	}
	return swept, err
}

// Leftovers are what runs that are gone left at the daemon at $DOCKER_HOST or the
// default socket, for who starts nothing there himself. The zero value works.
type Leftovers struct{}

// Sweep is [Sweep]. Where there is no daemon, or one on another machine, nothing is
// ours.
func (Leftovers) Sweep(ctx context.Context) ([]string, error) {
	if _, err := os.Stat(strings.TrimPrefix(client.DefaultDockerHost, "unix://")); err != nil && os.Getenv(client.EnvOverrideHost) == "" {
		return nil, nil // there is no Docker
	}
	c, err := client.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	defer func() { _ = c.Close() }()
	if onThisMachine(c.DaemonHost()) != nil {
		return nil, nil
	}
	return Sweep(ctx, c)
}

// leftovers are swept one by one: one that can't be removed keeps no other.
type leftovers struct {
	d      *Driver
	swept  []string
	failed []error
}

func (d *Driver) sweep(ctx context.Context) ([]string, error) {
	l := &leftovers{d: d}
	ours := client.Filters{}.Add("label", deploy.Label)
	containers, err := d.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, err
	}
	for _, c := range containers.Items {
		l.remove(ctx, "container", containerName(&c), c.Labels, func(ctx context.Context) error { return d.removeContainer(ctx, c.ID, c.Labels) })
	}
	networks, err := d.client.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	l.failed = append(l.failed, err)
	for _, n := range networks.Items {
		l.remove(ctx, "network", n.Name, n.Labels, func(ctx context.Context) error { return d.removeNetwork(ctx, n.ID, n.Labels[ContainerLabel]) })
	}
	volumes, err := d.client.VolumeList(ctx, client.VolumeListOptions{Filters: ours})
	l.failed = append(l.failed, err)
	for _, v := range volumes.Items {
		l.remove(ctx, "volume", v.Name, v.Labels, func(ctx context.Context) error { return d.removeVolume(ctx, v.Name) })
	}
	return l.swept, errors.Join(l.failed...)
}

const (
	sweepContainer = 30 * time.Second // it may have to give GPUs back
	sweepOther     = 3 * time.Second
)

// remove takes one thing away, if its owner is dead.
func (l *leftovers) remove(ctx context.Context, kind, name string, labels map[string]string, what func(context.Context) error) {
	dead, err := l.d.leftover(ctx, labels)
	if err != nil || !dead {
		l.failed = append(l.failed, err)
		return
	}
	limit := sweepOther
	if kind == "container" {
		limit = sweepContainer
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = until(limited, "the "+kind+" "+name, func() error { return what(limited) })
	switch {
	case err == nil:
		l.swept = append(l.swept, fmt.Sprintf("%s %s of %s", kind, name, labels[deploy.Label]))
	case kind == "network" && l.d.inUse(ctx, name), kind == "volume" && l.d.mounted(ctx, name):
		// It holds nothing that a run needs, so it stops none.
		l.swept = append(l.swept, fmt.Sprintf("%s %s stays: containers that are not ours are on it", kind, name))
	default:
		l.failed = append(l.failed, err)
	}
}

func containerName(c *container.Summary) string {
	if len(c.Names) == 0 {
		return c.ID
	}
	return strings.TrimPrefix(c.Names[0], "/")
}

func (d *Driver) removeVolume(ctx context.Context, name string) error {
	_, err := d.client.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
	if notFound(err) {
		return nil
	}
	return err
}

// mounted tells whether a container has a volume.
func (d *Driver) mounted(ctx context.Context, volume string) bool {
	res, err := d.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("volume", volume)})
	return err == nil && len(res.Items) > 0
}

// inUse tells whether containers are on a network.
func (d *Driver) inUse(ctx context.Context, network string) bool {
	res, err := d.client.NetworkInspect(ctx, network, client.NetworkInspectOptions{})
	return err == nil && len(res.Network.Containers) > 0
}

// leftover tells whether the owner of something is dead. Where it can't be told it
// is not.
func (d *Driver) leftover(ctx context.Context, labels map[string]string) (bool, error) {
	owner, err := deploy.ParseOwner(labels[deploy.OwnerLabel])
	if err != nil || deploy.Self().Boot == "" {
		return false, nil //nolint:nilerr // nobody is known, so nobody is dead
	}
	if owner.Boot != deploy.Self().Boot && onThisMachine(d.client.DaemonHost()) != nil {
		return false, nil //nolint:nilerr // of another client of a daemon elsewhere, perhaps
	}
	if alive, known := owner.Alive(); known {
		return !alive, nil
	}
	id := labels[ContainerLabel]
	if id == "" {
		return false, nil
	}
	res, err := d.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if notFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return res.Container.State != nil && !res.Container.State.Running && !res.Container.State.Paused, nil
}
