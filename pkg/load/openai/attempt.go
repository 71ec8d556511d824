package openai

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// attempt is one try to send a request: the connection it got, and the state of
// that connection's counters when it got it.
type attempt struct {
	clock            record.Clock
	asked, got       record.Stamp
	conn             *conn
	reused           bool
	idle             time.Duration
	before           counters // of the connection when this request got it
	after            counters // and when the next one did; guarded by conn.mu
	answered         bool     // the answer's header came
	firstRead        record.Stamp
	lastRead         record.Stamp
	wroteAtFirstRead record.Stamp // 0 while the request was still going out
}

func (a *attempt) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, attemptKey{}, a), &httptrace.ClientTrace{
		GetConn: func(string) { a.asked = a.clock.Now() },
		GotConn: a.gotConn,
	})
}

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	a.got = a.clock.Now()
	a.reused, a.idle = info.Reused, info.IdleTime
	switch c := info.Conn.(type) {
	case *conn:
		a.conn = c
	case *tls.Conn:
		a.conn, _ = c.NetConn().(*conn)
	}
	if a.conn != nil {
		a.before = a.conn.handTo(a)
	}
}

// readAt is the time of the last read from the connection: what net/http hands
// on now had arrived by then.
func (a *attempt) readAt() record.Stamp {
	if a.conn != nil {
		if at := record.Stamp(a.conn.lastRead.Load()); at.Seen() {
			return at
		}
	}
	return a.clock.Now()
}

// bodyRead notes a read that brought bytes of the answer's body.
func (a *attempt) bodyRead(at record.Stamp, body *requestBody) {
	if !a.firstRead.Seen() {
		a.firstRead = at
		a.wroteAtFirstRead = a.wroteAt(body)
	}
	a.lastRead = at
}

// wroteAt is when the last byte of the request was written, 0 if it was not.
func (a *attempt) wroteAt(body *requestBody) record.Stamp {
	if a.conn == nil || !body.consumed() {
		return 0
	}
	return record.Stamp(a.conn.lastWrite.Load())
}

// unsent reports that provably no byte of the request left this machine: the
// connection was taken from the pool and nothing was written to it.
func (a *attempt) unsent() bool {
	return a.conn != nil && a.reused && a.conn.countersOf(a).sent == a.before.sent
}

// staleWithin is how soon after it was taken a dead connection shows: a reset
// takes one round trip. An engine that dies later died at work.
const staleWithin = 2 * time.Second

// stale reports that a reused connection turned out to be dead as soon as it
// was taken, and how long it had been idle.
func (a *attempt) stale() (time.Duration, bool) {
	return a.idle, a.conn != nil && a.clock.Now()-a.got < record.Stamp(staleWithin) && a.reused && a.conn.countersOf(a).received == a.before.received
}

// report writes the phases of spec/replay.md §7.9. What belongs to another
// request, or did not happen, stays nil.
func (a *attempt) report(h *record.HTTP, body *requestBody) {
	if a.conn == nil || !a.got.Seen() {
		return
	}
	c := a.conn
	reused := a.reused // a record must not keep its connection in memory
	h.Reused = &reused
	switch {
	case a.reused:
		h.BlockedNs, h.DNSNs, h.ConnectNs = ns(a.got-a.asked), ns(0), ns(0)
	case c.owner == a:
		h.BlockedNs, h.DNSNs, h.ConnectNs = ns(max(0, c.dialAt-a.asked)), ns(record.Stamp(c.dnsNs)), ns(record.Stamp(c.connectNs))
	default: // dialled for another request, which then found a free one
		h.BlockedNs = ns(a.got - a.asked)
	}
	wrote := a.wroteAtFirstRead
	if !a.answered {
		wrote = a.wroteAt(body)
	}
	if wrote >= a.got && a.firstRead.Seen() {
		// The writer's stamp comes after its system call: a quick answer can be
		// read before that goroutine runs again.
		wrote = min(wrote, a.firstRead)
		h.WaitNs = ns(a.firstRead - wrote)
	}
	if wrote >= a.got {
		h.SendNs = ns(wrote - a.got)
	}
	if a.firstRead.Seen() {
		h.ReceiveNs = ns(a.lastRead - a.firstRead)
	}
	now := c.countersOf(a)
	h.BytesSent, h.BytesReceived = count(now.sent-a.before.sent), count(now.received-a.before.received)
	h.WriteCalls, h.ReadCalls = count(now.writes-a.before.writes), count(now.reads-a.before.reads)
}

func ns(d record.Stamp) *int64 { return count(int64(d)) }

func count(n int64) *int64 { return &n }
