package health

import "github.com/org/agentx-action/pkg/result/record"

// Tally counts the measured requests, for the progress and for limits on
// failures, and the answers of warm-up for the progress alone.
type Tally struct {
	Warmed                         int
	OK, Failed, Overflow, Censored int
	TokensIn, TokensOut            int64 // by the engine's count
}

// Count adds a request.
func (t *Tally) Count(rec *record.Record) {
	if rec.Asked.Phase != record.PhaseProfiling {
		t.Warmed++
		return
	}
	switch rec.Seen.Outcome {
	case record.OK:
		t.OK++
	case record.Overflow:
		t.Overflow++
	case record.Censored:
		t.Censored++
	default:
		t.Failed++
	}
	if u := rec.Seen.Usage; u != nil {
		if u.PromptTokens != nil {
			t.TokensIn += *u.PromptTokens
		}
		if u.CompletionTokens != nil {
			t.TokensOut += *u.CompletionTokens
		}
	}
}

// Fill writes the counts into a sample.
func (t *Tally) Fill(s *record.Sample) {
	s.Warmed, s.Done, s.Errors, s.TokensIn, s.TokensOut = t.Warmed, t.OK, t.Failed, t.TokensIn, t.TokensOut
}
