package run

import (
	"context"
	"fmt"
	"net"

	"github.com/org/agentx-action/pkg/engine/sim"
)

// embedded is the embedded engine, serving on a port of its own.
type embedded struct {
	url    string
	server *sim.Server
	stop   context.CancelFunc
	done   chan struct{}
}

func startEmbedded(cfg sim.Config) (*embedded, error) {
	server, err := sim.New(cfg)
	if err != nil {
		return nil, &UsageError{err}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the embedded engine cannot listen: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &embedded{url: "http://" + listener.Addr().String(), server: server, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		_ = server.Serve(ctx, listener) // an engine that stops serving shows as failed requests
	}()
	return e, nil
}

func (e *embedded) close() {
	if e == nil {
		return
	}
	e.stop()
	<-e.done
	_ = e.server.Close()
}
