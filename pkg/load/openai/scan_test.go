package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestScanSeesOutput(t *testing.T) {
	const textOnly, reasoningOnly, none = "text", "reasoning", ""
	for event, want := range map[string]string{
		`{"choices":[{"index":0,"delta":{"content":"x"}}]}`:                                            textOnly,
		`{"choices":[{"delta":{"role":"assistant","content":""}}]}`:                                    none,
		`{"choices":[{"delta":{"role":"assistant"}}]}`:                                                 none,
		`{"choices":[{"delta":{"content":null}}]}`:                                                     none,
		`{"choices":[{"delta":{"content":"\n"}}]}`:                                                     textOnly,
		`{"choices":[{"delta":{"content":"\ud83d"}}]}`:                                                 textOnly,
		`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`:                                           reasoningOnly,
		`{"choices":[{"delta":{"reasoning":"hm","content":null}}]}`:                                    reasoningOnly,
		`{"choices":[{"delta":{"reasoning":"","reasoning_content":null,"content":""}}]}`:               none,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`:            textOnly,
		`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ls","arguments":""}}]}}]}`:  textOnly,
		`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"","arguments":""}}]}}]}`:    none,
		`{"choices":[{"delta":{"tool_calls":[]}}]}`:                                                    none,
		`{"choices":[{"delta":{"function_call":{"name":"ls"}}}]}`:                                      textOnly,
		`{"choices":[{"text":" word"}]}`:                                                               textOnly,
		`{"choices":[{"text":""}]}`:                                                                    none,
		`{"choices":[{"message":{"content":"whole"}}]}`:                                                textOnly,
		"{ \"choices\" :\n[ { \"delta\"\t: { \"content\" : \"x\" } } ] }":                              textOnly,
		`{"choices":[{"delta":{"\u0063ontent":"x"}}]}`:                                                 textOnly,
		`{"choices":[{"delta":{"note":"\"content\":\"x\"","content":""}}]}`:                            none,
		`{"content":"x","delta":{"content":"x"},"choices":[{"logprobs":{"content":[{"token":"x"}]}}]}`: none,
		`{"choices":[{"delta":{"content":"x"}}],"choices":[]}`:                                         none,
		`{"choices":[{"delta":{"content":"x","content":""}}]}`:                                         none,
		`{"choices":[{"index":0},{"index":1,"delta":{"content":"x"}}]}`:                                none,
		`{"choices":[],"usage":{"completion_tokens":3}}`:                                               none,
		`{"choices":null}`: none,
		`{}`:               none,
	} {
		f, err := scan([]byte(event))
		if err != nil {
			t.Errorf("%s: %v", event, err)
			continue
		}
		got := none
		if f.text {
			got = textOnly
		} else if f.reasoning {
			got = reasoningOnly
		}
		if got != want {
			t.Errorf("%s: output %q, want %q", event, got, want)
		}
	}
}

func TestScanFindsUsageFinishAndErrors(t *testing.T) {
	for event, want := range map[string]struct{ usage, finish, failure string }{
		`{"usage":{"a":1},"choices":[{"finish_reason":"stop"}]}`: {`{"a":1}`, "stop", ""},
		`{"usage": { } ,"choices":[{"finish_reason":null}]}`:     {"", "", ""},
		`{"usage":null,"choices":[{"finish_reason":""}]}`:        {"", "", ""},
		`{"error":{"message":"no \"room\"}"},"choices":[]}`:      {"", "", `{"message":"no \"room\"}"}`},
		`{"error":"boom"}`: {"", "", `"boom"`},
		`{"error":null}`:   {},
		`{"error":{}}`:     {},
		`{"error":""}`:     {},
		`{"error":0.0e5}`:  {},
		`{"error":false}`:  {},
		`{"error":[ ]}`:    {},
		`{"error":1}`:      {"", "", "1"},
		`{"object":"error","message":"old vLLM","code":400}`:           {"", "", `{"object":"error","message":"old vLLM","code":400}`},
		`{"object":"chat.completion.chunk","choices":[],"error":null}`: {},
	} {
		f, err := scan([]byte(event))
		if err != nil {
			t.Errorf("%s: %v", event, err)
			continue
		}
		if string(f.usage) != want.usage || string(f.finish) != want.finish || string(f.failure) != want.failure {
			t.Errorf("%s: usage %s finish %s failure %s, want %+v", event, f.usage, f.finish, f.failure, want)
		}
	}
}

func TestScanRefusesWhatIsNoJSONObject(t *testing.T) {
	for _, event := range []string{
		``, `[]`, `"x"`, `null`, `12`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`,
		`{"a":1e}`, `{"a":tru}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}", `{"a":"x}`, `{"a":1}}`, `{"a":1} {"b":2}`, `{"a":[1,]}`,
		`{"a":[1}`, `{'a':1}`, `{"choices":[{"delta":{"content":"x"}}]`, `{"choices":[{"delta":{"content":"x}}]}`, `<html>`,
		`{"a":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`,
	} {
		if f, err := scan([]byte(event)); err == nil {
			t.Errorf("%.60q was accepted: %+v", event, f)
		}
	}
}

// oracle answers the same questions with a full decode into a tree of values.
func oracle(event []byte) (text, reasoning, usage, failure, finish, ok bool) {
	var tree any
	if json.Unmarshal(event, &tree) != nil {
		return
	}
	top, ok := tree.(map[string]any)
	if !ok {
		return
	}
	object := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	full := func(v any) bool { s, _ := v.(string); return s != "" }
	if list, _ := top["choices"].([]any); len(list) > 0 {
		choice := object(list[0])
		text, finish = full(choice["text"]), full(choice["finish_reason"])
		for _, name := range []string{"delta", "message"} {
			m := object(choice[name])
			calls, _ := m["tool_calls"].([]any)
			for _, call := range append([]any{map[string]any{"function": m["function_call"]}}, calls...) {
				function := object(object(call)["function"])
				text = text || full(function["name"]) || full(function["arguments"])
			}
			text = text || full(m["content"])
			reasoning = reasoning || full(m["reasoning"]) || full(m["reasoning_content"])
		}
	}
	usage = len(object(top["usage"])) > 0
	switch e := top["error"].(type) {
	case nil:
	case bool:
		failure = e
	case string:
		failure = e != ""
	case float64:
		failure = e != 0
	case []any:
		failure = len(e) > 0
	case map[string]any:
		failure = len(e) > 0
	}
	failure = failure || top["object"] == "error"
	return text, reasoning, usage, failure, finish, true
}

func FuzzScanAgreesWithDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"choices":[{"delta":{"reasoning_content":"a\\u00e9\ud83d"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1.5e3}}`,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"b\":1}"}}]}}]}`,
		`{"choices":[{"text":"\t"}],"error":{"message":"m","code":400}}`, `{"object":"error"}`,
		`{"choices":[{"\u0064elta":{"content":"a"},"delta":null}]}`, `{"error":-0.0E-1}`, `{"a":[[[{}]]],"choices":[1]}`,
		"{\"choices\":[{\"text\":\"\xff\"}]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		got, err := scan(event)
		if err == errDepth {
			return
		}
		text, reasoning, usage, failure, finish, ok := oracle(event)
		if isRange := ok != (err == nil) && err == nil && json.Valid(event); isRange {
			return // a number that no float64 holds: grammatical all the same
		}
		if ok != (err == nil) {
			t.Fatalf("%q: decode ok %v, scan says %v", event, ok, err)
		}
		if !ok {
			return
		}
		if got.text != text || got.reasoning != reasoning || (got.usage != nil) != usage || (got.failure != nil) != failure || (len(got.finish) > 0) != finish {
			t.Fatalf("%q:\nscan   text %v reasoning %v usage %v failure %v finish %v\ndecode text %v reasoning %v usage %v failure %v finish %v",
				event, got.text, got.reasoning, got.usage != nil, got.failure != nil, len(got.finish) > 0, text, reasoning, usage, failure, finish)
		}
	})
}
