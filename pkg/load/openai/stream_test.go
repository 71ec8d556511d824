package openai

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

const (
	eventA = `{"choices":[{"delta":{"content":"a"}}]}`
	eventB = `{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}`
	roleEv = `{"choices":[{"delta":{"role":"assistant","content":""}}]}`
	usage7 = `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":4}}}`
)

// outcome is what a stream says apart from its times.
type outcome struct {
	Chunks, Events int
	Finish         string
	Usage          *record.Usage
	Class, Message string
}

func readSplit(text []byte, cuts ...int) outcome {
	s := newStream()
	at := record.Stamp(100)
	var err error
	start := 0
	for _, end := range append(cuts, len(text)) {
		// A copy that is overwritten afterwards shows bytes kept by mistake.
		part := bytes.Clone(text[start:end])
		if err = s.read(part, at); err != nil {
			break
		}
		for i := range part {
			part[i] = '#'
		}
		start, at = end, at+1
	}
	if err == nil {
		err = s.finishStream()
	}
	var seen record.Seen
	s.report(&seen)
	o := outcome{Chunks: seen.Chunks, Events: seen.Events, Finish: seen.Finish, Usage: seen.Usage}
	if f := (*failure)(nil); errors.As(err, &f) {
		o.Class, o.Message = f.class, f.message
	}
	return o
}

func sse(events ...string) string {
	var b strings.Builder
	for _, event := range events {
		fmt.Fprintf(&b, "data: %s\n\n", event)
	}
	return b.String()
}

func TestStreamForms(t *testing.T) {
	good := outcome{Chunks: 2, Events: 5, Finish: "stop"}
	text := sse(roleEv, eventA, eventB, usage7, "[DONE]")
	for name, form := range map[string]string{
		"LF":                     text,
		"CRLF":                   strings.ReplaceAll(text, "\n", "\r\n"),
		"CR":                     strings.ReplaceAll(text, "\n", "\r"),
		"mixed line ends":        strings.Replace(strings.Replace(text, "\n", "\r\n", 3), "}\n\n", "}\r\r", 1),
		"byte order mark":        "\uFEFF" + text,
		"no space after colon":   strings.ReplaceAll(text, "data: ", "data:"),
		"comments":               ": ping\n\n" + strings.ReplaceAll(text, "data:", ": keep-alive\ndata:"),
		"id, retry, event":       strings.ReplaceAll(text, "data:", "event: message\nid: 7\nretry: 10\nunknown: x\nunknown\ndata:"),
		"data on several lines":  strings.ReplaceAll(text, `{"choices":`, "{\"choices\":\ndata: "),
		"empty data events":      "data:\n\ndata\n\n" + text,
		"no blank line at end":   strings.TrimSuffix(text, "\n"),
		"no line end at the end": strings.TrimSuffix(text, "\n\n"),
		"many blank lines":       strings.ReplaceAll(text, "\n\n", "\n\n\n\n"),
	} {
		got := readSplit([]byte(form))
		if got.Usage == nil || *got.Usage.CompletionTokens != 7 || *got.Usage.CachedTokens != 4 || *got.Usage.PromptTokens != 9 || *got.Usage.TotalTokens != 16 {
			t.Errorf("%s: usage %+v", name, got.Usage)
		}
		got.Usage = nil
		if diff := cmp.Diff(good, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStreamJudgement(t *testing.T) {
	for name, c := range map[string]struct{ text, class, message string }{
		"finish_reason without [DONE]": {sse(eventA, eventB), "", ""},
		"[DONE] without finish_reason": {sse(eventA, "[DONE]"), "", ""},
		"cut between events":           {sse(roleEv, eventA), classTruncated, "after 1 chunks"},
		"cut inside an event":          {sse(eventA) + "data: " + eventB[:20], classTruncated, "inside an event"},
		"no content":                   {sse(roleEv, usage7, "[DONE]"), classNoContent, "usage counts 7"},
		"only [DONE]":                  {sse("[DONE]"), classNoContent, ""},
		"garbage":                      {sse("<html>"), classBadStream, "<html>"},
		"garbage after good":           {sse(eventA, "{]", "[DONE]"), classBadStream, "event 2"},
		"output after [DONE]":          {sse(eventA, "[DONE]", eventA), classBadStream, "after [DONE]"},
		"usage after [DONE]":           {sse(eventA, "[DONE]", usage7), "", ""},
		"error member":                 {sse(eventA, `{"error":{"message":"out of blocks"}}`), classStreamError, "out of blocks"},
		"error event":                  {sse(eventA) + "event: error\ndata: engine died\n\n", classStreamError, "engine died"},
		"error event of JSON":          {sse(eventA) + "event: error\ndata: {\"message\":\"engine died\"}\n\n", classStreamError, "engine died"},
		"error event without data":     {sse(eventA) + "event: error\n\n" + sse("[DONE]"), classStreamError, "without a message"},
		"error after finish":           {sse(eventA, eventB, `{"error":"late"}`), classStreamError, "late"},
	} {
		got := readSplit([]byte(c.text))
		if got.Class != c.class || !strings.Contains(got.Message, c.message) {
			t.Errorf("%s: %s %q, want %s %q", name, got.Class, got.Message, c.class, c.message)
		}
	}
}

func TestStreamErrorCode(t *testing.T) {
	for raw, want := range map[string]int{
		`{"message":"m"}`:                                  502,
		`{"message":"m","code":429}`:                       429,
		`{"message":"m","code":"500"}`:                     500,
		`{"message":"m","code":200}`:                       502,
		`{"message":"m","code":"context_length_exceeded"}`: 502,
		`{"error":{"message":"m","code":400}}`:             400,
		`{"object":"error","message":"m","code":404}`:      404,
		`"m"`: 502,
	} {
		f := engineFailure([]byte(raw))
		if f.code != want || f.message != "m" {
			t.Errorf("%s: code %d message %q, want %d", raw, f.code, f.message, want)
		}
	}
}

func TestStreamTimesAreThoseOfTheReads(t *testing.T) {
	s := newStream()
	for _, read := range []struct {
		at   record.Stamp
		text string
	}{
		{10, sse(roleEv)},
		{20, `data: {"choices":[{"delta":{"reasoning_content":"h`},
		{30, "m\"}}]}\n"},
		{40, "\n" + sse(eventA) + sse(eventA)}, // completes the reasoning, then two more
		{70, sse(eventB, usage7, "[DONE]")},
	} {
		if err := s.read([]byte(read.text), read.at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.finishStream(); err != nil {
		t.Fatal(err)
	}
	var seen record.Seen
	s.report(&seen)
	if seen.FirstToken != 40 || seen.FirstOutput != 40 || seen.SecondToken != 40 || seen.LastToken != 70 {
		t.Errorf("first %d output %d second %d last %d", seen.FirstToken, seen.FirstOutput, seen.SecondToken, seen.LastToken)
	}
	if diff := cmp.Diff([]int64{0, 0, 30}, seen.ChunkGapsNs); diff != "" {
		t.Error(diff)
	}
}

func TestReasoningIsTheFirstTokenButNoOutput(t *testing.T) {
	s := newStream()
	_ = s.read([]byte(sse(`{"choices":[{"delta":{"reasoning":"h"}}],"usage":{"completion_tokens":2}}`)), 10)
	_ = s.read([]byte(sse(`{"choices":[{"delta":{"content":"h"}}],"usage":{"completion_tokens":5}}`)), 20)
	var seen record.Seen
	s.report(&seen)
	if seen.FirstToken != 10 || seen.FirstOutput != 20 {
		t.Errorf("first token %d, first output %d", seen.FirstToken, seen.FirstOutput)
	}
	if *seen.Usage.FirstChunkTokens != 2 || *seen.Usage.CompletionTokens != 5 {
		t.Errorf("usage of the first chunk %d, of the last %d", *seen.Usage.FirstChunkTokens, *seen.Usage.CompletionTokens)
	}
}

func TestLastUsageThatIsNotEmptyWins(t *testing.T) {
	got := readSplit([]byte(sse(eventA, usage7, `{"usage":{}}`, `{"usage":null}`, "[DONE]")))
	if got.Usage == nil || *got.Usage.CompletionTokens != 7 || got.Usage.FirstChunkTokens != nil {
		t.Errorf("usage %+v", got.Usage)
	}
}

func TestUsageSpellings(t *testing.T) {
	for raw, want := range map[string]string{
		`{"prompt_tokens":3,"cache_read_input_tokens":2}`:                                                     "3 - 2 -",
		`{"prompt_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":1}}`: "3 - - 1",
		`{"completion_tokens":12.0,"reasoning_tokens":4}`:                                                     "- 12 - 4",
		`{"prompt_tokens":-3,"completion_tokens":"7","total_tokens":1.5}`:                                     "nothing",
		`{"prompt_tokens_details":{"cached_tokens":0}}`:                                                       "- - 0 -",
		`{"prompt_tokens":1e300}`:                                                                             "nothing",
	} {
		got := "nothing"
		if u := decodeUsage([]byte(raw), nil); u != nil {
			show := func(n *int64) string {
				if n == nil {
					return "-"
				}
				return fmt.Sprint(*n)
			}
			got = strings.Join([]string{show(u.PromptTokens), show(u.CompletionTokens), show(u.CachedTokens), show(u.ReasoningTokens)}, " ")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestLongLinesAreReadUpToTheCap(t *testing.T) {
	long := func(n int) []byte {
		return []byte(sse(`{"choices":[{"delta":{"content":"`+strings.Repeat("x", n)+`"}}]}`, "[DONE]"))
	}
	inReads := func(text []byte) outcome {
		var cuts []int
		for at := receiveBuffer; at < len(text); at += receiveBuffer {
			cuts = append(cuts, at)
		}
		return readSplit(text, cuts...)
	}
	if got := inReads(long(MaxEventBytes - 100)); got.Class != "" || got.Chunks != 1 {
		t.Errorf("below the cap: %+v", got)
	}
	if got := inReads(long(MaxEventBytes)); got.Class != classTooLong || !strings.Contains(got.Message, "16 MiB") {
		t.Errorf("above the cap: %+v", got)
	}
	many := bytes.Repeat([]byte("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"), MaxEventBytes/50)
	if got := inReads(many); got.Class != classTooLong {
		t.Errorf("one event of many lines above the cap: %+v", got)
	}
}

func TestBuffersOfALargeEventAreGivenBack(t *testing.T) {
	s := newStream()
	text := []byte(sse(`{"choices":[{"delta":{"content":"` + strings.Repeat("x", 1<<20) + `"}}]}`))
	for part := range bytes.Lines(text) {
		for len(part) > 0 {
			n := min(1000, len(part))
			if err := s.read(part[:n], 1); err != nil {
				t.Fatal(err)
			}
			part = part[n:]
		}
	}
	for range 3 {
		if err := s.read([]byte(sse(eventA)[:20]), 1); err != nil {
			t.Fatal(err)
		}
		if err := s.read([]byte(sse(eventA)[20:]), 1); err != nil {
			t.Fatal(err)
		}
	}
	if s.chunks != 4 || cap(s.line) > keepBytes || cap(s.data) > keepBytes {
		t.Errorf("%d chunks; still holds %d and %d bytes", s.chunks, cap(s.line), cap(s.data))
	}
}

func FuzzAnySplitGivesTheSame(f *testing.F) {
	for _, seed := range []string{
		sse(roleEv, eventA, eventB, usage7, "[DONE]"),
		strings.ReplaceAll(sse(eventA, usage7, "[DONE]"), "\n", "\r\n"),
		strings.ReplaceAll(sse(eventA, eventB), "\n", "\r") + "\n",
		"\uFEFFdata: {\"choices\":\r\ndata: []}\n\r\n: c\nevent: error\ndata: x",
		"data:\n\ndata\n\nevent: error\n\nid: 1\r\rdata: [DONE]", sse(eventA) + "data: {\"err",
	} {
		f.Add([]byte(seed), uint16(3), uint16(17))
	}
	f.Fuzz(func(t *testing.T, text []byte, a, b uint16) {
		whole := readSplit(text)
		first, second := int(a)%(len(text)+1), int(b)%(len(text)+1)
		if diff := cmp.Diff(whole, readSplit(text, min(first, second), max(first, second))); diff != "" {
			t.Fatalf("%q cut at %d and %d (-whole +cut):\n%s", text, first, second, diff)
		}
		var every []int
		for i := range min(len(text), 4096) {
			every = append(every, i)
		}
		if diff := cmp.Diff(whole, readSplit(text, every...)); diff != "" {
			t.Fatalf("%q cut everywhere (-whole +cut):\n%s", text, diff)
		}
	})
}
