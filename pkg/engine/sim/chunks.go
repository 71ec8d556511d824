package sim

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// chunks renders the JSON of one answer. What stays the same is rendered once,
// so that a token costs a few appends. A slice it returns is valid until the next
// call.
type chunks struct {
	chat   bool
	vocab  vocabulary
	answer uint64
	prompt int // tokens

	reasoning      int // the first tokens are reasoning
	reasoningField string
	isToolCall     bool
	hideUsage      bool // asked for or not
	everyUsage     bool // usage with every chunk

	head    []byte // {"id":…,"object":…,"created":…,"model":…
	written func() int64
	buf     []byte
}

func (e *exchange) newChunks() *chunks {
	f := &e.server.cfg.Faults
	c := &chunks{
		chat:           e.chat,
		vocab:          theVocabulary(),
		answer:         e.answer,
		reasoningField: f.ReasoningField,
		hideUsage:      e.struck("missing_usage_rate", f.MissingUsageRate),
	}
	c.everyUsage = e.body.includeUsage && e.body.continuousUsage && !c.hideUsage
	if e.chat {
		c.isToolCall = e.struck("tool_call_rate", f.ToolCallRate)
		if e.struck("reasoning_rate", f.ReasoningRate) {
			c.reasoning = min(f.ReasoningTokens, e.tokens)
		}
	}
	if e.server.cfg.StampWrites {
		origin := e.server.origin.UnixNano()
		c.written = func() int64 { return origin + int64(e.server.now()) }
	}
	object := "text_completion"
	if e.chat {
		object = "chat.completion"
		if e.body.stream {
			object = "chat.completion.chunk"
		}
	}
	c.head = append(c.head, `{"id":`...)
	c.head = appendQuoted(c.head, e.publicID())
	c.head = append(c.head, `,"object":"`+object+`","created":`...)
	c.head = strconv.AppendInt(c.head, time.Now().Unix(), 10)
	c.head = append(c.head, `,"model":`...)
	c.head = appendQuoted(c.head, e.server.cfg.Model)
	c.prompt = e.promptTokens
	return c
}

// tokens renders the event that brings the output from sent tokens to e.Output.
func (c *chunks) tokens(sent int, e Event) []byte {
	finish := ""
	if e.Done != nil {
		finish = c.finish(e.Done)
	}
	c.open()
	if c.chat {
		c.text(`,"choices":[{"index":0,"delta":{`)
		if sent == 0 {
			c.text(`"role":"assistant",`)
		}
		c.delta(sent, e.Output, e.Done != nil)
		c.text(`}`)
	} else {
		c.text(`,"choices":[{"index":0,"text":"`)
		c.words(sent, e.Output, 0)
		c.text(`"`)
	}
	c.closeChoice(finish)
	if c.everyUsage {
		c.usage(e.Output, e.Cached)
	}
	return c.close()
}

// delta renders the new text under the member it belongs to.
func (c *chunks) delta(from, to int, last bool) {
	if from < c.reasoning {
		c.text(`"` + c.reasoningField + `":"`)
		c.words(from, min(to, c.reasoning), 0)
		c.text(`"`)
		if to <= c.reasoning {
			return
		}
		c.text(`,`)
		from = c.reasoning
	}
	if !c.isToolCall {
		c.text(`"content":"`)
		c.words(from, to, c.reasoning)
		c.text(`"`)
		return
	}
	c.text(`"tool_calls":[{"index":0,`)
	if from == c.reasoning {
		c.text(`"id":"call_0","type":"function","function":{"name":"run","arguments":"{\"input\":\"`)
	} else {
		c.text(`"function":{"arguments":"`)
	}
	c.words(from, to, c.reasoning)
	if last {
		c.text(`\"}`)
	}
	c.text(`"}}]`)
}

// words renders tokens from up to to of a text that begins at token start. A
// separator stands before every word but the first. Words need no escaping.
func (c *chunks) words(from, to, start int) {
	for i := from; i < to; i++ {
		if i > start {
			c.buf = append(c.buf, ' ')
		}
		c.buf = append(c.buf, c.vocab.words[c.vocab.pick(c.answer, i)]...)
	}
}

// role renders a chunk with the role alone.
func (c *chunks) role() []byte {
	if !c.chat {
		return c.empty()
	}
	c.open()
	c.text(`,"choices":[{"index":0,"delta":{"role":"assistant","content":""}`)
	c.closeChoice("")
	return c.close()
}

// empty renders a chunk with no text.
func (c *chunks) empty() []byte {
	c.open()
	if c.chat {
		c.text(`,"choices":[{"index":0,"delta":{"content":""}`)
	} else {
		c.text(`,"choices":[{"index":0,"text":""`)
	}
	c.closeChoice("")
	return c.close()
}

// usageOnly renders the last chunk of a stream.
func (c *chunks) usageOnly(d *Done) []byte {
	c.open()
	c.text(`,"choices":[]`)
	c.usage(d.OutputTokens, d.Cached)
	return c.close()
}

// whole renders an answer that is not streamed.
func (c *chunks) whole(d *Done) []byte {
	c.open()
	if c.chat {
		c.text(`,"choices":[{"index":0,"message":{"role":"assistant",`)
		c.delta(0, d.OutputTokens, true)
		c.text(`}`)
	} else {
		c.text(`,"choices":[{"index":0,"text":"`)
		c.words(0, d.OutputTokens, 0)
		c.text(`"`)
	}
	c.closeChoice(c.finish(d))
	if !c.hideUsage {
		c.usage(d.OutputTokens, d.Cached)
	}
	return c.close()
}

func (c *chunks) finish(d *Done) string {
	if c.isToolCall && d.OutputTokens > c.reasoning {
		return "tool_calls"
	}
	return string(d.Finish)
}

func (c *chunks) open() {
	c.buf = append(c.buf[:0], c.head...)
	if c.written != nil {
		c.text(`,"sim_written_ns":`)
		c.number(c.written())
	}
}

func (c *chunks) closeChoice(finish string) {
	if finish == "" {
		c.text(`,"logprobs":null,"finish_reason":null}]`)
		return
	}
	c.text(`,"logprobs":null,"finish_reason":"` + finish + `"}]`)
}

func (c *chunks) usage(output int, cached Cached) {
	c.text(`,"usage":{"prompt_tokens":`)
	c.number(int64(c.prompt))
	c.text(`,"completion_tokens":`)
	c.number(int64(output))
	c.text(`,"total_tokens":`)
	c.number(int64(c.prompt + output))
	c.text(`,"prompt_tokens_details":{"cached_tokens":`)
	c.number(int64(cached.Total()))
	c.text(`}`)
	if c.reasoning > 0 {
		c.text(`,"completion_tokens_details":{"reasoning_tokens":`)
		c.number(int64(min(output, c.reasoning)))
		c.text(`}`)
	}
	c.text(`}`)
}

func (c *chunks) close() []byte {
	c.text(`}`)
	return c.buf
}

func (c *chunks) text(s string) { c.buf = append(c.buf, s...) }

func (c *chunks) number(n int64) { c.buf = strconv.AppendInt(c.buf, n, 10) }

// appendQuoted appends any string as JSON; bytes that are no UTF-8 are replaced.
func appendQuoted(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic(err) // only invalid UTF-8 can fail
	}
	return b
}
