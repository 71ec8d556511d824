package sim

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestInfo: routers and clients learn model and version as from vLLM and SGLang.
func TestInfo(t *testing.T) {
	cfg := quiet()
	cfg.Model, cfg.Version, cfg.APIKey = "a/b", "1.2.3", "secret" // these pages ask for no key
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		for _, c := range []struct{ path, key, want string }{
			{"/version", "version", "1.2.3"},
			{"/server_info", "version", "1.2.3"},
			{"/server_info", "served_model_name", "a/b"},
			{"/get_server_info", "model_path", "a/b"},
			{"/model_info", "model_path", "a/b"},
			{"/get_model_info", "tokenizer_path", "a/b"},
		} {
			status, text := b.get(c.path)
			var page map[string]any
			if err := json.Unmarshal([]byte(text), &page); err != nil || status != 200 || page[c.key] != c.want {
				t.Errorf("%s: %d, %v: %s", c.path, status, err, text)
			}
		}
	})
}

// TestCutAnswer: what is left of the context is generated where a prompt fits and
// its answer doesn't; a prompt that doesn't fit is refused all the same.
func TestCutAnswer(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen, cfg.ContextOverflow = 100, Cut
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		status, text := b.call("/v1/completions", `{"max_tokens":20,"prompt":`+quoted(textOf(88, "w"))+`}`)
		if c := parseChunk(t, text); status != 200 || c.Usage.PromptTokens != 88 || c.Usage.CompletionTokens != 12 || *c.Choices[0].FinishReason != "length" {
			t.Errorf("%d %s", status, text)
		}
		for _, words := range []int{92, 93} { // none is left, and less than none
			if status, text := b.call("/v1/chat/completions", chatBody(words, 1, "")); status != 400 || !strings.Contains(text, "maximum context length is 100") {
				t.Errorf("%d words: %d %s", words, status, text)
			}
		}
	})
}
