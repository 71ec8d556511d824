package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// call posts a body and returns status and text.
func (b *bench) call(path, body string) (int, string) {
	b.t.Helper()
	response, err := b.post(b.t.Context(), path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (b *bench) get(path string) (int, string) {
	b.t.Helper()
	response, err := b.client.Get("http://sim" + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestWholeAnswer(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		status, text := b.call("/v1/chat/completions", `{"messages":[{"role":"user","content":"one two"}],"max_tokens":3}`)
		c := parseChunk(t, text)
		if status != 200 || c.Object != "chat.completion" || c.Choices[0].Message == nil || *c.Choices[0].FinishReason != "length" ||
			words.Count(c.Choices[0].Message.Content) != 3 || c.Usage.PromptTokens != 10 || c.Usage.CompletionTokens != 3 {
			t.Errorf("%d %s", status, text)
		}
		status, text = b.call("/v1/completions", `{"model":"sim","prompt":"one two"}`)
		c = parseChunk(t, text)
		if status != 200 || c.Object != "text_completion" || words.Count(c.Choices[0].Text) != 16 || c.Usage.PromptTokens != 2 || !strings.HasPrefix(c.ID, "cmpl-") {
			t.Errorf("%d %s", status, text)
		}
	})
}

func TestStreamedCompletion(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		status, text := b.call("/v1/completions", `{"prompt":"one two","max_tokens":2,"stream":true}`)
		events, _, err := readEvents(strings.NewReader(text))
		if err != nil || status != 200 || len(events) != 3 {
			t.Fatalf("%d %v %s", status, err, text)
		}
		for _, event := range events[:2] {
			if c := parseChunk(t, event.data); c.Object != "text_completion" || words.Count(c.Choices[0].Text) != 1 || c.Usage != nil {
				t.Errorf("%s", event.data)
			}
		}
	})
}

func TestCachedTokensInUsage(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		b.stream(chatBody(92, 1, ""))
		_, events := b.stream(chatBody(92, 2, ""))
		c := parseChunk(t, events[len(events)-2].data)
		if c.Usage.PromptDetails.CachedTokens != 96 {
			t.Errorf("usage %s", events[len(events)-2].data)
		}
		if served := b.lastServed(2); served.Done.Cached.GPU != 96 {
			t.Errorf("served %+v", served.Done)
		}
	})
}

func TestContinuousUsageAndStamps(t *testing.T) {
	cfg := quiet()
	cfg.StampWrites = true
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		_, events := b.stream(strings.Replace(chatBody(92, 3, ""), `"include_usage":true`, `"include_usage":true,"continuous_usage_stats":true`, 1))
		for i, event := range events[:3] {
			c := parseChunk(t, event.data)
			if c.Usage == nil || c.Usage.CompletionTokens != i+1 || c.Usage.PromptTokens != 100 {
				t.Errorf("chunk %d: %s", i, event.data)
			}
			if c.Written != event.at.UnixNano() {
				t.Errorf("chunk %d written at %d, read at %d", i, c.Written, event.at.UnixNano())
			}
		}
	})
}

func TestSpreadWrites(t *testing.T) {
	cfg := quiet()
	cfg.SpreadWritesMs = 8
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		phases := map[time.Duration]bool{}
		for i := range 5 {
			sent, events := b.stream(chatBody(92, 5, fmt.Sprintf(`,"x":%d`, i)))
			b.call("/reset_prefix_cache", "")
			phase := events[0].at.Sub(sent) - 110*time.Millisecond
			if phase < 0 || phase > 8*time.Millisecond {
				t.Errorf("written %v after the step", phase)
			}
			phases[phase] = true
			for i := 1; i < 5; i++ {
				if gap := events[i].at.Sub(events[i-1].at); gap != 10*time.Millisecond {
					t.Errorf("gap of %v", gap)
				}
			}
		}
		if len(phases) != 5 {
			t.Errorf("phases %v", phases)
		}
	})
}

func TestTokensPerEvent(t *testing.T) {
	cfg := quiet()
	cfg.TokensPerEvent = 4
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		_, events := b.stream(chatBody(2, 10, ""))
		var counts []int
		var all string
		for _, event := range events[:len(events)-2] {
			text := parseChunk(t, event.data).Choices[0].Delta.Content
			counts = append(counts, words.Count(text))
			all += text
		}
		if len(counts) != 3 || counts[0] != 4 || counts[1] != 4 || counts[2] != 2 || words.Count(all) != 10 {
			t.Errorf("tokens per event %v, text %q", counts, all)
		}
	})
}

func TestErrorShapes(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen, cfg.MaxBodyMiB = 100, 1
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		for _, c := range []struct {
			name, path, body string
			status           int
			message          string
		}{
			{"unknown model", "/v1/chat/completions", `{"model":"gpt","messages":[{"role":"user","content":"x"}]}`, 404, "The model `gpt` does not exist."},
			{"no JSON", "/v1/chat/completions", `{"model":`, 400, "Invalid request body"},
			{"no messages", "/v1/chat/completions", `{"model":"sim"}`, 400, "messages is missing"},
			{"prompt for chat", "/v1/chat/completions", `{"prompt":"x"}`, 400, "messages is missing"},
			{"messages for completions", "/v1/completions", `{"messages":[{"role":"user","content":"x"}]}`, 400, "prompt is missing"},
			{"empty prompt", "/v1/completions", `{"prompt":" "}`, 400, "prompt is missing"},
			{"too long", "/v1/chat/completions", chatBody(80, 20, ""), 400, "This model's maximum context length is 100 tokens. However, you requested 108 tokens (88 in the messages, 20 in the completion)."},
			{"too large", "/v1/completions", `{"prompt":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "larger than"},
			{"tokenize nothing", "/tokenize", `{}`, 400, "missing"},
		} {
			status, text := b.call(c.path, c.body)
			var e errorBody
			if err := json.Unmarshal([]byte(text), &e, json.RejectUnknownMembers(true)); err != nil {
				t.Errorf("%s: %v in %s", c.name, err, text)
			}
			if status != c.status || e.Error.Code != c.status || !strings.Contains(e.Error.Message, c.message) || e.Error.Type == "" {
				t.Errorf("%s: %d %s", c.name, status, text)
			}
		}
		if status, _ := b.get("/nowhere"); status != 404 {
			t.Errorf("/nowhere: %d", status)
		}
		if status, _ := b.get("/v1/chat/completions"); status != 405 {
			t.Errorf("GET on completions: %d", status)
		}
	})
}

func TestAPIKey(t *testing.T) {
	cfg := quiet()
	cfg.APIKey = "secret"
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		if status, text := b.call("/v1/chat/completions", chatBody(1, 1, "")); status != 401 || strings.Contains(text, "secret") {
			t.Errorf("%d %s", status, text)
		}
		if status, _ := b.get("/health"); status != 200 {
			t.Errorf("/health: %d", status)
		}
		request, _ := http.NewRequest("GET", "http://sim/v1/models", nil)
		request.Header.Set("Authorization", "Bearer secret")
		response, err := b.client.Do(request)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("%v %v", response, err)
		}
		response.Body.Close()
	})
}

func TestModelsAndTokenize(t *testing.T) {
	inBubble(t, Config{Model: "a/b", MaxModelLen: 5000}, func(t *testing.T, b *bench) {
		if status, text := b.get("/v1/models"); status != 200 || !strings.Contains(text, `"id":"a/b"`) || !strings.Contains(text, `"max_model_len":5000`) {
			t.Errorf("%d %s", status, text)
		}
		for body, want := range map[string]string{
			`{"model":"a/b","prompt":"one two  three"}`: `{"count":3,"max_model_len":5000}`,
			`{"prompt":""}`: `{"count":0,"max_model_len":5000}`,
			`{"messages":[{"role":"user","content":"one two"}]}`:                               `{"count":10,"max_model_len":5000}`,
			`{"messages":[{"role":"user","content":"one two"}],"add_generation_prompt":false}`: `{"count":7,"max_model_len":5000}`,
		} {
			if status, text := b.call("/tokenize", body); status != 200 || text != want {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
	})
}

func TestCacheReset(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		cached := func() int { return b.lastServed(len(b.served)).Done.Cached.Total() }
		b.stream(chatBody(92, 1, ""))
		for _, path := range []string{"/reset_prefix_cache", "/flush_cache"} {
			b.stream(chatBody(92, 1, ""))
			if cached() != 96 {
				t.Errorf("before %s: %d tokens cached", path, cached())
			}
			if status, text := b.call(path, ""); status != 200 {
				t.Errorf("%s: %d %s", path, status, text)
			}
			b.stream(chatBody(92, 1, ""))
			if cached() != 0 {
				t.Errorf("after %s: %d tokens cached", path, cached())
			}
		}
		// While a request runs nothing is reset, and only SGLang's says so.
		response, err := b.post(t.Context(), "/v1/chat/completions", chatBody(92, 100, ""))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		if status, _ := b.call("/flush_cache", ""); status != 400 {
			t.Errorf("/flush_cache while busy: %d", status)
		}
		if status, _ := b.call("/reset_prefix_cache", ""); status != 200 {
			t.Errorf("/reset_prefix_cache while busy: %d", status)
		}
		if b.server.Counters().ReusableBlocks == 0 {
			t.Error("the cache was reset under a running request")
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	})
}

func TestLeavingClientFreesBlocks(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		for name, body := range map[string]string{
			"while streaming": chatBody(92, 1000, ""),
			"while waiting":   strings.Replace(chatBody(92, 1000, ""), `"stream":true,`, ``, 1),
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			response, err := b.post(ctx, "/v1/chat/completions", body)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			if err == nil {
				t.Errorf("%s: the client was not cut off", name)
			}
			synctest.Wait()
			if c := b.server.Counters(); c.UsedBlocks != 0 || c.Running != 0 {
				t.Errorf("%s: %+v", name, c)
			}
			cancel()
		}
		for _, served := range b.served {
			if served.Done == nil || served.Done.Finish != FinishAbort || served.Done.OutputTokens == 0 {
				t.Errorf("served %+v", served.Done)
			}
		}
		if c := b.server.Counters(); c.Requests[FinishAbort] != 2 {
			t.Errorf("%+v", c)
		}
	})
}

// TestHoursPassInSeconds: an idle engine costs nothing, whatever the time.
func TestHoursPassInSeconds(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		for range 100 {
			time.Sleep(time.Hour)
			sent, events := b.stream(chatBody(92, 2, ""))
			if got := events[0].at.Sub(sent); got != 110*time.Millisecond && got != 14*time.Millisecond {
				t.Fatalf("first token after %v", got)
			}
		}
		if steps := b.server.Counters().Steps; steps != 200 {
			t.Errorf("%d steps, want 200", steps)
		}
	})
}

func TestKeepAliveEnds(t *testing.T) {
	for _, c := range []struct {
		keepAliveS float64
		reused     bool
	}{{5, false}, {0, true}} {
		cfg := quiet()
		cfg.KeepAliveS = c.keepAliveS
		inBubble(t, cfg, func(t *testing.T, b *bench) {
			b.stream(chatBody(1, 1, ""))
			time.Sleep(time.Hour)
			// The pool would hide a connection that the server closed.
			dialled := 0
			transport := b.client.Transport.(*http.Transport)
			dial := transport.DialContext
			transport.DialContext = func(ctx context.Context, network, address string) (c net.Conn, err error) {
				dialled++
				return dial(ctx, network, address)
			}
			b.stream(chatBody(1, 1, ""))
			if reused := dialled == 0; reused != c.reused {
				t.Errorf("keep-alive %v s: connection reused %v, want %v", c.keepAliveS, reused, c.reused)
			}
		})
	}
}

func TestCloseCutsOff(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		response, err := b.post(t.Context(), "/v1/chat/completions", chatBody(92, 10_000, ""))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { b.server.Close() })
		events, _, err := readEvents(response.Body)
		if err == nil || len(events) < 80 {
			t.Errorf("%d events, then %v", len(events), err)
		}
		response.Body.Close()
		if served := b.lastServed(1); served.Done.Finish != FinishAbort {
			t.Errorf("served %+v", served.Done)
		}
	})
}

// TestMillionTokens sends a prompt as long as the longest of the corpora.
func TestMillionTokens(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen = 1 << 20
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.stream(chatBody(900_000, 2, ""))
		if served := b.lastServed(1); served.Done.PromptTokens != 900_008 || served.Done.OutputTokens != 2 {
			t.Errorf("served %+v", served.Done)
		}
		// 16 tokens a block, the last one partly filled.
		if c := b.server.Counters(); c.PeakUsedBlocks != 56_251 {
			t.Errorf("%d blocks", c.PeakUsedBlocks)
		}
	})
}

// TestResetLeavesLowerTiers: vLLM's reset asks for them by name.
func TestResetLeavesLowerTiers(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen, cfg.Cache.GPUBlocks, cfg.Cache.HostGB = 160, 10, 1
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.stream(chatBody(120, 1, ""))
		b.stream(strings.Replace(chatBody(120, 1, ""), "w0", "other", 1)) // pushes the first to the host
		for _, c := range []struct {
			path     string
			hostKept bool
		}{{"/reset_prefix_cache", true}, {"/reset_prefix_cache?reset_external=true", false}} {
			b.call(c.path, "")
			counters := b.server.Counters()
			if counters.ReusableBlocks != 0 || counters.HostBlocks > 0 != c.hostKept {
				t.Errorf("after %s: %+v", c.path, counters)
			}
		}
	})
}
