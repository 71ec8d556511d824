package openai

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Call is one request.
type Call struct {
	Content   Content // the JSON value of Field
	Field     string  // "messages" (the default) or "prompt"
	Model     string
	MaxTokens int // output tokens; 0 leaves it to the engine

	RequestID           string // X-Request-ID
	CorrelationID       string // X-Correlation-ID: one play of one stream
	ParentCorrelationID string // the spawning stream's, for children
	RootCorrelationID   string // of the tree: sent under Config.TreeHeader

	// Last closes the connection of a sticky session after this call.
	Last bool
}

// The fields that can hold a Content.
const (
	fieldMessages = "messages"
	fieldPrompt   = "prompt"
)

func (call *Call) check() error {
	switch {
	case call.Content == nil || call.Content.Len() <= 0:
		return errors.New("no content")
	case call.Field != "" && call.Field != fieldMessages && call.Field != fieldPrompt:
		return fmt.Errorf("field %q is neither %s nor %s", call.Field, fieldMessages, fieldPrompt)
	case call.MaxTokens < 0:
		return fmt.Errorf("%d output tokens", call.MaxTokens)
	}
	return nil
}

// ours are the members of the body that the client writes itself.
var ours = []string{"model", fieldMessages, fieldPrompt, "stream", "stream_options", "max_completion_tokens", "max_tokens"}

// fixedMembers renders the members that are the same in every request, each
// with a comma before it.
func fixedMembers(config Config) (string, error) {
	var b []byte
	if !config.NonStreaming {
		b = append(b, `,"stream":true,"stream_options":{"include_usage":true`...)
		if config.PerChunkUsage {
			b = append(b, `,"continuous_usage_stats":true`...)
		}
		b = append(b, '}')
	}
	if _, given := config.Extra["ignore_eos"]; config.IgnoreEOS && !given {
		b = append(b, `,"ignore_eos":true`...)
	}
	for _, name := range slices.Sorted(maps.Keys(config.Extra)) {
		if slices.Contains(ours, name) {
			return "", fmt.Errorf("extra input %q: the client sets this member itself", name)
		}
		value := config.Extra[name].Clone()
		if err := value.Compact(); err != nil {
			return "", fmt.Errorf("extra input %q is no JSON value: %w", name, err)
		}
		quoted, err := jsontext.AppendQuote(append(b, ','), name)
		if err != nil {
			return "", fmt.Errorf("extra input %q: %w", name, err)
		}
		b = append(append(quoted, ':'), value...)
	}
	return string(b), nil
}

// body lays a call's content between a head and a tail. The small members come
// first, so that a router need not read megabytes to find the model.
func (c *Client) body(call *Call) (*requestBody, error) {
	head, err := jsontext.AppendQuote([]byte(`{"model":`), call.Model)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", call.Model, err)
	}
	head = append(head, c.members...)
	if call.MaxTokens > 0 {
		name := `,"max_completion_tokens":`
		if c.legacyMaxTokens || call.Field == fieldPrompt {
			name = `,"max_tokens":`
		}
		head = strconv.AppendInt(append(head, name...), int64(call.MaxTokens), 10)
	}
	field := fieldMessages
	if call.Field != "" {
		field = call.Field
	}
	head = append(append(append(head, `,"`...), field...), `":`...)
	return newRequestBody(string(head), call.Content, "}"), nil
}
