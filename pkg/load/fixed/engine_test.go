package fixed

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result/record"
)

type client struct {
	*openai.Client
	field string
}

func (c client) Send(ctx context.Context, a *record.Asked, m replay.Messages) record.Seen {
	return c.Do(ctx, openai.Call{Content: m, Field: c.field, Model: a.Model, MaxTokens: a.MaxTokens, RequestID: a.RequestID})
}

// TestTheEngineCountsWhatWasDrawn at both endpoints, and finds nothing in its cache.
func TestTheEngineCountsWhatWasDrawn(t *testing.T) {
	for endpoint, c := range map[Endpoint]struct {
		field    string
		overhead int
	}{Completions: {"prompt", 0}, Chat: {"messages", sim.TokensPerMessage + sim.TokensPerGenerationPrompt}} {
		t.Run(string(endpoint), func(t *testing.T) {
			server, err := sim.New(sim.Default())
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			web := httptest.NewServer(server)
			defer web.Close()
			clock := record.NewClock()
			o, err := openai.New(openai.Config{URL: web.URL, Clock: clock, IgnoreEOS: true})
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			l := &log{}
			cfg := Config{Shape: Shape{700, 6}, Concurrency: 5, Seed: 3, RunID: "r", Model: "sim", Endpoint: endpoint, OverheadTokens: c.overhead}
			if _, err := Run(t.Context(), cfg, client{o, c.field}, l, clock); err != nil {
				t.Fatal(err)
			}
			if len(l.requests) != 60 {
				t.Fatalf("%d requests", len(l.requests))
			}
			digests := map[string]bool{}
			for _, r := range l.requests {
				a, u := r.Asked, r.Seen.Usage
				if r.Seen.Outcome != record.OK || u == nil || u.PromptTokens == nil || u.CompletionTokens == nil {
					t.Fatalf("%+v", r.Seen)
				}
				if *u.PromptTokens != int64(a.RecordedIn) || *u.CompletionTokens != int64(a.RecordedOut) {
					t.Errorf("request %d: %d in and %d out counted, %d and %d drawn", a.Num, *u.PromptTokens, *u.CompletionTokens, a.RecordedIn, a.RecordedOut)
				}
				if a.TextTokens+a.MarkTokens+c.overhead != a.RecordedIn || (a.Messages == 1) != (endpoint == Chat) {
					t.Errorf("request %d: %d words, %d of marker, %d messages", a.Num, a.TextTokens, a.MarkTokens, a.Messages)
				}
				if u.CachedTokens != nil && *u.CachedTokens != 0 {
					t.Errorf("request %d: %d tokens from the cache", a.Num, *u.CachedTokens)
				}
				digests[a.Digest] = true
			}
			if len(digests) != len(l.requests) {
				t.Errorf("%d texts in %d requests", len(digests), len(l.requests))
			}
		})
	}
}
