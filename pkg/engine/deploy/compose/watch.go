package compose

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
)

// watch follows the project's containers from before the first one is there: what
// they write goes to the log, the first that ends is the end of the engine. It
// goes on until Stop.
func (e *engine) watch(ctx context.Context) error {
	ctx, e.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	filters := e.filter().Add("type", string(events.ContainerEventType)).
		Add("event", string(events.ActionStart), string(events.ActionDie), string(events.ActionOOM))
	stream := e.daemon.api.Events(ctx, client.EventsListOptions{Filters: filters})
	// The stream is there when it has been answered, and it is answered at once.
	select {
	case err := <-stream.Err:
		e.unwatch()
		return fmt.Errorf("compose: the daemon's events: %w", err)
	default:
	}
	e.watched.Go(func() { e.follow(ctx, stream) })
	return nil
}

func (e *engine) follow(ctx context.Context, stream client.EventsResult) {
	readers := map[string]chan struct{}{} // by container; closed when its output ended
	outOfMemory := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-stream.Err:
			if ctx.Err() == nil {
				e.With(fmt.Errorf("lost the Docker daemon's events: %w", err))
			}
			return
		case m := <-stream.Messages:
			id := m.Actor.ID
			switch m.Action {
			case events.ActionStart:
				done := make(chan struct{})
				readers[id] = done
				e.watched.Go(func() {
					defer close(done)
					e.read(ctx, id, source(m.Actor.Attributes))
				})
			case events.ActionOOM:
				outOfMemory[id] = true
			case events.ActionDie:
				if err := e.died(m.Actor.Attributes, outOfMemory[id]); err != nil {
					e.watched.Go(func() { e.endAfter(ctx, readers[id], err) })
				}
			}
		}
	}
}

// source names a container as docker compose does in its logs.
func source(labels map[string]string) string {
	return labels[serviceLabel] + "-" + labels[numberLabel]
}

// died is how the engine ended when a container did; nil for one that is meant to.
func (e *engine) died(labels map[string]string, outOfMemory bool) error {
	code := labels["exitCode"]
	if code == "0" && e.project.completes(labels[serviceLabel]) {
		return nil
	}
	err := fmt.Errorf("service %s (%s) ended with exit status %s", labels[serviceLabel], labels["name"], code)
	if outOfMemory {
		err = fmt.Errorf("%w: out of memory", err)
	}
	return err
}

// lastWords is how long the output of a container that ended may take to arrive.
const lastWords = 2 * time.Second

// endAfter ends the engine when its last output is in the log.
func (e *engine) endAfter(ctx context.Context, read <-chan struct{}, err error) {
	if read != nil {
		select {
		case <-read:
		case <-ctx.Done():
		case <-time.After(lastWords):
		}
	}
	e.With(err)
}

// read copies a container's output from its start to its end. A log that can't be
// read says so in its place.
func (e *engine) read(ctx context.Context, id, source string) {
	out := e.out.from(source)
	defer out.Close()
	full, err := e.daemon.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return // gone already
	}
	text, err := e.daemon.api.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		fmt.Fprintf(out, "(its output can't be read: %v)\n", err)
		return
	}
	defer text.Close()
	if c := full.Container.Config; c != nil && c.Tty {
		_, _ = io.Copy(out, text)
		return
	}
	_, _ = stdcopy.StdCopy(out, out, text)
}
