package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Serve is an engine inside this process: serve answers on a listener of
// 127.0.0.1 until its context ends.
func Serve(serve func(ctx context.Context, listener net.Listener) error) Driver {
	return server(serve)
}

type server func(context.Context, net.Listener) error

func (server) Sweep(context.Context) ([]string, error) { return nil, nil }

func (s server) Start(context.Context, string, io.Writer) (Engine, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the engine in this process cannot listen: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &served{url: "http://" + listener.Addr().String(), listener: listener, cancel: cancel, End: NewEnd()}
	go func() {
		err := s(ctx, listener)
		_ = listener.Close()
		e.With(err)
	}()
	return e, nil
}

type served struct {
	*End
	url      string
	listener net.Listener
	cancel   context.CancelFunc
}

func (e *served) URL() string           { return e.url }
func (e *served) MetricsURLs() []string { return nil }
func (e *served) Facts() Facts          { return Facts{Driver: "sim"} }

// Stop ends its context. There is nothing harder than that inside a process: what
// doesn't end then is an error, with its port closed.
func (e *served) Stop(ctx context.Context, grace time.Duration) error {
	e.cancel()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-e.Exited():
		return nil
	case <-patience.C:
		_ = e.listener.Close()
	case <-ctx.Done():
		_ = e.listener.Close()
	}
	select {
	case <-e.Exited():
		return nil
	case <-ctx.Done():
		return errors.New("the engine in this process does not end")
	}
}
