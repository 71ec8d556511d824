package openai

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// conn counts what passes over a connection and stamps each read where it
// returns, before any other goroutine has to wake up. With HTTP/1.1 one request
// at a time owns a connection, so differences of its counters are that
// request's.
type conn struct {
	net.Conn
	clock record.Clock

	owner     *attempt // the request that dialled it
	dialAt    record.Stamp
	dnsNs     int64
	connectNs int64 // TCP and TLS

	sent, received, writes, reads atomic.Int64
	lastRead, lastWrite           atomic.Int64 // Stamps
	base                          atomic.Int64 // sent when the present request got the connection

	mu   sync.Mutex
	user *attempt // the request that has the connection, or had it last

	readEnded, closed chan struct{} // closed when reading failed, and by Close
	endRead, endAll   sync.Once
}

func newConn(inner net.Conn, clock record.Clock, owner *attempt) *conn {
	return &conn{Conn: inner, clock: clock, owner: owner, readEnded: make(chan struct{}), closed: make(chan struct{})}
}

// counters are what passed over a connection so far: bytes and system calls.
type counters struct{ sent, received, writes, reads int64 }

func (c *conn) counters() counters {
	return counters{c.sent.Load(), c.received.Load(), c.writes.Load(), c.reads.Load()}
}

// handTo gives the connection to a request, and closes the account of the one
// before it, which may not have read its own yet.
func (c *conn) handTo(a *attempt) counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.counters()
	if c.user != nil {
		c.user.after = now
	}
	c.user = a
	c.base.Store(now.sent)
	return now
}

// countersOf are the counters at the end of a request's turn, or now.
func (c *conn) countersOf(a *attempt) counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.user == a {
		return c.counters()
	}
	return a.after
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.lastRead.Store(int64(c.clock.Now()))
	c.received.Add(int64(n))
	c.reads.Add(1)
	if err != nil {
		c.endRead.Do(func() { close(c.readEnded) })
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.lastWrite.Store(int64(c.clock.Now()))
	c.sent.Add(int64(n))
	c.writes.Add(1)
	if err != nil && c.sent.Load() > c.base.Load() {
		c.awaitAnswer()
	}
	return n, err
}

// answerGrace is how long a failed write waits for the answer that explains it.
const answerGrace = time.Second

// awaitAnswer holds back an error of a request that went out in part until the
// reading side has had its say. An engine that refuses a long body answers 400 and closes; net/http would
// report whichever it learns first, the answer or the broken pipe.
func (c *conn) awaitAnswer() {
	timer := time.NewTimer(answerGrace)
	defer timer.Stop()
	select {
	case <-c.readEnded:
	case <-c.closed:
	case <-timer.C:
	}
}

// sendBuffers are what a request body goes through on its way to the socket:
// large, because a body is a few megabytes, and shared, because a waiting
// stream needs none.
var sendBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// ReadFrom lets net/http copy a request body without a buffer of its own.
func (c *conn) ReadFrom(r io.Reader) (total int64, err error) {
	buf := sendBuffers.Get().(*[64 << 10]byte)
	defer sendBuffers.Put(buf)
	for {
		n, readErr := r.Read(buf[:])
		if n > 0 {
			written, err := c.Write(buf[:n])
			total += int64(written)
			if err != nil {
				return total, err
			}
		}
		if readErr == io.EOF {
			return total, nil
		}
		if readErr != nil {
			return total, readErr
		}
	}
}

func (c *conn) Close() error {
	c.endAll.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
