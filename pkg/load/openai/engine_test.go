package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/agentx-action/pkg/result/record"
)

// text is a Content.
type text struct {
	io.Reader
	length int64
}

func (c text) Len() int64 { return c.length }

func messages(json string) Content { return text{strings.NewReader(json), int64(len(json))} }

const hello = `[{"role":"user","content":"hello"}]`

func helloCall() Call {
	return Call{
		Content: messages(hello), Model: "m", MaxTokens: 5,
		RequestID: "req-1", CorrelationID: "cor-1", RootCorrelationID: "root-1",
	}
}

func newClient(t testing.TB, config Config) *Client {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// engine serves a handler over TCP.
func engine(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func drain(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

// streamed answers with events.
func streamed(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, event := range events {
			fmt.Fprintf(w, "data: %s\n\n", event)
			w.(http.Flusher).Flush()
		}
	}
}

// answered answers with a status, a type and a body.
func answered(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// rawEngine hands every TCP connection to serve.
func rawEngine(t testing.TB, serve func(n int, c *net.TCPConn, r *bufio.Reader)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(n, c.(*net.TCPConn), bufio.NewReader(c))
		}
	}()
	return "http://" + listener.Addr().String()
}

// readRequest reads one whole request from a connection.
func readRequest(r *bufio.Reader) error {
	request, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err
}

func chunked(events string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(events), events)
}

const lastChunk = "0\r\n\r\n"

func expectOK(t testing.TB, seen record.Seen) {
	t.Helper()
	if seen.Outcome != record.OK {
		t.Fatalf("outcome %s: %+v", seen.Outcome, seen.Error)
	}
}

func expectFailure(t testing.TB, seen record.Seen, class string, words ...string) {
	t.Helper()
	if seen.Error == nil || seen.Error.Type != class {
		t.Fatalf("outcome %s, error %+v; want type %s", seen.Outcome, seen.Error, class)
	}
	for _, word := range words {
		if !strings.Contains(seen.Error.Message, word) {
			t.Errorf("message %q does not say %q", seen.Error.Message, word)
		}
	}
	switch want := map[string]record.Outcome{classOverflow: record.Overflow, classRunEnded: record.Censored}[class]; want {
	case "":
		if seen.Outcome != record.Failed {
			t.Errorf("outcome %s for %s", seen.Outcome, class)
		}
	default:
		if seen.Outcome != want {
			t.Errorf("outcome %s for %s, want %s", seen.Outcome, class, want)
		}
	}
	if err := seen.Check(); err != nil {
		t.Error(err)
	}
}

// countingDial counts connections.
func countingDial(n *atomic.Int64) DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}
