package openai

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/org/agentx-action/pkg/result/record"
)

const wellAnswered = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func answerWell(c io.Writer) {
	events := sse(eventA, eventB, "[DONE]")
	_, _ = io.WriteString(c, chunked(events)+lastChunk)
}

func bigCall(size int) Call {
	call := helloCall()
	call.Content = messages(`"` + strings.Repeat("x", size) + `"`)
	return call
}

const refusal = `{"error":{"message":"This model's maximum context length is 8 tokens"}}`

func TestAnEarlyRefusalIsReportedAsThat(t *testing.T) {
	for name, after := range map[string]func(c *net.TCPConn){
		"closes at once":            func(c *net.TCPConn) { c.Close() }, // unread data: the kernel sends a reset
		"half-closes":               func(c *net.TCPConn) { _ = c.CloseWrite() },
		"stays open, reads nothing": func(*net.TCPConn) {},
	} {
		for header, text := range map[string]string{
			"with a length":    fmt.Sprintf("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(refusal), refusal),
			"without a length": "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" + refusal,
		} {
			if strings.HasPrefix(name, "stays") && strings.HasPrefix(header, "without") {
				continue // the answer never ends
			}
			t.Run(name+", "+header, func(t *testing.T) {
				url := rawEngine(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
					for line := ""; line != "\r\n"; line, _ = r.ReadString('\n') {
					}
					_, _ = io.WriteString(c, text)
					after(c)
				})
				c := newClient(t, Config{URL: url})
				for range 5 {
					call := bigCall(6 << 20)
					seen := c.Do(t.Context(), call)
					expectFailure(t, seen, classOverflow, "maximum context")
					if seen.Error.Code != 400 || seen.Status != 400 {
						t.Fatalf("code %d status %d", seen.Error.Code, seen.Status)
					}
					if seen.HTTP.SendNs != nil {
						t.Error("a send phase although the body never went out whole")
					}
				}
			})
		}
	}
}

func TestConnectionsThatBreak(t *testing.T) {
	reset := func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() }
	for name, want := range map[string]struct {
		answer string
		end    func(*net.TCPConn)
		class  string
		word   string
	}{
		"closed without an answer":     {"", func(c *net.TCPConn) { c.Close() }, classReset, "without an answer"},
		"reset without an answer":      {"", reset, classReset, "without an answer"},
		"closed inside the header":     {"HTTP/1.1 200 OK\r\nContent-", func(c *net.TCPConn) { c.Close() }, classProtocol, "malformed"},
		"closed mid-stream":            {chunked(sse(eventA, eventA)), func(c *net.TCPConn) { c.Close() }, classTruncated, "after 2 chunks"},
		"closed before the last chunk": {chunked(sse(eventA, eventB)), func(c *net.TCPConn) { c.Close() }, classTruncated, "after 2 chunks"},
		"closed after [DONE]":          {chunked(sse(eventA, eventB, "[DONE]")), func(c *net.TCPConn) { c.Close() }, "", ""},
		"reset after [DONE]":           {chunked(sse(eventA, eventB, "[DONE]")), reset, "", ""},
		"closed properly, cut stream":  {chunked(sse(eventA)) + lastChunk, func(c *net.TCPConn) { c.Close() }, classTruncated, "finish_reason"},
		"broken framing":               {wellAnswered + "zz\r\n", func(c *net.TCPConn) { c.Close() }, classProtocol, "framing"},
		"not HTTP":                     {"SSH-2.0-OpenSSH_9.2\r\n\r\n", func(c *net.TCPConn) { c.Close() }, classProtocol, "HTTP/1.1"},
		"huge header":                  {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHeaderBytes) + "\r\n\r\n", func(c *net.TCPConn) { c.Close() }, classProtocol, ""},
		"until the end of connection":  {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + sse(eventA, eventB, "[DONE]"), func(c *net.TCPConn) { c.Close() }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := rawEngine(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
				_ = readRequest(r)
				_, _ = io.WriteString(c, want.answer)
				want.end(c)
			})
			seen := newClient(t, Config{URL: url}).Do(t.Context(), helloCall())
			if want.class == "" {
				expectOK(t, seen)
				if seen.Chunks != 2 || !seen.End.Seen() {
					t.Errorf("seen %+v", seen)
				}
				return
			}
			expectFailure(t, seen, want.class, want.word)
		})
	}
}

func TestADeadKeepAliveConnectionFailsTheRequest(t *testing.T) {
	for _, retry := range []bool{false, true} {
		var accepted atomic.Int64
		url := rawEngine(t, func(_ int, c *net.TCPConn, r *bufio.Reader) {
			accepted.Add(1)
			_ = readRequest(r)
			answerWell(c)
			// The next request on this connection is cut off once it has begun to
			// arrive, as when an engine's idle timer fires at that moment.
			_, _ = r.ReadByte()
			_ = c.SetLinger(0)
			c.Close()
		})
		c := newClient(t, Config{URL: url, RetryUnsent: retry})
		expectOK(t, c.Do(t.Context(), helloCall()))
		seen := c.Do(t.Context(), helloCall())
		expectFailure(t, seen, classStale, "keep idle connections for a shorter time", "4s")
		if seen.HTTP.Retries != 0 || accepted.Load() != 1 {
			t.Errorf("retry %v: %d retries, %d connections: bytes had gone out", retry, seen.HTTP.Retries, accepted.Load())
		}
	}
}

// deadConn fails its writes from the second request on, having written nothing.
type deadConn struct {
	net.Conn
	dead *atomic.Bool
}

func (c deadConn) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return c.Conn.Write(p)
}

func TestOnlyWhatWasNotSentIsRetried(t *testing.T) {
	for name, c := range map[string]struct {
		retry   bool
		call    func() Call
		retries int
		ok      bool
	}{
		"not asked for":                  {false, helloCall, 0, false},
		"asked for":                      {true, helloCall, 1, true},
		"a body that fills every buffer": {true, func() Call { return bigCall(3 << 20) }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []string
			received := make(chan string, 8)
			url := rawEngine(t, func(_ int, conn *net.TCPConn, r *bufio.Reader) {
				for {
					var got bytes.Buffer
					if readRequest(bufio.NewReader(io.TeeReader(r, &got))) != nil {
						return
					}
					_, body, _ := strings.Cut(got.String(), "\r\n\r\n")
					received <- body
					answerWell(conn)
				}
			})
			var dead []*atomic.Bool
			client := newClient(t, Config{URL: url, RetryUnsent: c.retry, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				dead = append(dead, new(atomic.Bool))
				return deadConn{conn, dead[len(dead)-1]}, err
			}})
			expectOK(t, client.Do(t.Context(), c.call()))
			bodies = append(bodies, <-received)
			dead[0].Store(true)
			seen := client.Do(t.Context(), c.call())
			if seen.HTTP.Retries != c.retries {
				t.Errorf("%d retries, want %d", seen.HTTP.Retries, c.retries)
			}
			if !c.ok {
				expectFailure(t, seen, classStale)
				return
			}
			expectOK(t, seen)
			if again := <-received; again != bodies[0] {
				t.Errorf("the retried body differs: %d bytes, then %d", len(bodies[0]), len(again))
			}
			if *seen.HTTP.Reused {
				t.Error("the phases are not those of the second try")
			}
		})
	}
}

func TestAnEngineThatIsNotThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	seen := newClient(t, Config{URL: addr}).Do(t.Context(), helloCall())
	expectFailure(t, seen, classRefused, addr, "is the engine up")
	if seen.HTTP != (record.HTTP{}) || seen.Status != 0 {
		t.Errorf("phases of a connection that never was: %+v", seen.HTTP)
	}
	for class, err := range map[string]error{
		classDNS:            &net.DNSError{Err: "no such host", Name: "engine.invalid", IsNotFound: true},
		classConnectTimeout: &net.OpError{Op: "dial", Err: context.DeadlineExceeded},
		classConnect:        &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
	} {
		c := newClient(t, Config{URL: "http://engine.invalid", Dial: func(context.Context, string, string) (net.Conn, error) { return nil, err }})
		expectFailure(t, c.Do(t.Context(), helloCall()), class, "engine.invalid:80")
	}
}

// A connection dialled for one request may be used by another, which found it
// first: its dial is then nobody's phase.
func TestADialThatServedAnotherRequestIsNotAttributed(t *testing.T) {
	clock := record.NewClock()
	mine, other := &attempt{clock: clock, asked: 10, got: 50}, &attempt{}
	c := newConn(nil, clock, other)
	c.dialAt, c.connectNs = 20, 25
	mine.conn = c
	mine.before = c.handTo(mine)
	body := newRequestBody("", messages(hello), "")
	var h record.HTTP
	mine.report(&h, body)
	if h.ConnectNs != nil || h.DNSNs != nil || *h.BlockedNs != 40 || *h.Reused {
		t.Errorf("another's dial: %+v", h)
	}
	c.owner = mine
	mine.report(&h, body)
	if *h.ConnectNs != 25 || *h.BlockedNs != 10 {
		t.Errorf("its own dial: connect %d blocked %d", *h.ConnectNs, *h.BlockedNs)
	}
}

func TestCountersStopWhereTheNextRequestBegins(t *testing.T) {
	c := newConn(nil, record.NewClock(), nil)
	first, second := &attempt{}, &attempt{}
	first.before = c.handTo(first)
	c.sent.Add(10)
	second.before = c.handTo(second)
	c.sent.Add(7)
	if a, b := c.countersOf(first).sent-first.before.sent, c.countersOf(second).sent-second.before.sent; a != 10 || b != 7 {
		t.Errorf("sent %d and %d, want 10 and 7", a, b)
	}
}
