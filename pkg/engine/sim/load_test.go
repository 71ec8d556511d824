package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// TestManyStreams runs 200 streams at once over real sockets; some clients leave.
func TestManyStreams(t *testing.T) {
	cfg := Config{MaxNumSeqs: 64}
	cfg.Faults = Faults{PrefillSlowdown: 0.01, DecodeSlowdown: 0.01, SplitRate: 0.2, CommentRate: 0.2}
	server, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var mu sync.Mutex
	outcomes := map[Finish]int{}
	server.OnServed = func(s Served) {
		mu.Lock()
		outcomes[s.Done.Finish]++
		mu.Unlock()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(t.Context(), listener) }()
	url := "http://" + listener.Addr().String() + "/v1/chat/completions"

	const streams, tokens = 200, 20
	var group sync.WaitGroup
	for i := range streams {
		group.Go(func() {
			leaves := i%20 == 0
			want := tokens
			if leaves {
				want = 1_000_000 // more than it stays for
			}
			response, err := http.Post(url, "application/json", strings.NewReader(
				strings.Replace(chatBody(50+i, 20, ""), `"max_completion_tokens":20`, fmt.Sprintf(`"max_completion_tokens":%d`, min(want, 200_000)), 1)))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if leaves {
				io.CopyN(io.Discard, response.Body, 2000)
				return
			}
			events, _, err := readEvents(response.Body)
			if err != nil || len(events) != tokens+2 || events[len(events)-1].data != "[DONE]" {
				t.Errorf("stream %d: %d events, %v", i, len(events), err)
			}
		})
	}
	group.Wait()
	http.DefaultClient.CloseIdleConnections()
	server.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if outcomes[FinishLength] != streams-streams/20 || outcomes[FinishAbort] != streams/20 {
		t.Errorf("outcomes %v", outcomes)
	}
	if c := server.Counters(); c.UsedBlocks != 0 || c.PeakRunning > 64 || c.Requests[FinishLength] != streams-streams/20 {
		t.Errorf("%+v", c)
	}
}

// BenchmarkModel is the speed of the model alone: 64 sequences of 100,000 tokens
// that decode.
func BenchmarkModel(b *testing.B) {
	m, err := NewModel(Config{MaxModelLen: 1 << 28})
	if err != nil {
		b.Fatal(err)
	}
	for id := range uint64(64) {
		p := NewPrompt(16)
		p.Add(id)
		for i := range uint64(100_000) {
			p.Add(mix(i))
		}
		if err := m.Submit(0, Request{ID: id, Prompt: p, MaxTokens: 1 << 27}); err != nil {
			b.Fatal(err)
		}
	}
	var now time.Duration
	for m.Counters().GeneratedTokens < 6400 {
		took, _ := m.Step(now)
		now += took
	}
	b.ReportAllocs()
	for b.Loop() {
		took, _ := m.Step(now)
		if took == 0 {
			b.Fatal("the sequences have ended; ask for more tokens")
		}
		now += took
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkAdmission is the cost of a prompt of 100,000 tokens that is cached.
func BenchmarkAdmission(b *testing.B) {
	m, err := NewModel(Config{})
	if err != nil {
		b.Fatal(err)
	}
	p := NewPrompt(16)
	for i := range uint64(100_000) {
		p.Add(mix(i))
	}
	var now time.Duration
	for id := uint64(0); b.Loop(); id++ {
		if err := m.Submit(now, Request{ID: id, Prompt: p, MaxTokens: 1}); err != nil {
			b.Fatal(err)
		}
		for {
			took, _ := m.Step(now)
			if now += took; took == 0 {
				break
			}
		}
	}
}

// BenchmarkStreams writes events over loopback to 200 streams, as fast as they
// go.
func BenchmarkStreams(b *testing.B) {
	cfg := Config{}
	cfg.Faults = Faults{PrefillSlowdown: 1e-6, DecodeSlowdown: 1e-6}
	server, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go server.Serve(b.Context(), listener)
	const streams = 200
	each := max(b.N/streams, 1)
	var group sync.WaitGroup
	b.ResetTimer()
	for i := range streams {
		group.Go(func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			body := chatBody(20+i, each, "")
			fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			reader := bufio.NewReader(conn)
			for {
				line, err := reader.ReadSlice('\n')
				if err != nil {
					b.Error(err)
					return
				}
				if bytes.HasPrefix(line, []byte("data: [DONE]")) {
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(each*streams)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkChunk is the rendering of one event.
func BenchmarkChunk(b *testing.B) {
	c := &chunks{chat: true, vocab: theVocabulary(), answer: 7, head: []byte(`{"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"sim"`)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.tokens(i, Event{Output: i + 1})
	}
}

// BenchmarkPrompt is the hashing of text alone.
func BenchmarkPrompt(b *testing.B) {
	text := string(words.New(1).Slice(0, words.Size))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		NewPrompt(16).AddText(text)
	}
}
