package prompt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// longStream is a session of n turns, in blocks of 64 tokens, whose context grows to blocks blocks and
// gives up its last two at every fifth turn.
func longStream(b *testing.B, n, blocks int) (*trace.Trace, *tree.Stream) {
	b.Helper()
	var requests []req
	var ids []int
	fresh := 0
	for k := range n {
		if k%5 == 4 {
			ids = ids[:len(ids)-2]
		}
		for len(ids) < 4+blocks*(k+1)/n {
			ids = append(ids, fresh)
			fresh++
		}
		requests = append(requests, req{ids: append([]int(nil), ids...), out: 100})
	}
	tr := recordIn(b, 64, "T", 100, 50, requests...)
	return tr, stream(tr)
}

// BenchmarkPrompt writes bodies of 100,000 tokens the way a client does.
func BenchmarkPrompt(b *testing.B) {
	const blocks = 100_000 / 64
	tr, s := longStream(b, 200, blocks)
	plan := NewPlan(tr, s)
	m := maker(ShapeRoles, ISLContent)
	last := len(s.Turns) - 1

	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Prompt(tr, plan, last, mark)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 32<<10)
		for b.Loop() {
			p := m.Prompt(tr, plan, last, mark)
			b.SetBytes(p.Len())
			for {
				if _, err := p.Read(buf); err == io.EOF {
					break
				}
			}
		}
	})
	b.Run("Request.Write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			request, p := post(b, m, tr, plan, last)
			b.SetBytes(p.Len())
			if err := request.Write(onlyWriter{io.Discard}); err != nil {
				b.Fatal(err)
			}
			if p.Digest() == "" {
				b.Fatal("the body did not go out whole")
			}
		}
	})
	b.Run("Transport", func(b *testing.B) {
		conn := &discardConn{answer: make(chan struct{}, 1)}
		transport := &http.Transport{
			DialContext:     func(context.Context, string, string) (net.Conn, error) { return conn, nil },
			WriteBufferSize: 64 << 10,
		}
		defer transport.CloseIdleConnections()
		b.ReportAllocs()
		for b.Loop() {
			request, p := post(b, m, tr, plan, last)
			b.SetBytes(p.Len())
			conn.body = p.Len()
			response, err := transport.RoundTrip(request)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				b.Fatal(err)
			}
			response.Body.Close()
		}
	})
}

func post(b *testing.B, m *Maker, tr *trace.Trace, plan *Plan, k int) (*http.Request, *Prompt) {
	p := m.Prompt(tr, plan, k, mark)
	request, err := http.NewRequest(http.MethodPost, "http://engine/v1/chat/completions", io.NopCloser(p))
	if err != nil {
		b.Fatal(err)
	}
	request.ContentLength = p.Len()
	return request, p
}

type onlyWriter struct{ io.Writer }

// discardConn swallows requests of a known body length and answers each.
type discardConn struct {
	net.Conn
	body, left int64 // left: of the body under way; 0 before its header
	answer     chan struct{}
	pending    []byte
}

func (c *discardConn) Write(p []byte) (int, error) {
	n := int64(len(p))
	if c.left == 0 {
		c.left = c.body
		n -= int64(bytes.Index(p, []byte("\r\n\r\n")) + 4)
	}
	if c.left -= n; c.left == 0 {
		c.answer <- struct{}{}
	}
	return len(p), nil
}

func (c *discardConn) Read(p []byte) (int, error) {
	if len(c.pending) == 0 {
		if _, ok := <-c.answer; !ok {
			return 0, io.EOF
		}
		c.pending = []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

func (c *discardConn) Close() error                     { defer func() { _ = recover() }(); close(c.answer); return nil }
func (c *discardConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *discardConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *discardConn) SetDeadline(time.Time) error      { return nil }
func (c *discardConn) SetReadDeadline(time.Time) error  { return nil }
func (c *discardConn) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkPlan lays out long streams with many pull-backs.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		tr, s := longStream(b, n, 3*n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewPlan(tr, s)
			}
		})
		plan := NewPlan(tr, s)
		b.Run(fmt.Sprintf("%d/Segments", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plan.Segments(nil, n-1)
			}
		})
	}
}

func BenchmarkNewMaker(b *testing.B) {
	for b.Loop() {
		NewMaker(1)
	}
}

func BenchmarkNewMarker(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewMarker(MarkerWords, "run", 0, 0, "T")
	}
}
