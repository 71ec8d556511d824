package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// memory is a listener whose connections are pipes, for synctest bubbles.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemory() *memory {
	return &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error { m.once.Do(func() { close(m.closed) }); return nil }

func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (m *memory) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-m.closed:
		return nil, errors.New("memory: closed")
	}
}

// bench is a running server with a client, in a bubble.
type bench struct {
	t      *testing.T
	server *Server
	client *http.Client
	mu     sync.Mutex
	served []Served
}

// inBubble runs a test against a server in virtual time.
func inBubble(t *testing.T, cfg Config, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t: t, server: server}
		server.OnServed = func(s Served) {
			b.mu.Lock()
			b.served = append(b.served, s)
			b.mu.Unlock()
		}
		listener := newMemory()
		transport := &http.Transport{DialContext: listener.Dial, MaxIdleConnsPerHost: 1000}
		b.client = &http.Client{Transport: transport}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, listener) }()
		defer func() {
			transport.CloseIdleConnections()
			stop()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
			server.Close()
		}()
		test(t, b)
	})
}

// lastServed waits for the truth about n requests and returns the last.
func (b *bench) lastServed(n int) Served {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.served) != n {
		b.t.Fatalf("%d requests served, want %d", len(b.served), n)
	}
	return b.served[n-1]
}

func (b *bench) post(ctx context.Context, path, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, "POST", "http://sim"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("X-Request-ID", "req-1")
	request.Header.Set("X-Correlation-ID", "corr-1")
	return b.client.Do(request)
}

// delta and the rest are what a strict client knows of an answer.
type delta struct {
	Role             string `json:"role,omitempty"`
	Content          string `json:"content,omitempty"`
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
	ToolCalls        []struct {
		Index    int    `json:"index"`
		ID       string `json:"id,omitempty"`
		Type     string `json:"type,omitempty"`
		Function struct {
			Name      string `json:"name,omitempty"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        *delta  `json:"delta,omitempty"`
	Message      *delta  `json:"message,omitempty"`
	Text         string  `json:"text,omitempty"`
	Logprobs     any     `json:"logprobs"`
	FinishReason *string `json:"finish_reason"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details,omitempty"`
}

type chunkJSON struct {
	ID      string     `json:"id"`
	Object  string     `json:"object"`
	Created int64      `json:"created"`
	Model   string     `json:"model"`
	Written int64      `json:"sim_written_ns,omitempty"`
	Choices []choice   `json:"choices"`
	Usage   *usage     `json:"usage,omitempty"`
	Error   *errorBody `json:"-"`
}

func parseChunk(t *testing.T, data string) chunkJSON {
	t.Helper()
	var c chunkJSON
	if err := json.Unmarshal([]byte(data), &c, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return c
}

// sseEvent is one event and when it came.
type sseEvent struct {
	data string
	at   time.Time
}

// readEvents reads a stream to its end, or to the error that broke it.
func readEvents(r io.Reader) (events []sseEvent, comments int, err error) {
	reader := bufio.NewReader(r)
	for {
		line, err := reader.ReadString('\n')
		if err == io.EOF && line == "" {
			return events, comments, nil
		}
		if err != nil {
			return events, comments, err
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
		case strings.HasPrefix(line, ":"):
			comments++
		case strings.HasPrefix(line, "data: "):
			events = append(events, sseEvent{line[len("data: "):], time.Now()})
		default:
			return events, comments, fmt.Errorf("line %q", line)
		}
	}
}

// stream posts a body and reads its events.
func (b *bench) stream(body string) (sent time.Time, events []sseEvent) {
	b.t.Helper()
	sent = time.Now()
	response, err := b.post(b.t.Context(), "/v1/chat/completions", body)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		text, _ := io.ReadAll(response.Body)
		b.t.Fatalf("status %d: %s", response.StatusCode, text)
	}
	events, _, err = readEvents(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return sent, events
}

// chatBody asks for a streamed answer to n words.
func chatBody(words, maxTokens int, extra string) string {
	return fmt.Sprintf(`{"model":"sim","messages":[{"role":"user","content":%s}],"max_completion_tokens":%d,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}%s}`,
		quoted(textOf(words, "w")), maxTokens, extra)
}

func quoted(s string) string {
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}

// textOf is n words that differ by number and tag.
func textOf(n int, tag string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " %s%d", tag, i)
	}
	return strings.TrimPrefix(b.String(), " ")
}

// quiet has round costs and no noise: 10 ms a step, 1 ms a prompt token.
func quiet() Config {
	return Config{Cost: Cost{
		StepBaseMs: 10, PrefillUsPerToken: 1000,
		PrefillNsPerPair: 1e-9, DecodeUsPerSeq: 1e-9, KVReadNsPerToken: 1e-9,
	}}
}

func TestStreamTimesAreExact(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		sent, events := b.stream(chatBody(92, 4, ""))
		// 92 words + 5 + 3 = 100 tokens: the first comes after 10 + 100 ms.
		want := []int{110, 120, 130, 140, 140, 140} // ms
		if len(events) != len(want) {
			t.Fatalf("%d events: %v", len(events), events)
		}
		for i, event := range events {
			if got := event.at.Sub(sent); got != time.Duration(want[i])*time.Millisecond {
				t.Errorf("event %d after %v, want %v ms", i, got, want[i])
			}
		}
		var text []string
		for i, event := range events[:4] {
			c := parseChunk(t, event.data)
			if c.Object != "chat.completion.chunk" || c.ID != "chatcmpl-req-1" || c.Model != "sim" || len(c.Choices) != 1 {
				t.Fatalf("chunk %s", event.data)
			}
			if finished := c.Choices[0].FinishReason != nil; finished != (i == 3) {
				t.Errorf("chunk %d: finish %v", i, finished)
			}
			text = append(text, c.Choices[0].Delta.Content)
		}
		if n := len(strings.Fields(strings.Join(text, ""))); n != 4 {
			t.Errorf("text %q has %d words, want 4", text, n)
		}
		last := parseChunk(t, events[4].data)
		if len(last.Choices) != 0 || last.Usage == nil || last.Usage.PromptTokens != 100 || last.Usage.CompletionTokens != 4 || last.Usage.TotalTokens != 104 {
			t.Errorf("usage chunk %s", events[4].data)
		}
		if events[5].data != "[DONE]" {
			t.Errorf("end %q", events[5].data)
		}
		served := b.lastServed(1)
		if d := served.Done; d.FirstToken-d.Arrived != 110*time.Millisecond || d.PromptTokens != 100 || d.OutputTokens != 4 ||
			served.RequestID != "req-1" || served.CorrelationID != "corr-1" || served.Status != 200 || !served.Stream {
			t.Errorf("served %+v %+v", served, d)
		}
	})
}

func mustUnmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
