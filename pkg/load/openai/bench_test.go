package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result/record"
)

// vllmChunk is a chunk of some 250 bytes, as vLLM writes it.
func vllmChunk(content string) string {
	return `{"id":"chatcmpl-7f0d1e2c3b4a59687f0d1e2c3b4a5968","object":"chat.completion.chunk","created":1764460800,"model":"Qwen/Qwen3-32B",` +
		`"choices":[{"index":0,"delta":{"content":"` + content + `"},"logprobs":null,"finish_reason":null}],"usage":null}`
}

// BenchmarkScan is an event from memory: split, scanned and stamped.
func BenchmarkScan(b *testing.B) {
	event := sse(vllmChunk(" token"))
	for _, perRead := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d a read", perRead), func(b *testing.B) {
			read := []byte(strings.Repeat(event, perRead))
			clock := record.NewClock()
			s := newStream()
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for n := 0; n < b.N; n += perRead {
				if s.chunks > MaxChunks/2 {
					s = newStream()
				}
				if err := s.read(read, clock.Now()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// pieces is a Content of large pieces, as prompts are.
type pieces struct {
	rest   [][]byte
	length int64
}

func (c *pieces) Len() int64 { return c.length }

func (c *pieces) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(c.rest) == 0 {
			return n, io.EOF
		}
		m := copy(p[n:], c.rest[0])
		n += m
		if c.rest[0] = c.rest[0][m:]; len(c.rest[0]) == 0 {
			c.rest = c.rest[1:]
		}
	}
	return n, nil
}

// prompt is a body of n pieces of size bytes each.
func prompt(n, size int) func() Content {
	piece := []byte(strings.Repeat("word ", size/5+1)[:size])
	all := make([][]byte, n)
	return func() Content {
		for i := range all {
			all[i] = piece
		}
		return &pieces{all, int64(n) * int64(size)}
	}
}

// BenchmarkRequestBody is a 3 MB body, read from http.Request.Body into a
// writer that discards it, and sent through the whole client to an engine in
// memory that discards it.
func BenchmarkRequestBody(b *testing.B) {
	for _, size := range []int{400, 64 << 10} { // a block of 64 words; a whole message
		content := prompt(3<<20/size, size)
		b.Run(fmt.Sprintf("body/pieces=%d", size), func(b *testing.B) {
			c := newClient(b, Config{URL: "h"})
			buf := make([]byte, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				call := Call{Content: content(), Model: "m"}
				body, err := c.body(&call)
				if err != nil {
					b.Fatal(err)
				}
				request := http.Request{Body: body}
				n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, request.Body, buf)
				if err != nil || n != body.length {
					b.Fatal(n, err)
				}
				b.SetBytes(n)
			}
		})
		b.Run(fmt.Sprintf("client/pieces=%d", size), func(b *testing.B) {
			c := newClient(b, Config{URL: "h", Dial: func(context.Context, string, string) (net.Conn, error) { return newSink(), nil }})
			b.ReportAllocs()
			for b.Loop() {
				seen := c.Do(context.Background(), Call{Content: content(), Model: "m"})
				if seen.Outcome != record.OK {
					b.Fatal(seen.Error)
				}
				b.SetBytes(*seen.HTTP.BytesSent)
			}
		})
	}
}

// sink is a connection to an engine that discards each request and answers as
// soon as it has its last byte.
type sink struct {
	net.Conn
	in      *io.PipeWriter
	answers *io.PipeReader
	left    int
}

func newSink() *sink {
	answers, out := io.Pipe()
	s := &sink{answers: answers, in: out}
	return s
}

func (s *sink) Write(p []byte) (int, error) {
	n := len(p)
	if s.left == 0 {
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(p[:min(n, 4096)]))))
		if err != nil {
			return 0, err
		}
		head := strings.Index(string(p[:min(n, 4096)]), "\r\n\r\n") + 4
		s.left = head + int(request.ContentLength)
	}
	if s.left -= n; s.left == 0 {
		go answerWell(s.in)
	}
	return n, nil
}

func (s *sink) Read(p []byte) (int, error) { return s.answers.Read(p) }
func (s *sink) Close() error               { s.in.Close(); return s.answers.Close() }
