package run

import (
	"context"

	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result/record"
)

// sender sends the requests of a load through the client.
type sender struct {
	*openai.Client
	field string // of the content; "" = messages
	last  bool   // every request is a session of its own
}

func (s sender) Send(ctx context.Context, a *record.Asked, m replay.Messages) record.Seen {
	return s.Do(ctx, openai.Call{
		Content: m, Field: s.field, Last: s.last, Model: a.Model, MaxTokens: a.MaxTokens,
		RequestID: a.RequestID, CorrelationID: a.CorrelationID,
		ParentCorrelationID: a.ParentCorrelationID, RootCorrelationID: a.RootCorrelationID,
	})
}
