package openai

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/result/record"
)

// lenient is how the engine's JSON is read: names may repeat (the last wins)
// and text may hold broken UTF-8, which becomes U+FFFD.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

type members map[string]jsontext.Value

// decodeMembers returns the members of an object, nil for anything else.
func decodeMembers(raw []byte) members {
	if len(raw) == 0 || jsontext.Value(raw).Kind() != '{' {
		return nil
	}
	var m members
	if json.Unmarshal(raw, &m, lenient) != nil {
		return nil
	}
	return m
}

func (m members) text(name string) string {
	var text string
	if raw, ok := m[name]; !ok || json.Unmarshal(raw, &text, lenient) != nil {
		return ""
	}
	return text
}

// count returns a member that is a whole number of things, nil for anything
// else. Some engines write it as 12.0.
func (m members) count(names ...string) *int64 {
	for _, name := range names {
		n, err := strconv.ParseFloat(string(m[name]), 64)
		if err == nil && n >= 0 && n == math.Trunc(n) && n < 1<<53 {
			whole := int64(n)
			return &whole
		}
	}
	return nil
}

// decodeUsage reads the usage object of spec/replay.md §7.5, nil if it says
// nothing. first is that of the first chunk with output, if it had one.
func decodeUsage(last, first []byte) *record.Usage {
	m := decodeMembers(last)
	prompt := decodeMembers(m["prompt_tokens_details"])
	completion := decodeMembers(m["completion_tokens_details"])
	u := record.Usage{
		PromptTokens:     m.count("prompt_tokens"),
		CompletionTokens: m.count("completion_tokens"),
		TotalTokens:      m.count("total_tokens"),
		CachedTokens:     prompt.count("cached_tokens"),
		ReasoningTokens:  completion.count("reasoning_tokens"),
		FirstChunkTokens: decodeMembers(first).count("completion_tokens"),
	}
	if u.CachedTokens == nil {
		u.CachedTokens = m.count("cache_read_input_tokens", "cached_tokens", "prompt_cache_hit_tokens")
	}
	if u.ReasoningTokens == nil {
		u.ReasoningTokens = m.count("reasoning_tokens")
	}
	if u == (record.Usage{}) {
		return nil
	}
	return &u
}

func usageNote(usage []byte) string {
	if n := decodeMembers(usage).count("completion_tokens"); n != nil {
		return fmt.Sprintf(" (usage counts %d output tokens)", *n)
	}
	return ""
}

// finishReason decodes what stands between the quotes of a finish_reason.
func finishReason(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, `"`+string(raw)+`"`)
	return cut(readable(string(text)), 64)
}

// engineFailure is an error that came inside an answer with a good status:
// code 502 unless the engine gives one of its own (spec/replay.md §9.4).
func engineFailure(raw []byte) *failure {
	f := &failure{code: 502, class: classStreamError, engine: true}
	f.message, f.text = errorMessage(raw), string(raw)
	if f.message == "" {
		f.message = "an error event without a message"
	}
	m := decodeMembers(raw)
	if inner := decodeMembers(m["error"]); inner != nil {
		m = inner
	}
	for _, name := range []string{"code", "status", "status_code"} {
		code, err := strconv.Atoi(strings.Trim(string(m[name]), `"`))
		if err == nil && code >= 400 && code <= 599 {
			f.code = code
			break
		}
	}
	return f
}

// errorMessage finds the engine's words in the body of a failed answer or in
// an error object: error.message, error, message or detail; else the body itself.
func errorMessage(body []byte) string {
	m := decodeMembers(body)
	if inner := decodeMembers(m["error"]); inner.text("message") != "" {
		return inner.text("message")
	}
	for _, name := range []string{"message", "error", "detail"} {
		if text := m.text(name); text != "" {
			return text
		}
		if raw, ok := m[name]; ok && len(raw) > 4 { // longer than null, {} and []
			return string(raw)
		}
	}
	if text := (members{"": body}).text(""); text != "" {
		return text
	}
	return string(body)
}

// excerpt is the start of what came instead of what was expected.
func excerpt(raw []byte) string {
	const most = 200
	if len(raw) > most {
		return strconv.Quote(readable(string(raw[:most]))) + "…"
	}
	return strconv.Quote(readable(string(raw)))
}

// readable makes text safe to store and to print: valid UTF-8, no control
// characters.
func readable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// cut shortens text to at most n bytes, between characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + mark
}
