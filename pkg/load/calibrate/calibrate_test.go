package calibrate

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
)

// engine counts as byte-level tokenizers do: a word with one space before it is
// one token, every further space and every line feed is one of its own.
type engine struct {
	perPrompt, perMessage int
	refuse                func(roles string) bool
	silent                bool
	sent                  []string // texts, one a message
}

func (e *engine) Do(_ context.Context, call openai.Call) record.Seen {
	body, err := io.ReadAll(call.Content)
	if err != nil {
		return failed(err.Error())
	}
	var messages []struct{ Role, Content string }
	if err := json.Unmarshal(body, &messages); err != nil {
		return failed(err.Error())
	}
	tokens, roles := int64(e.perPrompt), ""
	for _, m := range messages {
		tokens += int64(e.perMessage) + count(m.Content)
		roles += m.Role[:1]
		e.sent = append(e.sent, m.Content)
	}
	if e.refuse != nil && e.refuse(roles) {
		return failed("roles must alternate")
	}
	if e.silent {
		return record.Seen{Outcome: record.OK, Status: 200}
	}
	return record.Seen{Outcome: record.OK, Status: 200, Usage: &record.Usage{PromptTokens: &tokens}}
}

func failed(message string) record.Seen {
	return record.Seen{Outcome: record.Failed, Status: 400, Error: &record.Error{Type: "BadRequestError", Message: message}}
}

func count(text string) int64 {
	n := 0
	for _, line := range strings.SplitAfter(text, "\n") {
		if words, ok := strings.CutSuffix(line, "\n"); ok {
			n, line = n+1, words
		}
		if line == "" {
			continue
		}
		for i, word := range strings.Split(line, " ") {
			if word != "" || i > 0 {
				n++ // a word, or the space that stands where one should be
			}
		}
	}
	return int64(n)
}

func TestMeasureOfATemplate(t *testing.T) {
	for _, style := range []prompt.MarkerStyle{prompt.MarkerWords, prompt.MarkerAIPerf, prompt.MarkerNone} {
		e := &engine{perPrompt: 3, perMessage: 5}
		marker := prompt.NewMarker(style, "run", 0, 0, "t")
		got, err := Measure(t.Context(), e, "m", prompt.NewMaker(1), marker)
		if err != nil {
			t.Fatal(err)
		}
		if want := (prompt.Overhead{Prompt: 3, System: 5, User: 5, Assistant: 5}); !got.Known || got.Overhead != want || got.DriftTokens != 0 {
			t.Errorf("%s: known %t, overhead %+v, drift %d; want %+v without drift", style, got.Known, got.Overhead, got.DriftTokens, want)
		}
		want := map[prompt.MarkerStyle]int{prompt.MarkerWords: 12, prompt.MarkerAIPerf: 3, prompt.MarkerNone: 0}[style]
		if got.MarkerTokens != want {
			t.Errorf("%s: the marker is %d tokens, want %d", style, got.MarkerTokens, want)
		}
		for _, text := range e.sent {
			if strings.Contains(text, "  ") || strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ") {
				t.Errorf("%s: a probe has space that no prompt has: %q", style, text)
			}
		}
	}
}

func TestMeasureOfTwoUserMessagesRefused(t *testing.T) {
	e := &engine{perPrompt: 1, perMessage: 4, refuse: func(roles string) bool { return strings.Contains(roles, "uu") || strings.Contains(roles, "s") }}
	got, err := Measure(t.Context(), e, "m", prompt.NewMaker(1), prompt.Marker{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (prompt.Overhead{Prompt: 1, User: 4, Assistant: 4}); got.Overhead != want {
		t.Errorf("overhead %+v, want %+v", got.Overhead, want)
	}
	if len(got.Refused) != 2 || !strings.Contains(got.Refused[0], "two user messages in a row: roles must alternate") {
		t.Errorf("refused: %q", got.Refused)
	}
}

func TestMeasureOfNoUsage(t *testing.T) {
	got, err := Measure(t.Context(), &engine{silent: true}, "m", prompt.NewMaker(1), prompt.Marker{})
	if err != nil || got.Known {
		t.Errorf("known %t, error %v; want neither", got.Known, err)
	}
}

func TestMeasureOfAnEngineThatRefusesAll(t *testing.T) {
	e := &engine{refuse: func(string) bool { return true }}
	_, err := Measure(t.Context(), e, "m", prompt.NewMaker(1), prompt.Marker{})
	if err == nil || !strings.Contains(err.Error(), "roles must alternate (BadRequestError)") {
		t.Errorf("error %v does not hold the engine's words", err)
	}
	if len(e.sent) != 1 {
		t.Errorf("%d probes sent after a refusal, want 1", len(e.sent))
	}
}
