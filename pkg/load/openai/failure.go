package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// ErrRunEnded is the cause (context.Cause) with which a caller cancels requests
// that the end of the run, or the user, cuts off. They are censored, not failed
// (decisions.md 18).
var ErrRunEnded = errors.New("the run ended")

var (
	errTimeout = errors.New("request timeout")
	errLinger  = errors.New("the answer stayed open after all that matters")
)

// The classes of errors that doc.go lists.
const (
	classRefused        = "connect_refused"
	classConnectTimeout = "connect_timeout"
	classConnect        = "connect"
	classDNS            = "dns"
	classTLS            = "tls"
	classStale          = "stale_connection"
	classReset          = "reset"
	classTimeout        = "timeout"
	classCancelled      = "cancelled"
	classRunEnded       = "run_ended"
	classOverflow       = "context_overflow"
	classStreamError    = "stream_error"
	classTruncated      = "truncated"
	classNoContent      = "no_content"
	classBadStream      = "bad_stream"
	classBadResponse    = "bad_response"
	classTooLong        = "too_long"
	classProtocol       = "protocol"
	classBody           = "body"
	classCall           = "call"
	classTransport      = "transport"
)

// statusClass names the class of a status that is not 2xx.
func statusClass(status int) string { return fmt.Sprintf("http_%03d", status) }

// failure is an error on its way into a record.
type failure struct {
	code    int
	class   string
	message string
	engine  bool   // in the engine's own words: may say that the context overflowed
	text    string // the engine's words in full
}

func (f *failure) Error() string { return f.class + ": " + f.message }

// overflowMarks are what engines say when a prompt exceeds their context
// (spec/replay.md §4.6), in lower case.
var overflowMarks = []string{"context length", "maximum context", "context_length_exceeded", "prompt is too long"}

func (c *Client) isOverflow(f *failure) bool {
	if !f.engine {
		return false
	}
	for _, said := range []string{strings.ToLower(f.message), strings.ToLower(f.text)} {
		for _, mark := range c.overflow {
			if strings.Contains(said, mark) {
				return true
			}
		}
	}
	return false
}

// settle writes a failure into a record.
func (c *Client) settle(seen *record.Seen, f *failure) {
	seen.Outcome = record.Failed
	switch {
	case f.class == classRunEnded:
		seen.Outcome = record.Censored
	case c.isOverflow(f):
		seen.Outcome = record.Overflow
		f.class = classOverflow
	}
	seen.Error = &record.Error{
		Code:    f.code,
		Type:    f.class,
		Message: cut(readable(c.scrub(f.message)), record.MaxErrorMessage),
	}
}

// interrupted says how the context ended, nil if it has not.
func (c *Client) interrupted(ctx context.Context) *failure {
	if ctx.Err() == nil {
		return nil
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrRunEnded):
		return &failure{code: 499, class: classRunEnded, message: "cut off: the run ended"}
	case errors.Is(cause, errTimeout):
		return &failure{class: classTimeout, message: fmt.Sprintf("no complete answer within %v", c.timeout)}
	case errors.Is(cause, context.DeadlineExceeded):
		return &failure{class: classTimeout, message: "no complete answer before the caller's deadline"}
	default:
		return &failure{code: 499, class: classCancelled, message: "cancelled: " + cause.Error()}
	}
}

// dialError is a failure to connect, with its class.
type dialError struct {
	class string
	err   error
}

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func classifyDial(addr string, err error) *dialError {
	var dns *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &dns):
		return &dialError{classDNS, fmt.Errorf("%s has no address: %w; check the host in the URL", addr, err)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &dialError{classRefused, fmt.Errorf("nothing listens at %s: %w; is the engine up, and is the port right?", addr, err)}
	case errors.As(err, &network) && network.Timeout():
		return &dialError{classConnectTimeout, fmt.Errorf("%s does not answer: %w; check the address and the firewall", addr, err)}
	}
	return &dialError{classConnect, fmt.Errorf("connecting to %s: %w", addr, err)}
}

func classifyTLS(addr string, err error) *dialError {
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) {
		err = fmt.Errorf("%w; does the engine speak plain http?", err)
	}
	return &dialError{classTLS, fmt.Errorf("TLS handshake with %s: %w", addr, err)}
}

// classify names a transport error that came before the answer's header.
func (c *Client) classify(ctx context.Context, err error, a *attempt, body *requestBody) *failure {
	if f := c.interrupted(ctx); f != nil {
		return f
	}
	if err := body.failed(); err != nil {
		return &failure{class: classBody, message: err.Error()}
	}
	var dial *dialError
	if errors.As(err, &dial) {
		return &failure{class: dial.class, message: dial.Error()}
	}
	if !isGone(err) {
		if strings.Contains(err.Error(), "malformed ") || strings.Contains(err.Error(), "response headers exceeded") {
			return &failure{class: classProtocol, message: err.Error() + "; is this an HTTP/1.1 engine?"}
		}
		return &failure{class: classTransport, message: err.Error()}
	}
	if idle, ok := a.stale(); ok {
		return &failure{class: classStale, message: fmt.Sprintf(
			"the engine closed a reused connection, idle for %v, before it answered anything: %v; keep idle connections for a shorter time than the engine does (now %v)",
			idle.Round(time.Millisecond), err, c.keepAlive)}
	}
	return &failure{class: classReset, message: fmt.Sprintf("the engine closed the connection without an answer: %v", err)}
}

// classifyRead names a transport error inside the answer's body.
func (c *Client) classifyRead(ctx context.Context, err error, chunks int) *failure {
	if f := c.interrupted(ctx); f != nil {
		return f
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{class: classTruncated, message: fmt.Sprintf("the engine closed the connection inside the answer, after %d chunks with output", chunks)}
	case isGone(err):
		return &failure{class: classReset, message: fmt.Sprintf("the connection broke inside the answer, after %d chunks with output: %v", chunks, err)}
	}
	return &failure{class: classProtocol, message: fmt.Sprintf("broken framing of the answer, after %d chunks with output: %v", chunks, err)}
}

// isGone reports whether the other side went away.
func isGone(err error) bool {
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, syscall.ETIMEDOUT} {
		if errors.Is(err, gone) {
			return true
		}
	}
	// net/http does not export its name for this.
	return strings.Contains(err.Error(), "server closed idle connection")
}

func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return &failure{class: classTransport, message: err.Error()}
}
