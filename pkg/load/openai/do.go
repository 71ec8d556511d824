package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// Do sends a call and reads its answer to the end. It always returns a record:
// what was seen up to a failure stays in it. The context's cause tells a run
// that ended ([ErrRunEnded]) from other cancellations.
//
// Sent is taken just before the HTTP call, so the wait for a connection is
// inside the latency. Every later time is that of a read from the connection.
func (c *Client) Do(ctx context.Context, call Call) record.Seen {
	seen := record.Seen{Outcome: record.OK}
	if f := c.do(ctx, &call, &seen); f != nil {
		if !seen.End.Seen() && seen.Sent.Seen() {
			seen.End = c.clock.Now()
		}
		c.settle(&seen, f)
	}
	if call.Last || seen.Outcome != record.OK {
		c.Release(call.CorrelationID)
	}
	if err := seen.Check(); err != nil {
		seen.Outcome = record.Failed
		seen.Error = &record.Error{Type: record.ErrorTypeClock, Message: err.Error()}
	}
	return seen
}

func (c *Client) do(ctx context.Context, call *Call, seen *record.Seen) *failure {
	if err := call.check(); err != nil {
		return &failure{class: classCall, message: err.Error()}
	}
	body, err := c.body(call)
	if err != nil {
		return &failure{class: classCall, message: err.Error()}
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	x := exchange{client: c, ctx: ctx, cancel: cancel, seen: seen, body: body}
	f := x.run(call)
	// The caller may reuse its content once Do has returned.
	cancel(nil)
	<-x.body.closed
	if x.attempt != nil {
		x.attempt.report(&seen.HTTP, x.body)
	}
	return f
}

// exchange is one call under way.
type exchange struct {
	client  *Client
	ctx     context.Context
	cancel  context.CancelCauseFunc
	seen    *record.Seen
	body    *requestBody
	attempt *attempt
}

func (x *exchange) run(call *Call) *failure {
	target := x.client.address.chat
	if call.Field == fieldPrompt {
		target = x.client.address.completions
	}
	request := &http.Request{
		Method: http.MethodPost, URL: target, Host: x.client.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: x.client.callHeader(call), ContentLength: x.body.length,
	}
	transport := x.client.transport(call.CorrelationID)
	if f := x.client.interrupted(x.ctx); f != nil {
		_ = x.body.Close() // never fails
		return f
	}
	x.seen.Sent = x.client.clock.Now()
	response, f := x.send(transport, request)
	if f != nil {
		return f
	}
	defer response.Body.Close()
	return x.read(response)
}

// send gets the header of the answer. It tries again only when asked to, and
// only if no byte of the request went out.
func (x *exchange) send(transport *http.Transport, request *http.Request) (*http.Response, *failure) {
	for {
		x.attempt = &attempt{clock: x.client.clock}
		request.Body = x.body
		response, err := transport.RoundTrip(request.WithContext(x.attempt.trace(x.ctx)))
		if err == nil {
			x.attempt.answered = true
			x.seen.Headers = x.attempt.readAt()
			x.seen.Status = response.StatusCode
			return response, nil
		}
		<-x.body.closed
		again := x.another()
		if again == nil {
			return nil, x.client.classify(x.ctx, err, x.attempt, x.body)
		}
		x.body = again
		x.seen.HTTP.Retries++
	}
}

// another returns the body of another try, nil if there must be none.
func (x *exchange) another() *requestBody {
	if !x.client.retryUnsent || x.seen.HTTP.Retries == MaxRetries || x.ctx.Err() != nil || !x.attempt.unsent() {
		return nil
	}
	return x.body.again()
}

// readBuffers are held by every waiting stream, so they hold a few events only.
// The transport's own buffer takes what the kernel has; a small one here costs
// no system calls.
var readBuffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

const readBuffer = 1 << 10

// readBody hands every read of the answer's body to take, with the time of the
// read from the connection, until the body ends (io.EOF) or take fails.
func (x *exchange) readBody(body io.Reader, take func(p []byte, at record.Stamp) error) error {
	buf := readBuffers.Get().(*[readBuffer]byte)
	defer readBuffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		at := x.attempt.readAt()
		if n > 0 {
			x.attempt.bodyRead(at, x.body)
			if !x.seen.FirstByte.Seen() {
				x.seen.FirstByte = at
			}
			if err := take(buf[:n], at); err != nil {
				x.seen.End = at
				return err
			}
		}
		if err != nil {
			if err == io.EOF {
				x.seen.End = at
			}
			return err
		}
	}
}

// linger is how long a stream may stay open after [DONE]. Its end is then the
// time of [DONE].
const linger = time.Second

func (x *exchange) readStream(response *http.Response) *failure {
	s := newStream()
	var start []byte // of the answer, to quote if it is no event stream
	var timer *time.Timer
	err := x.readBody(response.Body, func(p []byte, at record.Stamp) error {
		if len(start) < excerptBytes {
			start = append(start, p[:min(len(p), excerptBytes-len(start))]...)
		}
		err := s.read(p, at)
		if s.done && timer == nil {
			timer = time.AfterFunc(linger, func() { x.cancel(errLinger) })
		}
		return err
	})
	if timer != nil {
		timer.Stop()
	}
	f := x.judge(s, err, start, response)
	s.report(x.seen)
	if s.done && f == nil && !x.seen.End.Seen() {
		x.seen.End = max(s.doneAt, s.last)
	}
	return f
}

func (x *exchange) judge(s *stream, err error, start []byte, response *http.Response) *failure {
	if err != io.EOF {
		var f *failure
		if errors.As(err, &f) {
			return f
		}
		if !s.done {
			return x.client.classifyRead(x.ctx, err, s.chunks)
		}
		// All of the answer is here; how the connection ended no longer matters.
	}
	if err := s.finishStream(); err != nil {
		if s.events == 0 {
			return notAStream(response, start)
		}
		return asFailure(err)
	}
	return nil
}
