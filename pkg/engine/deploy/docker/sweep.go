package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Sweep removes containers, then networks, that carry our labels and whose owner is
// dead. An owner in another container, whose process id says nothing here, is dead
// when that container doesn't run any more. A network that a stranger's container
// has joined stays, with a line that says so.
func (d *Driver) Sweep(ctx context.Context) ([]string, error) {
	swept, err := d.sweep(ctx)
	if err != nil {
		err = fmt.Errorf("docker: sweeping: %w", d.explain(err))
	}
	return swept, err
}

func (d *Driver) sweep(ctx context.Context) (swept []string, err error) {
	ours := client.Filters{}.Add("label", deploy.Label)
	containers, err := d.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, err
	}
	var failed []error
	// One that can't be removed keeps no other.
	remove := func(kind, name string, labels map[string]string, limit time.Duration, what func(context.Context) error) {
		left, err := d.leftover(ctx, labels)
		if err == nil && left {
			limited, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			err = until(limited, "the "+kind+" "+name, func() error { return what(limited) })
			switch {
			case err == nil:
				swept = append(swept, fmt.Sprintf("%s %s of %s", kind, name, labels[deploy.Label]))
			case kind == "network" && d.inUse(ctx, name):
				// It holds nothing that a run needs, so it stops none.
				swept = append(swept, fmt.Sprintf("network %s stays: containers that are not ours are on it", name))
				err = nil
			}
		}
		failed = append(failed, err)
	}
	for _, c := range containers.Items {
		remove("container", c.ID[:min(12, len(c.ID))], c.Labels, 30*time.Second, func(ctx context.Context) error { return d.removeContainer(ctx, c.ID, c.Labels) })
	}
	networks, err := d.client.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	if err != nil {
		return swept, errors.Join(append(failed, err)...)
	}
	for _, n := range networks.Items {
		remove("network", n.Name, n.Labels, 3*time.Second, func(ctx context.Context) error { return d.removeNetwork(ctx, n.ID, n.Labels[ContainerLabel]) })
	}
	return swept, errors.Join(failed...)
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
