package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// DialTimeout bounds the time for one connection, TLS included.
const DialTimeout = 30 * time.Second

// netDial is the default: TCP with the keep-alive probes and the user timeout
// of spec/replay.md §9.1. TCP_NODELAY is on, as always in Go; the buffers are
// left to the kernel, which sizes them by need.
func netDial(userTimeout time.Duration) DialFunc {
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 30 * time.Second, Count: 1},
		ControlContext:  controlUserTimeout(userTimeout),
	}
	return dialer.DialContext
}

// dialer makes the client's connections. It does name lookup, TCP and TLS
// itself, so that their times belong to the connection and not to whichever
// request happened to wait for it.
type dialer struct {
	dial  DialFunc
	tls   *tls.Config
	clock record.Clock
}

// attemptKey is the context key under which a request's attempt travels to the
// dialer.
type attemptKey struct{}

func (d *dialer) plain(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, DialTimeout, errors.New("dial timeout"))
	defer cancel()
	c, err := d.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *dialer) secure(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, DialTimeout, errors.New("dial timeout"))
	defer cancel()
	c, err := d.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	config := d.tls.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	started := c.clock.Now()
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = c.Close() // the handshake says what went wrong
		return nil, classifyTLS(addr, err)
	}
	c.connectNs += int64(c.clock.Now() - started)
	return secured, nil
}

func (d *dialer) connect(ctx context.Context, network, addr string) (*conn, error) {
	owner, _ := ctx.Value(attemptKey{}).(*attempt)
	var lookupStart, lookupEnd atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { lookupStart.Store(int64(d.clock.Now())) },
		DNSDone:  func(httptrace.DNSDoneInfo) { lookupEnd.Store(int64(d.clock.Now())) },
	})
	started := d.clock.Now()
	inner, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, classifyDial(addr, err)
	}
	c := newConn(inner, d.clock, owner)
	c.dialAt = started
	if lookupEnd.Load() > 0 {
		c.dnsNs = lookupEnd.Load() - lookupStart.Load()
	}
	c.connectNs = int64(d.clock.Now()-started) - c.dnsNs
	return c, nil
}
