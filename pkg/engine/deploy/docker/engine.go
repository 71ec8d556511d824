package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// engine is one container, with the network made for it.
type engine struct {
	*deploy.End
	driver  *Driver
	name    string
	labels  map[string]string
	site    site
	facts   deploy.Facts
	secrets deploy.Secrets // kept out of the log

	id      string // of the container
	started bool
	url     string
	// port published for it, which must be closed at the end; "" is none.
	port string

	output client.ContainerAttachResult
	logged chan struct{} // closed when its whole output was written
}

func (e *engine) URL() string           { return e.url }
func (e *engine) MetricsURLs() []string { return nil }
func (e *engine) Facts() deploy.Facts   { return e.facts }

// bring makes the network and the container, and starts it. What it made when it
// fails, takeDown takes away.
func (e *engine) bring(ctx context.Context, options client.ContainerCreateOptions, logs io.Writer) error {
	c := e.driver.client
	if e.site.host {
		options.HostConfig.NetworkMode = HostNetwork
	} else {
		if err := e.makeNetwork(ctx); err != nil {
			return err
		}
		options.HostConfig.NetworkMode = container.NetworkMode(e.name)
	}
	options.Name, options.Config.Labels = e.name, e.labels
	made, err := c.ContainerCreate(ctx, options)
	if err != nil {
		return fmt.Errorf("making the container: %w", err)
	}
	e.id = made.ID

	// Both before it starts, so that neither a line nor its end is missed.
	e.output, err = c.ContainerAttach(ctx, e.id, client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return fmt.Errorf("reading its output: %w", err)
	}
	watch, cancel := context.WithCancel(context.Background())
	wait := c.ContainerWait(watch, e.id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := c.ContainerStart(ctx, e.id, client.ContainerStartOptions{}); err != nil {
		cancel()
		e.output.Close()
		return fmt.Errorf("starting the container: %w", err)
	}
	e.started = true
	go e.copyLogs(logs)
	go func() {
		defer cancel()
		e.watch(watch, wait)
	}()
	return e.locate(ctx)
}

// makeNetwork makes the engine's own network and, in a container, joins it.
func (e *engine) makeNetwork(ctx context.Context) error {
	c := e.driver.client
	made, err := c.NetworkCreate(ctx, e.name, client.NetworkCreateOptions{Driver: "bridge", Labels: e.labels})
	if err != nil {
		return fmt.Errorf("making the network: %w", err)
	}
	if e.site.join == "" {
		return nil
	}
	if _, err := c.NetworkConnect(ctx, made.ID, client.NetworkConnectOptions{Container: e.site.join}); err != nil {
		return fmt.Errorf("joining the network: %w", err)
	}
	return nil
}

// locate finds where it is reached.
func (e *engine) locate(ctx context.Context) error {
	at := func(host string, port int) { e.url = "http://" + net.JoinHostPort(host, strconv.Itoa(port)) }
	switch {
	case e.site.host:
		at(e.site.address, e.site.port)
		return nil
	case e.site.join != "":
		at(e.name, e.site.port)
		return nil
	}
	at(loopback.String(), 0) // what ended already has no port, and never answers
	res, err := e.driver.client.ContainerInspect(ctx, e.id, client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	if res.Container.NetworkSettings == nil {
		return nil
	}
	if port, ok := published(res.Container.NetworkSettings.Ports, e.site.port); ok {
		at(port.Addr().String(), int(port.Port()))
		e.port = port.String()
	} else if res.Container.State != nil && res.Container.State.Running {
		return fmt.Errorf("port %d was not published by the daemon", e.site.port)
	}
	return nil
}

// watch waits for its end and says how it came.
func (e *engine) watch(ctx context.Context, wait client.ContainerWaitResult) {
	code, err := e.end(ctx, wait)
	if err == nil {
		err = e.cause(ctx, code)
	}
	select {
	case <-e.logged:
	case <-time.After(5 * time.Second): // the daemon keeps its output open
	}
	e.output.Close()
	<-e.logged
	e.With(err)
}

// end waits for the exit code. A daemon that goes away is given time to come back:
// where it keeps containers alive (live-restore) the engine has never ended.
func (e *engine) end(ctx context.Context, wait client.ContainerWaitResult) (code int64, err error) {
	const away = 20 * time.Second
	var lost time.Time
	for {
		select {
		case res := <-wait.Result:
			return res.StatusCode, nil
		case err = <-wait.Error:
		}
		if notFound(err) {
			return 0, errors.New("its container was removed by somebody else")
		}
		// A connection that held for a while was no part of the last failure.
		now := time.Now()
		if lost.IsZero() || now.Sub(lost) > 3*away {
			lost = now
		}
		if now.Sub(lost) > away {
			return 0, fmt.Errorf("the Docker daemon was lost: %w", err)
		}
		time.Sleep(250 * time.Millisecond)
		wait = e.driver.client.ContainerWait(ctx, e.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	}
}

// cause puts the end into words, as far as the daemon still knows it.
func (e *engine) cause(ctx context.Context, code int64) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	how := fmt.Sprintf("exit status %d", code)
	if code > 128 && code <= 128+64 {
		how = fmt.Sprintf("killed by signal %d", code-128)
	}
	res, err := e.driver.client.ContainerInspect(ctx, e.id, client.ContainerInspectOptions{})
	if err != nil || res.Container.State == nil {
		return errors.New(how) // it is being removed
	}
	if state := res.Container.State; state.OOMKilled {
		how = "out of memory: killed by the kernel (" + how + ")"
	} else if state.Error != "" {
		how += ": " + state.Error
	}
	return errors.New(how)
}
