package openai

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// Client sends requests to one engine. It is safe for concurrent use.
type Client struct {
	clock           record.Clock
	address         address
	header          http.Header // shared by all requests
	host            string
	ids             idHeaders
	members         string // of every body, each with a comma before it
	legacyMaxTokens bool
	streaming       bool
	timeout         time.Duration
	keepAlive       time.Duration
	retryUnsent     bool
	overflow        []string
	scrub           func(string) string

	newTransport func() *http.Transport
	pool         *http.Transport

	mu     sync.Mutex
	sticky map[string]*http.Transport // by correlation id; nil unless ReuseSticky
}

// New checks a configuration and makes a client of it. Nothing is sent.
func New(config Config) (*Client, error) {
	where, err := newAddress(config.URL, config.Endpoint)
	if err != nil {
		return nil, err
	}
	header, host, err := baseHeader(config)
	if err != nil {
		return nil, err
	}
	ids, err := newIDHeaders(config)
	if err != nil {
		return nil, err
	}
	members, err := fixedMembers(config)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]time.Duration{"timeout": config.Timeout, "keep-alive time": config.KeepAlive, "user timeout": config.UserTimeout} {
		if value < 0 {
			return nil, fmt.Errorf("%s %v is negative", name, value)
		}
	}
	if config.MaxConns < 0 {
		return nil, fmt.Errorf("%d connections at most: give 0 for no limit", config.MaxConns)
	}
	overflow, err := allOverflowMarks(config.OverflowSubstrings)
	if err != nil {
		return nil, err
	}
	c := &Client{
		clock: config.Clock, address: where, header: header, host: host, ids: ids, members: members,
		legacyMaxTokens: config.LegacyMaxTokens, streaming: !config.NonStreaming,
		timeout:     withDefault(config.Timeout, DefaultTimeout),
		keepAlive:   withDefault(config.KeepAlive, DefaultKeepAlive),
		retryUnsent: config.RetryUnsent, overflow: overflow,
		scrub: newScrubber(config.APIKey, config.Headers),
	}
	if c.clock.Origin().IsZero() {
		c.clock = record.NewClock()
	}
	switch config.Reuse {
	case "", ReusePooled, ReuseNever:
	case ReuseSticky:
		c.sticky = map[string]*http.Transport{}
	default:
		return nil, fmt.Errorf("connection reuse %q is none of %s, %s, %s", config.Reuse, ReusePooled, ReuseNever, ReuseSticky)
	}
	c.newTransport = transportMaker(config, c.clock, c.keepAlive)
	c.pool = c.newTransport()
	return c, nil
}

func withDefault(value, standard time.Duration) time.Duration {
	if value == 0 {
		return standard
	}
	return value
}

func allOverflowMarks(extra []string) ([]string, error) {
	marks := append([]string(nil), overflowMarks...)
	for _, mark := range extra {
		if strings.TrimSpace(mark) == "" {
			return nil, errors.New("an empty overflow substring would make every error an overflow")
		}
		marks = append(marks, strings.ToLower(mark))
	}
	return marks, nil
}

// Buffers of a connection. They are held by every waiting stream, so they are
// small; a body passes through larger, shared ones.
const (
	sendBuffer    = 2 << 10
	receiveBuffer = 4 << 10
)

// maxHeaderBytes bounds the header of an answer.
const maxHeaderBytes = 256 << 10

// transportMaker makes transports that speak plain HTTP/1.1 (spec/replay.md
// §9.1): no proxy from the environment, no compression, no HTTP/2.
func transportMaker(config Config, clock record.Clock, keepAlive time.Duration) func() *http.Transport {
	d := &dialer{dial: config.Dial, tls: config.TLS, clock: clock}
	if d.dial == nil {
		d.dial = netDial(withDefault(config.UserTimeout, DefaultUserTimeout))
	}
	if d.tls == nil {
		d.tls = &tls.Config{}
	}
	return func() *http.Transport {
		var http1 http.Protocols
		http1.SetHTTP1(true)
		return &http.Transport{
			DialContext:            d.plain,
			DialTLSContext:         d.secure,
			Protocols:              &http1,
			DisableCompression:     true,
			DisableKeepAlives:      config.Reuse == ReuseNever,
			MaxIdleConnsPerHost:    math.MaxInt,
			MaxConnsPerHost:        config.MaxConns,
			IdleConnTimeout:        keepAlive,
			MaxResponseHeaderBytes: maxHeaderBytes,
			WriteBufferSize:        sendBuffer,
			ReadBufferSize:         receiveBuffer,
		}
	}
}

// transport is the pool that a call takes its connection from.
func (c *Client) transport(correlationID string) *http.Transport {
	if c.sticky == nil {
		return c.pool
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.sticky[correlationID]
	if t == nil {
		t = c.newTransport()
		c.sticky[correlationID] = t
	}
	return t
}

// Release closes the connection of a sticky session, for one that ends without
// a [Call.Last]. Without ReuseSticky it does nothing.
func (c *Client) Release(correlationID string) {
	if c.sticky == nil {
		return
	}
	c.mu.Lock()
	t := c.sticky[correlationID]
	delete(c.sticky, correlationID)
	c.mu.Unlock()
	if t != nil {
		t.CloseIdleConnections()
	}
}

// Close closes idle connections. Requests in flight are not touched.
func (c *Client) Close() {
	c.pool.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, t := range c.sticky {
		t.CloseIdleConnections()
		delete(c.sticky, id)
	}
}

// URL is where calls with the given field are sent, for messages to people.
func (c *Client) URL(field string) string {
	if field == fieldPrompt {
		return display(c.address.completions)
	}
	return display(c.address.chat)
}
