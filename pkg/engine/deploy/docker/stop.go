package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Stop sends SIGTERM, and after grace removes the container by force; then the
// network goes, and the published port is closed. Each step may be taken twice, so
// that two Stops at once, one of them in more of a hurry, do no harm.
func (e *engine) Stop(ctx context.Context, grace time.Duration) error {
	e.terminate(ctx, grace)
	if err := e.takeDown(ctx); err != nil {
		return fmt.Errorf("docker: stopping %s: %w", e.name, e.driver.explain(err))
	}
	return nil
}

// terminate asks it to end, and waits as long as it has.
func (e *engine) terminate(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	select {
	case <-e.Exited():
		return
	default:
	}
	// What can't be told anything is removed by force all the same.
	if _, err := e.driver.client.ContainerKill(ctx, e.id, client.ContainerKillOptions{Signal: "SIGTERM"}); err != nil {
		return
	}
	select {
	case <-e.Exited():
	case <-ctx.Done():
	}
}

// takeDown removes what carries the engine's name and our label, until the daemon
// says that it is gone, and leaves the network before it is removed. It needs no
// memory of what was made: a call whose answer was lost may have made something.
func (e *engine) takeDown(ctx context.Context) error {
	d := e.driver
	if err := until(ctx, "its container", func() error { return d.removeContainer(ctx, e.name, e.labels) }); err != nil {
		return err
	}
	if err := until(ctx, "its network", func() error { return d.removeNetworks(ctx, e.name, e.labels) }); err != nil {
		return err
	}
	if e.port != "" {
		if err := until(ctx, "its port", func() error { return closed(ctx, e.port) }); err != nil {
			return err
		}
	}
	if e.started {
		select {
		case <-e.Exited(): // its last lines are written
		case <-ctx.Done():
		}
	}
	return nil
}

// errStill says that something is there for now.
var errStill = errors.New("still there")

// until tries again until there is no error. At the end of ctx it says what is
// left.
func until(ctx context.Context, what string, try func() error) error {
	var last error
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not gone: %w", what, last)
		case <-time.After(pause):
		}
	}
}

// removeContainer removes a container by name if it carries these labels; nil says
// that it is gone.
func (d *Driver) removeContainer(ctx context.Context, name string, labels map[string]string) error {
	res, err := d.client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if notFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if config := res.Container.Config; config == nil || !same(config.Labels, labels) {
		return nil // a stranger of that name
	}
	_, err = d.client.ContainerRemove(ctx, res.Container.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !notFound(err) && !errdefs.IsConflict(err) { // conflict: it is being removed
		return err
	}
	return errStill // asked again, until it isn't found
}

// removeNetworks removes an engine's network; nil says that it is gone. Docker
// allows two networks of one name, so they are found by label.
func (d *Driver) removeNetworks(ctx context.Context, name string, labels map[string]string) error {
	list, err := d.client.NetworkList(ctx, client.NetworkListOptions{Filters: client.Filters{}.Add("label", deploy.Label+"="+name)})
	if err != nil {
		return err
	}
	left := error(nil)
	for _, n := range list.Items {
		if !same(n.Labels, labels) {
			continue
		}
		left = errStill
		if err := d.removeNetwork(ctx, n.ID, labels[ContainerLabel]); err != nil {
			left = err
		}
	}
	return left
}

// removeNetwork takes the owner's container, which had joined it, off a network
// and removes it.
func (d *Driver) removeNetwork(ctx context.Context, id, joined string) error {
	if joined != "" {
		// That fails where it never joined, or is gone; the removal tells.
		_, _ = d.client.NetworkDisconnect(ctx, id, client.NetworkDisconnectOptions{Container: joined, Force: true})
	}
	_, err := d.client.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if notFound(err) {
		return nil
	}
	return err
}

// same tells whether something carries the labels of one engine and owner.
func same(got, want map[string]string) bool {
	return got[deploy.Label] == want[deploy.Label] && got[deploy.OwnerLabel] == want[deploy.OwnerLabel]
}

func notFound(err error) bool { return err != nil && errdefs.IsNotFound(err) }

// closed tells whether nobody takes connections there any more.
func closed(ctx context.Context, address string) error {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err() // nothing is proven
		}
		return nil
	}
	_ = c.Close()
	return fmt.Errorf("somebody answers at %s", address)
}
