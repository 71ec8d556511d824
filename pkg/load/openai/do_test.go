package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

// capture keeps the last request and answers well.
type capture struct {
	request *http.Request
	body    string
}

func (c *capture) engine(t testing.TB) string {
	return engine(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.request, c.body = r, string(body)
		if strings.Contains(c.body, `"stream":true`) {
			streamed(eventA, usage7, "[DONE]")(w, r)
			return
		}
		answered(200, "application/json", `{"choices":[{"message":{"content":"hi"},"finish_reason":"length"}],"usage":{"completion_tokens":5}}`)(w, r)
	})
}

func TestDoSendsWhatTheScenarioAsksFor(t *testing.T) {
	var got capture
	c := newClient(t, Config{URL: got.engine(t), APIKey: "sk-secret", IgnoreEOS: true})
	seen := c.Do(t.Context(), helloCall())
	expectOK(t, seen)
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"ignore_eos":true,"max_completion_tokens":5,"messages":` + hello + `}`
	if got.body != want {
		t.Errorf("body\n%s\nwant\n%s", got.body, want)
	}
	r := got.request
	if r.ContentLength != int64(len(want)) || len(r.TransferEncoding) > 0 || r.URL.Path != "/v1/chat/completions" || r.ProtoMinor != 1 {
		t.Errorf("length %d of %d, encoding %v, path %s, %s", r.ContentLength, len(want), r.TransferEncoding, r.URL.Path, r.Proto)
	}
	header := map[string]string{}
	for name := range r.Header {
		header[name] = r.Header.Get(name)
	}
	if diff := cmp.Diff(map[string]string{
		"Accept": "text/event-stream", "Authorization": "Bearer sk-secret", "Content-Length": header["Content-Length"],
		"Content-Type": "application/json", "User-Agent": UserAgent, "X-Request-Id": "req-1", "X-Correlation-Id": "cor-1",
	}, header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if seen.Status != 200 || seen.Chunks != 1 || seen.Events != 3 || *seen.Usage.CompletionTokens != 7 {
		t.Errorf("seen %+v", seen)
	}
}

func TestDoOptions(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		call   func(*Call)
		path   string
		body   string
	}{
		"extra inputs": {
			Config{Extra: map[string]jsontext.Value{"top_k": jsontext.Value("1"), "a\"b": jsontext.Value(`{ "c": [ 1 ] }`)}}, nil,
			"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"a\"b":{"c":[1]},"top_k":1,"max_completion_tokens":5,"messages":` + hello + `}`,
		},
		"ignore_eos given as extra input": {
			Config{IgnoreEOS: true, Extra: map[string]jsontext.Value{"ignore_eos": jsontext.Value("false")}}, nil,
			"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"ignore_eos":false,"max_completion_tokens":5,"messages":` + hello + `}`,
		},
		"legacy name of the limit, usage with every chunk": {
			Config{LegacyMaxTokens: true, PerChunkUsage: true}, nil,
			"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"max_tokens":5,"messages":` + hello + `}`,
		},
		"completions": {
			Config{}, func(call *Call) { call.Field, call.Content = "prompt", messages(`"once"`) },
			"/v1/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"prompt":"once"}`,
		},
		"no limit, strange model": {
			Config{Endpoint: "custom/path"}, func(call *Call) { call.Model, call.MaxTokens = "a\"\n", 0 },
			"/custom/path", `{"model":"a\"\n","stream":true,"stream_options":{"include_usage":true},"messages":` + hello + `}`,
		},
		"not streamed": {
			Config{NonStreaming: true}, nil,
			"/v1/chat/completions", `{"model":"m","max_completion_tokens":5,"messages":` + hello + `}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got capture
			c.config.URL = got.engine(t)
			call := helloCall()
			if c.call != nil {
				c.call(&call)
			}
			expectOK(t, newClient(t, c.config).Do(t.Context(), call))
			if got.body != c.body || got.request.URL.Path != c.path {
				t.Errorf("%s\n%s\nwant %s\n%s", got.request.URL.Path, got.body, c.path, c.body)
			}
		})
	}
}

func TestRoutingHeaders(t *testing.T) {
	var got capture
	c := newClient(t, Config{
		URL: got.engine(t), SessionID: true, SMGRoutingKey: true, DynamoSessionID: true, SessionHeader: "X-Agent-Play", TreeHeader: "X-Agent-Tree",
		Headers: http.Header{"x-session-id": {"user's"}, "X-Team": {"a", "b"}, "User-Agent": {"other"}, "Host": {"engine.example"}},
	})
	call := helloCall()
	call.ParentCorrelationID = "parent-1"
	expectOK(t, c.Do(t.Context(), call))
	for name, want := range map[string]string{
		"X-Session-ID": "cor-1", "X-SMG-Routing-Key": "cor-1", "X-Dynamo-Session-ID": "cor-1", "X-Dynamo-Parent-Session-ID": "parent-1",
		"X-Agent-Play": "cor-1", "X-Agent-Tree": "root-1", "X-Correlation-ID": "", "X-Team": "a,b", "User-Agent": "other", "X-Request-ID": "req-1",
	} {
		if values := strings.Join(got.request.Header.Values(name), ","); values != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
	if got.request.Host != "engine.example" {
		t.Errorf("host %q", got.request.Host)
	}
	root := helloCall()
	expectOK(t, c.Do(t.Context(), root))
	if parent := got.request.Header.Get("X-Dynamo-Parent-Session-ID"); parent != "" {
		t.Errorf("a root has parent %q", parent)
	}
}

func TestTimesAndPhases(t *testing.T) {
	url := engine(t, streamed(roleEv, eventA, eventA, eventB, usage7, "[DONE]"))
	c := newClient(t, Config{URL: url})
	for i, reused := range []bool{false, true} {
		seen := c.Do(t.Context(), helloCall())
		expectOK(t, seen)
		if err := seen.Check(); err != nil {
			t.Error(err)
		}
		for name, at := range map[string]record.Stamp{
			"sent": seen.Sent, "headers": seen.Headers, "first byte": seen.FirstByte, "first token": seen.FirstToken, "first output": seen.FirstOutput,
			"second token": seen.SecondToken, "last token": seen.LastToken, "end": seen.End,
		} {
			if !at.Seen() {
				t.Errorf("no time of %s", name)
			}
		}
		if seen.Chunks != 3 || len(seen.ChunkGapsNs) != 2 || seen.Finish != "stop" {
			t.Errorf("%d chunks, %d gaps, finish %q", seen.Chunks, len(seen.ChunkGapsNs), seen.Finish)
		}
		h := seen.HTTP
		for name, phase := range map[string]*int64{
			"blocked": h.BlockedNs, "dns": h.DNSNs, "connect": h.ConnectNs, "send": h.SendNs, "wait": h.WaitNs, "receive": h.ReceiveNs,
		} {
			if phase == nil {
				t.Fatalf("request %d: no phase %s", i, name)
			}
		}
		if *h.Reused != reused || (*h.ConnectNs > 0) == reused || *h.DNSNs != 0 || *h.SendNs == 0 {
			t.Errorf("request %d: reused %v connect %d dns %d send %d wait %d", i, *h.Reused, *h.ConnectNs, *h.DNSNs, *h.SendNs, *h.WaitNs)
		}
		if sum := *h.BlockedNs + *h.ConnectNs + *h.SendNs + *h.WaitNs + *h.ReceiveNs; sum > int64(seen.End-seen.Sent) {
			t.Errorf("the phases take %d ns of %d", sum, seen.End-seen.Sent)
		}
		if *h.BytesSent < int64(len(hello))+200 || *h.BytesReceived < int64(len(eventA)*3)+100 || *h.WriteCalls < 1 || *h.ReadCalls < 1 {
			t.Errorf("request %d: %d bytes in %d writes, %d bytes in %d reads", i, *h.BytesSent, *h.WriteCalls, *h.BytesReceived, *h.ReadCalls)
		}
	}
}

func TestBytesOfAConnectionAreThoseOfItsRequest(t *testing.T) {
	url := engine(t, streamed(eventA, "[DONE]"))
	c := newClient(t, Config{URL: url})
	first := c.Do(t.Context(), helloCall())
	second := c.Do(t.Context(), helloCall())
	expectOK(t, first)
	expectOK(t, second)
	if *first.HTTP.BytesSent != *second.HTTP.BytesSent || *first.HTTP.BytesReceived != *second.HTTP.BytesReceived {
		t.Errorf("equal requests: sent %d and %d, received %d and %d",
			*first.HTTP.BytesSent, *second.HTTP.BytesSent, *first.HTTP.BytesReceived, *second.HTTP.BytesReceived)
	}
}

func TestPlainJSONAnswerHasNoFirstToken(t *testing.T) {
	var got capture
	for name, config := range map[string]Config{"asked for": {NonStreaming: true}} {
		config.URL = got.engine(t)
		seen := newClient(t, config).Do(t.Context(), helloCall())
		expectOK(t, seen)
		if seen.FirstToken.Seen() || !seen.LastToken.Seen() || seen.Chunks != 1 || seen.Finish != "length" || *seen.Usage.CompletionTokens != 5 {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("long ", 20000)
	for name, want := range map[string]struct {
		handler http.HandlerFunc
		class   string
		code    int
		words   []string
	}{
		"bad request":         {answered(400, "application/json", `{"error":{"message":"bad \u001b[31mfield","type":"x","code":400}}`), "http_400", 400, []string{"bad [31mfield"}},
		"overflow, vLLM":      {answered(400, "application/json", `{"error":{"message":"This model's maximum context length is 4096 tokens."}}`), classOverflow, 400, []string{"4096"}},
		"overflow, SGLang":    {answered(400, "application/json", `{"object":"error","message":"The input is longer than the model's Context Length (4096 tokens)."}`), classOverflow, 400, []string{"longer"}},
		"overflow by code":    {answered(400, "application/json", `{"error":{"message":"too much","code":"context_length_exceeded"}}`), classOverflow, 400, []string{"too much"}},
		"overflow, own words": {answered(500, "text/plain", "KV slots EXHAUSTED here"), classOverflow, 500, nil},
		"FastAPI detail":      {answered(422, "application/json", `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`), "http_422", 422, []string{"field required"}},
		"unauthorised":        {answered(401, "application/json", `{"error":"Unauthorized: sk-very-secret"}`), "http_401", 401, []string{"Unauthorized: ***", "API key"}},
		"wrong model":         {answered(404, "application/json", `{"error":{"message":"The model m does not exist."}}`), "http_404", 404, []string{"does not exist", "model's name", "/v1/chat/completions"}},
		"internal error":      {answered(500, "text/plain", "Internal Server Error"), "http_500", 500, []string{"Internal Server Error"}},
		"empty":               {answered(503, "text/plain", ""), "http_503", 503, []string{"Service Unavailable"}},
		"endless body":        {answered(502, "text/html", long), "http_502", 502, []string{"long long"}},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			drain(r)
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "http_307", 307, []string{"/elsewhere"}},
		"error with status 200":  {answered(200, "application/json", `{"error":{"message":"busy","code":503}}`), classStreamError, 503, []string{"busy"}},
		"overflow in the stream": {streamed(`{"error":{"message":"prompt is too long","code":400}}`), classOverflow, 400, []string{"too long"}},
		"error in the stream":    {streamed(eventA, `{"error":{"message":"engine dead"}}`, "[DONE]"), classStreamError, 502, []string{"engine dead"}},
		"web page":               {answered(200, "text/html", "<html>login</html>"), classBadResponse, 0, []string{"text/html", "<html>login"}},
		"plain text":             {answered(200, "text/plain", "hello there\n"), classBadResponse, 0, []string{"hello there", "engine's"}},
		"garbage stream":         {answered(200, "text/event-stream", "\x00\xff\xfe garbage"), classTruncated, 0, []string{"garbage"}},
		"garbage JSON":           {answered(200, "application/json", "{oops"), classBadResponse, 0, []string{"oops"}},
		"empty stream":           {answered(200, "text/event-stream", ""), classNoContent, 0, []string{"empty"}},
		"empty 200":              {streamed(roleEv, "[DONE]"), classNoContent, 0, nil},
		"empty JSON":             {answered(200, "application/json", `{"choices":[{"message":{"content":""}}]}`), classNoContent, 0, nil},
		"compressed": {func(w http.ResponseWriter, r *http.Request) {
			drain(r)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8b")
		}, classBadResponse, 0, []string{"gzip"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, Config{URL: engine(t, want.handler), APIKey: "sk-very-secret", OverflowSubstrings: []string{"slots exhausted"}})
			seen := c.Do(t.Context(), helloCall())
			expectFailure(t, seen, want.class, want.words...)
			if seen.Error.Code != want.code {
				t.Errorf("code %d, want %d", seen.Error.Code, want.code)
			}
			if len(seen.Error.Message) > record.MaxErrorMessage || strings.Contains(seen.Error.Message, "secret") {
				t.Errorf("message of %d bytes: %s", len(seen.Error.Message), seen.Error.Message)
			}
			if !seen.Sent.Seen() || !seen.Headers.Seen() || !seen.End.Seen() {
				t.Errorf("times %d %d %d", seen.Sent, seen.Headers, seen.End)
			}
		})
	}
}

func TestWhatWasMeasuredBeforeAFailureIsKept(t *testing.T) {
	c := newClient(t, Config{URL: engine(t, streamed(eventA, eventA, usage7, `{"error":{"message":"engine dead"}}`))})
	seen := c.Do(t.Context(), helloCall())
	expectFailure(t, seen, classStreamError)
	if seen.Chunks != 2 || !seen.FirstToken.Seen() || seen.Usage == nil || seen.Status != 200 || seen.HTTP.WaitNs == nil {
		t.Errorf("seen %+v", seen)
	}
}

func TestBadContent(t *testing.T) {
	url := engine(t, streamed(eventA, "[DONE]"))
	for name, want := range map[string]struct {
		content Content
		class   string
		word    string
	}{
		"none":     {nil, classCall, "no content"},
		"empty":    {messages(""), classCall, "no content"},
		"short":    {text{strings.NewReader("[]"), 10}, classBody, "8 bytes before"},
		"long":     {text{strings.NewReader("[ ]"), 2}, classBody, "longer"},
		"broken":   {text{io.MultiReader(strings.NewReader("["), brokenReader{}), 10}, classBody, "disk on fire"},
		"stalling": {text{emptyReader{}, 10}, classBody, "no data"},
	} {
		t.Run(name, func(t *testing.T) {
			call := helloCall()
			call.Content = want.content
			expectFailure(t, newClient(t, Config{URL: url}).Do(t.Context(), call), want.class, want.word)
		})
	}
	for name, change := range map[string]func(*Call){
		"field": func(call *Call) { call.Field = "input" }, "limit": func(call *Call) { call.MaxTokens = -1 },
		"model": func(call *Call) { call.Model = "\xff" },
	} {
		t.Run(name, func(t *testing.T) {
			call := helloCall()
			change(&call)
			expectFailure(t, newClient(t, Config{URL: url}).Do(t.Context(), call), classCall)
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func TestThePoolIsAsLargeAsTheFanOut(t *testing.T) {
	const fanOut = 150
	var dials atomic.Int64
	var inside sync.WaitGroup
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		inside.Done()
		inside.Wait() // all are in flight at once
		streamed(eventA, "[DONE]")(w, r)
	})
	c := newClient(t, Config{URL: url, Dial: countingDial(&dials)})
	for range 3 {
		inside.Add(fanOut)
		var all sync.WaitGroup
		for range fanOut {
			all.Go(func() {
				if seen := c.Do(context.Background(), helloCall()); seen.Outcome != record.OK {
					t.Errorf("%+v", seen.Error)
				}
			})
		}
		all.Wait()
	}
	if n := dials.Load(); n != fanOut {
		t.Errorf("%d connections for a fan-out of %d, three times", n, fanOut)
	}
}

func TestConnectionReuse(t *testing.T) {
	for reuse, want := range map[ConnectionReuse]int64{"": 1, ReusePooled: 1, ReuseNever: 6, ReuseSticky: 4} {
		t.Run(string(reuse), func(t *testing.T) {
			var dials atomic.Int64
			c := newClient(t, Config{URL: engine(t, streamed(eventA, "[DONE]")), Reuse: reuse, Dial: countingDial(&dials)})
			for _, turn := range []struct {
				session string
				last    bool
			}{{"a", false}, {"b", false}, {"a", false}, {"a", true}, {"a", false}, {"c", false}} {
				call := helloCall()
				call.CorrelationID, call.Last = turn.session, turn.last
				expectOK(t, c.Do(t.Context(), call))
			}
			if n := dials.Load(); n != want {
				t.Errorf("%d connections, want %d", n, want)
			}
			c.Release("b")
			if reuse == ReuseSticky && len(c.sticky) != 2 {
				t.Errorf("%d sessions are held, want a and c", len(c.sticky))
			}
		})
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(streamed(eventA, "[DONE]"))
	t.Cleanup(server.Close)
	good := server.Client().Transport.(*http.Transport).TLSClientConfig
	seen := newClient(t, Config{URL: server.URL, TLS: good}).Do(t.Context(), helloCall())
	expectOK(t, seen)
	if seen.HTTP.BytesSent == nil || *seen.HTTP.BytesSent == 0 || *seen.HTTP.ConnectNs == 0 {
		t.Errorf("phases %+v", seen.HTTP)
	}
	expectFailure(t, newClient(t, Config{URL: server.URL}).Do(t.Context(), helloCall()), classTLS, "certificate")
	plain := strings.Replace(engine(t, streamed(eventA)), "http://", "https://", 1)
	expectFailure(t, newClient(t, Config{URL: plain}).Do(t.Context(), helloCall()), classTLS, "plain http")
	overHTTP := strings.Replace(server.URL, "https://", "http://", 1)
	expectFailure(t, newClient(t, Config{URL: overHTTP}).Do(t.Context(), helloCall()), "http_400", "HTTPS")
}

func TestTheEnvironmentsProxyIsIgnored(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	var got capture
	url := got.engine(t)
	expectOK(t, newClient(t, Config{URL: url}).Do(t.Context(), helloCall()))
	if p := newClient(t, Config{URL: url}).pool.Proxy; p != nil {
		t.Error("the transport has a proxy function")
	}
}
