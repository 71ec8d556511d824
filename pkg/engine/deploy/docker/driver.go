package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// ContainerLabel names the container in which the owner ran, where it ran in one:
// other containers can't see its process id.
const ContainerLabel = "org.agentx.container"

// Driver starts engines in containers. It implements deploy.Driver.
type Driver struct {
	config   Config
	client   *client.Client
	prepared atomic.Pointer[found] // the engine's image, once it is here
}

// New is a driver for the daemon at $DOCKER_HOST, or at the default socket. The
// daemon isn't asked yet.
func New(config Config) (*Driver, error) {
	if err := config.check(); err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	c, err := client.New(client.FromEnv)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	if err := onThisMachine(c.DaemonHost()); err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	return &Driver{config: config, client: c}, nil
}

// onThisMachine refuses a daemon elsewhere: its 127.0.0.1, its paths and the
// owners of its containers are not ours.
func onThisMachine(host string) error {
	scheme, address, _ := strings.Cut(host, "://")
	if scheme == "unix" || scheme == "npipe" {
		return nil
	}
	if h, _, err := net.SplitHostPort(address); err == nil {
		address = h
	}
	if ip, err := netip.ParseAddr(address); address == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("the daemon %s is on another machine: run agentx there, or start the engine yourself and use its URL", host)
}

// Start starts the engine's container, and pulls its image before if need be.
// When ctx is cancelled what was begun is taken away before it returns.
func (d *Driver) Start(ctx context.Context, name string, logs io.Writer) (deploy.Engine, error) {
	e, err := d.start(ctx, name, logs)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", d.explain(err))
	}
	return e, nil
}

func (d *Driver) start(ctx context.Context, name string, logs io.Writer) (*engine, error) {
	me, err := findSelf(ctx, d.client)
	if err != nil {
		return nil, err
	}
	found, err := d.present(ctx, d.config.Image)
	if err != nil {
		return nil, err
	}
	site, err := d.site(me)
	if err != nil {
		return nil, err
	}
	mounts, err := d.mounts(me)
	if err != nil {
		return nil, err
	}
	e := &engine{
		driver: d, name: name, labels: labels(name, me), site: site,
		facts: d.facts(found), secrets: d.secrets(found),
		End: deploy.NewEnd(), logged: make(chan struct{}),
	}
	// From here on something may exist.
	late, stop := patient(ctx)
	defer stop()
	err = e.bring(late, d.options(found, site, mounts), logs)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
		defer cancel()
		return nil, errors.Join(err, e.takeDown(undo))
	}
	return e, nil
}

const (
	// patience is how long a call that makes something goes on after its context
	// has ended: a call that was given up may still be carried out by the daemon.
	patience = 5 * time.Second
	// undoing is how long it may take to take away what a failed start began.
	undoing = 30 * time.Second
)

// patient is ctx, but ends later.
func patient(ctx context.Context) (late context.Context, stop func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	return late, func() { forget(); cancel() }
}

// Labels are those of everything that belongs to an engine of this process, at a
// daemon that may also run the container in which we are.
func Labels(ctx context.Context, daemon *client.Client, name string) (map[string]string, error) {
	me, err := findSelf(ctx, daemon)
	if err != nil {
		return nil, err
	}
	return labels(name, me), nil
}

// labels are those of everything that belongs to an engine.
func labels(name string, me *self) map[string]string {
	l := map[string]string{deploy.Label: name, deploy.OwnerLabel: deploy.Self().String()}
	if me != nil {
		l[ContainerLabel] = me.id
	}
	return l
}

func (d *Driver) progress(format string, args ...any) {
	if d.config.Progress != nil {
		fmt.Fprintf(d.config.Progress, format+"\n", args...)
	}
}
