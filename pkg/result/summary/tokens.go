package summary

import (
	"math"

	"github.com/org/agentx-action/pkg/result/record"
)

// Tokens compares what was asked with what the engine counted.
type Tokens struct {
	// usage.prompt_tokens − (text + marker + template), in tokens; absent
	// without a calibrated template.
	Drift *Stats `json:"drift,omitzero"`
	// |drift| over the prompt's length, 0..1.
	DriftShare *Stats `json:"drift_share,omitzero"`
	// Successes with an output length to judge.
	OutputJudged int `json:"output_judged"`
	// How many of them miss the requested length by more than 5 % or 50 tokens, whichever is less.
	OutputMismatch int `json:"output_mismatch"`
	// Successes without prompt or completion tokens in usage.
	MissingUsage int `json:"missing_usage"`
	// Successes without a (possible) count of cached tokens in usage.
	MissingCached int `json:"missing_cached"`
	// Successes with fewer output tokens in usage than chunks with output.
	BelowChunks int `json:"below_chunks"`
	// What the engine processed for this client in the whole run, warm-up
	// included.
	Served Served `json:"served"`
}

// Served bounds what the engine's own counters may say. The lower bound is the
// sum over requests that ended well; the upper one adds what the others could
// have cost at most.
type Served struct {
	// Prompt tokens of the requests that ended well.
	PromptMin int64 `json:"prompt_tokens_min"`
	// The same and what the others could have cost.
	PromptMax int64 `json:"prompt_tokens_max"`
	// Output tokens of the requests that ended well.
	GenerationMin int64 `json:"generation_tokens_min"`
	// The same and what the others could have cost.
	GenerationMax int64 `json:"generation_tokens_max"`
	// Successes without usage: with any, the bounds mean nothing.
	Unknown int `json:"unknown"`
}

type tokenBuilder struct {
	drift, driftShare []float64
	judged            int
	bound             Served
}

func (t *tokenBuilder) add(r *record.Record, opt *Options) {
	if _, known := r.OutputMismatch(); known {
		t.judged++
	}
	prompt, ok := r.InputTokens(record.CountServer)
	if !ok || opt.TemplateConstant == nil || opt.TemplatePerMessage == nil {
		return
	}
	a := &r.Asked
	want := float64(a.TextTokens+a.MarkTokens) + *opt.TemplateConstant + *opt.TemplatePerMessage*float64(a.Messages)
	d := float64(prompt) - want
	t.drift = append(t.drift, d)
	t.driftShare = append(t.driftShare, math.Abs(d)/max(float64(prompt), 1))
}

// served bounds the engine's counters over every request that was sent.
func (t *tokenBuilder) served(r *record.Record) {
	if !r.Seen.Sent.Seen() {
		return
	}
	in, okIn := r.InputTokens(record.CountServer)
	out, okOut := r.OutputTokens()
	if r.Seen.Outcome == record.OK {
		if !okIn || !okOut {
			t.bound.Unknown++
		}
		t.bound.PromptMin += in
		t.bound.GenerationMin += out
		t.bound.PromptMax += in
		t.bound.GenerationMax += out
		return
	}
	if !okIn {
		// Twice the text leaves room for any template.
		in = 2*int64(r.Asked.TextTokens+r.Asked.MarkTokens) + 64
	}
	t.bound.PromptMax += in
	t.bound.GenerationMax += int64(r.Asked.MaxTokens)
}

func (t *tokenBuilder) figures(sum *totals) Tokens {
	out := Tokens{
		OutputJudged: t.judged, OutputMismatch: sum.mismatches,
		MissingUsage: sum.missingUsage, MissingCached: sum.missingCached, BelowChunks: sum.belowChunks,
		Served: t.bound,
	}
	if s, ok := describe(t.drift, unitTokens); ok {
		out.Drift = &s
	}
	if s, ok := describe(t.driftShare, "ratio"); ok {
		out.DriftShare = &s
	}
	return out
}
