package sim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

func mustRead(t *testing.T, text string) *body {
	t.Helper()
	b, err := readBody(strings.NewReader(text), 16)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return b
}

func TestBodyMembers(t *testing.T) {
	b := mustRead(t, `{"temperature":0.5,"tools":[{"a":{"b":[1,2]}}],"stream":true,"max_tokens":7,
		"stream_options":{"include_usage":true,"continuous_usage_stats":true,"other":1},
		"messages":[{"role":"user","content":"one two"}],"ignore_eos":true,"model":"m"}`)
	if b.model != "m" || !b.stream || !b.includeUsage || !b.continuousUsage || !b.ignoreEOS || b.maxTokens != 7 || b.messages != 1 {
		t.Errorf("%+v", b)
	}
	if got, want := b.prompt.Len(), 2+TokensPerMessage+TokensPerGenerationPrompt; got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
	b = mustRead(t, `{"prompt":"one two","max_tokens":7,"max_completion_tokens":9,"stream":null,"stream_options":{}}`)
	if b.maxTokens != 9 || b.stream || b.prompt.Len() != 2 {
		t.Errorf("%+v", b)
	}
}

// TestSameTextSamePrompt: however JSON spells a conversation, the prompt is the
// same, and each change that a model would see changes it.
func TestSameTextSamePrompt(t *testing.T) {
	chain := func(messages string) uint64 {
		return mustRead(t, `{"messages":`+messages+`}`).prompt.chain
	}
	want := chain(`[{"role":"user","content":"a \"b\" c"},{"role":"assistant","content":"d"}]`)
	for _, same := range []string{
		`[{"content":"a \"b\" c","role":"user"},{"role":"assistant","content":"d"}]`,
		`[{"role":"user","content":"a \u0022b\u0022  c"},{"role":"assistant","content":"\td\n"}]`,
		`[{"role":"user","content":[{"type":"text","text":"a \"b\""},{"type":"text","text":"c"}]},{"content":[{"text":"d"}],"role":"assistant"}]`,
		`[{"role":"user","name":"x","content":"a \"b\" c"},{"role":"assistant","content":"d","tool_calls":[]}]`,
	} {
		if chain(same) != want {
			t.Errorf("another prompt from %s", same)
		}
	}
	for _, other := range []string{
		`[{"role":"system","content":"a \"b\" c"},{"role":"assistant","content":"d"}]`,
		`[{"role":"user","content":"a b c"},{"role":"assistant","content":"d"}]`,
		`[{"role":"user","content":"a \"b\""},{"role":"assistant","content":"c d"}]`,
		`[{"role":"user","content":"a \"b\" c"},{"role":"assistant","content":null}]`,
		`[{"role":"user","content":"a \"b\" c d"}]`,
	} {
		if chain(other) == want {
			t.Errorf("the same prompt from %s", other)
		}
	}
}

func TestBodyRefuses(t *testing.T) {
	for _, text := range []string{
		``, ` `, `[]`, `"x"`, `{`, `{"model":"m"`, `{"model":"m"} x`, `{"model":"m"}{}`, `{"model":1}`,
		`{"messages":{}}`, `{"messages":["x"]}`, `{"messages":[{"content":"x"}]}`, `{"messages":[{"role":"user","content":5}]}`,
		`{"messages":[{"role":"user","content":[{"text":5}]}]}`, `{"messages":[{"role":"user","content":["x"]}]}`,
		`{"messages":[{"role":"user","content":"x"}`, `{"messages":[{"role":"user","content":"x`,
		`{"messages":[{"role":"","content":"x"}]}`,
		`{"prompt":["a","b"]}`, `{"prompt":{}}`, `{"prompt":"a","messages":[]}`,
		`{"stream":1}`, `{"stream":"true"}`, `{"max_tokens":0}`, `{"max_tokens":-1}`, `{"max_tokens":1.5}`, `{"max_tokens":1e3}`,
		`{"max_tokens":99999999999}`, `{"max_tokens":"5"}`, `{"n":2}`, `{"stream_options":true}`,
		`{"model":"m","model":"m"}`, "{\"model\":\"\xff\"}", "{\"model\":\"a\nb\"}",
		`{"x":` + strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000) + `}`,
	} {
		if b, err := readBody(strings.NewReader(text), 16); err == nil {
			t.Errorf("accepted %.80s as %+v", text, b)
		}
	}
}

func TestPromptOfTokenIDs(t *testing.T) {
	a, b := mustRead(t, `{"prompt":[1,22,333]}`).prompt, mustRead(t, `{"prompt":[1,22,334]}`).prompt
	if a.Len() != 3 || b.Len() != 3 || a.chain == b.chain {
		t.Errorf("%+v %+v", a, b)
	}
	if n := mustRead(t, `{"prompt":["one two"]}`).prompt.Len(); n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}
}

// FuzzBody: nothing crashes, and a body that encoding/json would also take gives
// the tokens of its text.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"a b"}],"max_tokens":5}`))
	f.Add([]byte(`{"messages":[{"content":[{"text":"a\n\u0062"}],"role":"user"}]}`))
	f.Add([]byte(`{"prompt":[1,2],"stream":true}`))
	f.Add([]byte(`{"prompt":"\ud83d\ude00 x"}`))
	f.Add([]byte(`{"messages":[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := readBody(bytes.NewReader(data), 4)
		if err != nil {
			return
		}
		var plain struct {
			Messages []struct {
				Role    string `json:"role"`
				Content any    `json:"content"`
			} `json:"messages"`
			Prompt any `json:"prompt"`
		}
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatalf("accepted what is no body: %v", err)
		}
		want := 0
		for _, m := range plain.Messages {
			want += TokensPerMessage
			if text, ok := m.Content.(string); ok {
				want += words.Count(text)
			} else if m.Content != nil {
				return
			}
		}
		if b.messages != len(plain.Messages) {
			t.Fatalf("%d messages, want %d", b.messages, len(plain.Messages))
		}
		if text, ok := plain.Prompt.(string); ok {
			want += words.Count(text)
		} else if plain.Prompt != nil {
			return
		} else if plain.Messages == nil {
			return
		} else if !b.noGenerationPrompt {
			want += TokensPerGenerationPrompt
		}
		if b.prompt.Len() != want {
			t.Fatalf("%d tokens, want %d", b.prompt.Len(), want)
		}
	})
}

// realisticBody is a conversation of about that many bytes, in messages of about
// 4,000 words.
func realisticBody(size int) []byte {
	text := words.New(1)
	var b bytes.Buffer
	b.WriteString(`{"model":"sim","stream":true,"ignore_eos":true,"max_completion_tokens":500,"stream_options":{"include_usage":true},"messages":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		fmt.Fprintf(&b, `{"role":"%s","content":"`, role)
		b.Write(bytes.TrimSpace(text.Slice(i*4000%(words.Size-4000), 4000)))
		b.WriteString(`"}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func BenchmarkBody(b *testing.B) {
	for _, size := range []int{300_000, 3_000_000} {
		b.Run(fmt.Sprintf("%dkB", size/1000), func(b *testing.B) {
			data := realisticBody(size)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readBody(bytes.NewReader(data), 16); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
