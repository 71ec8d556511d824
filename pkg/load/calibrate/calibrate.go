// Package calibrate measures, with a handful of tiny requests before a run, what
// an engine's chat template adds to a prompt and whether a word of ours is one
// token to it (DESIGN.md §3, decisions.md 11, 12, 14).
//
// In go a client and a model; out come the template's [prompt.Overhead] and the
// drift that remains. It is also the proof that the engine really answers: a
// first probe that fails is an error that names the engine's words. An engine
// that reports no usage cannot be measured, which is no error.
package calibrate

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// Client sends one request.
type Client interface {
	Do(ctx context.Context, call openai.Call) record.Seen
}

// Result is what the probes found. Known is false when the engine reports no
// usage; the other figures are then without meaning.
type Result struct {
	Known        bool
	Overhead     prompt.Overhead
	MarkerTokens int
	DriftTokens  int   // of the long probe: counted minus expected
	PromptTokens int64 // that all probes together cost the engine
	Refused      []string
}

// probe is a message array and what it is for.
type probe struct {
	roles []prompt.Role
	words int
}

const (
	shortWords = 8
	longWords  = 512
)

// Measure probes the engine. marker is a marker as the run will use it.
func Measure(ctx context.Context, c Client, model string, maker *prompt.Maker, marker prompt.Marker) (Result, error) {
	m := &measurement{client: c, model: model, text: words.New(maker.Seed + 1)}
	u, a, s := prompt.RoleUser, prompt.RoleAssistant, prompt.RoleSystem

	one, known, err := m.first(ctx, probe{[]prompt.Role{u}, shortWords})
	if err != nil {
		return m.result, fmt.Errorf("the engine does not answer a first request: %w", err)
	}
	if !known {
		return m.result, nil
	}
	m.result.Known = true
	o := &m.result.Overhead
	two, ok := m.try(ctx, probe{[]prompt.Role{u, u}, shortWords}, "two user messages in a row")
	if ok {
		o.User = two - one
	} else if turns, ok := m.try(ctx, probe{[]prompt.Role{u, a, u}, shortWords}, "an assistant message"); ok {
		o.User = (turns - one) / 2
	}
	o.Prompt = one - o.User
	if turns, ok := m.try(ctx, probe{[]prompt.Role{u, a, u}, shortWords}, "an assistant message"); ok {
		o.Assistant = turns - o.Prompt - 2*o.User
	}
	if with, ok := m.try(ctx, probe{[]prompt.Role{s, u}, shortWords}, "a system message"); ok {
		o.System = with - one
	}
	if long, ok := m.try(ctx, probe{[]prompt.Role{u}, longWords}, "a long message"); ok {
		m.result.DriftTokens = long - one
	}
	if text := marker.Text(); len(text) > 0 {
		if with, known, err := m.count(ctx, probe{[]prompt.Role{u}, shortWords}, text); err == nil && known {
			m.result.MarkerTokens = with - one
		}
	}
	return m.result, nil
}

// Single measures what the engine counts beyond the words of one prompt, for the
// fixed-length load: sent as the messages of a chat or, with chat false, as the
// prompt of a completion. Overhead.Prompt holds all of it.
func Single(ctx context.Context, c Client, model string, seed uint64, chat bool) (Result, error) {
	m := &measurement{client: c, model: model, text: words.New(seed + 1)}
	size := func(n int) (int, bool, error) {
		m.sent++
		text := m.text.Slice(m.sent*longWords, n)[1:]
		if chat {
			return m.ask(ctx, fmt.Appendf(nil, `[{"role":"user","content":"%s"}]`, text), "messages", n)
		}
		return m.ask(ctx, fmt.Appendf(nil, `"%s"`, text), "prompt", n)
	}
	short, known, err := size(shortWords)
	if err != nil {
		return m.result, fmt.Errorf("the engine does not answer a first request: %w", err)
	}
	if !known {
		return m.result, nil
	}
	m.result.Known = true
	m.result.Overhead.Prompt = short
	if long, known, err := size(longWords); err == nil && known {
		m.result.DriftTokens = long - short
	}
	return m.result, nil
}

type measurement struct {
	client Client
	model  string
	text   *words.Text
	sent   int
	status int // of the last answer
	result Result
}

// firstTries is how often the first probe is sent while the engine answers with
// an error of its own: one failure in many is the run's to count, not to die of.
const firstTries = 3

func (m *measurement) first(ctx context.Context, p probe) (overhead int, known bool, err error) {
	for range firstTries {
		if overhead, known, err = m.count(ctx, p, nil); err == nil || m.status < 500 || ctx.Err() != nil {
			break
		}
	}
	return overhead, known, err
}

// try sends a probe that an engine's template may refuse.
func (m *measurement) try(ctx context.Context, p probe, what string) (overhead int, ok bool) {
	n, known, err := m.count(ctx, p, nil)
	if err != nil {
		m.result.Refused = append(m.result.Refused, fmt.Sprintf("%s: %v", what, err))
		return 0, false
	}
	return n, known
}

// count returns the prompt tokens that the engine counts beyond the probe's words.
func (m *measurement) count(ctx context.Context, p probe, marker []byte) (overhead int, known bool, err error) {
	var body bytes.Buffer
	body.WriteByte('[')
	for i, role := range p.roles {
		if i > 0 {
			body.WriteByte(',')
		}
		m.sent++
		fmt.Fprintf(&body, `{"role":%q,"content":"`, role)
		if i == 0 {
			body.Write(marker) // ends with what parts it from the first word
		}
		body.Write(m.text.Slice(m.sent*longWords, p.words)[1:]) // a message begins with a word, not with its separator
		body.WriteString(`"}`)
	}
	body.WriteByte(']')
	return m.ask(ctx, body.Bytes(), "messages", len(p.roles)*p.words)
}

// ask sends a body with that many words and returns what is counted beyond them.
func (m *measurement) ask(ctx context.Context, body []byte, field string, words int) (overhead int, known bool, err error) {
	seen := m.client.Do(ctx, openai.Call{
		Content: content{bytes.NewReader(body), int64(len(body))}, Field: field, Model: m.model, MaxTokens: 1,
		RequestID: uuid.NewString(), CorrelationID: uuid.NewString(),
	})
	m.status = seen.Status
	switch {
	case seen.Outcome != record.OK && seen.Error != nil:
		return 0, false, fmt.Errorf("%s (%s)", seen.Error.Message, seen.Error.Type)
	case seen.Outcome != record.OK:
		return 0, false, fmt.Errorf("outcome %s", seen.Outcome)
	case seen.Usage == nil || seen.Usage.PromptTokens == nil:
		return 0, false, nil
	}
	m.result.PromptTokens += *seen.Usage.PromptTokens
	return int(*seen.Usage.PromptTokens) - words, true, nil
}

type content struct {
	*bytes.Reader
	length int64
}

func (c content) Len() int64 { return c.length }
