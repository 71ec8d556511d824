package summary

import (
	"github.com/org/agentx-action/pkg/result/record"
)

type usageTotals struct {
	prompt, completion, total, reasoning, cached int64
	hasPrompt, hasCompletion, hasTotal           bool
	hasReasoning, hasCached                      bool
}

func (t *totals) add(r *record.Record, c record.Counting) {
	if n, ok := r.InputTokens(c); ok {
		t.isl += n
		t.hasISL = true
	}
	if n, ok := r.OutputTokens(); ok {
		t.osl += n
		t.hasOSL = true
		t.visible += n
		if k := r.Seen.Usage.ReasoningTokens; k != nil {
			t.visible -= min(*k, n)
			t.reasoning += *k
			t.hasReasoning = true
		}
		if n < int64(r.Seen.Chunks) {
			t.belowChunks++
		}
	}
	t.usage.add(r.Seen.Usage)
	if u := r.Seen.Usage; u == nil || u.PromptTokens == nil || u.CompletionTokens == nil {
		t.missingUsage++
	}
	// The baseline's prompts share nothing, and vLLM leaves the count out where it is 0.
	if _, ok := r.CachedTokens(); !ok && r.Asked.Kind != record.KindFixed {
		t.missingCached++
	}
	if miss, _ := r.OutputMismatch(); miss {
		t.mismatches++
	}
	t.window(r)
}

func (t *totals) window(r *record.Record) {
	s := &r.Seen
	if t.firstSent == 0 || s.Sent < t.firstSent {
		t.firstSent = s.Sent
	}
	t.lastContent = max(t.lastContent, s.LastToken)
	t.lastTTFT = max(t.lastTTFT, s.FirstToken)
	if _, ok := itl.Of(r, record.CountServer); ok {
		t.lastITL = max(t.lastITL, s.End)
	}
}

func (u *usageTotals) add(x *record.Usage) {
	if x == nil {
		return
	}
	for _, f := range []struct {
		n   *int64
		sum *int64
		has *bool
	}{{x.PromptTokens, &u.prompt, &u.hasPrompt}, {x.CompletionTokens, &u.completion, &u.hasCompletion}, {x.TotalTokens, &u.total, &u.hasTotal},
		{x.ReasoningTokens, &u.reasoning, &u.hasReasoning}, {x.CachedTokens, &u.cached, &u.hasCached}} {
		if f.n != nil {
			*f.sum += *f.n
			*f.has = true
		}
	}
}

// Units of run-level figures, as AIPerf shows them.
const (
	unitRequests       = "requests"
	unitRequestsPerSec = "requests/sec"
	unitTokens         = "tokens"
	unitTokensPerSec   = "tokens/sec"
)

// run gives the figures of spec/replay.md §7.3 and the totals of §7.5.
func (b *Builder) run() map[string]Value {
	t, o := &b.totals, b.req.Profiling
	out := map[string]Value{}
	set := func(key, unit string, v float64, ok bool) {
		if ok {
			out[key] = Value{unit, v}
		}
	}
	set("request_count", unitRequests, float64(o.OK), true)
	set("error_request_count", unitRequests, float64(o.Errors), true)
	set("completed_request_count", unitRequests, float64(o.OK+o.Errors), true)
	set("cancelled_request_count", unitRequests, float64(o.Censored), true)
	set("context_overflow_count", unitRequests, float64(o.Overflow), true)
	rate, ok := o.ErrorRate()
	set("request_error_rate", "%", 100*rate, ok)

	set("total_isl", unitTokens, float64(t.isl), t.hasISL)
	set("total_osl", unitTokens, float64(t.osl), t.hasOSL)
	set("total_output_tokens", unitTokens, float64(t.visible), t.hasOSL)
	set("total_reasoning_tokens", unitTokens, float64(t.reasoning), t.hasReasoning)
	set("total_error_isl", unitTokens, float64(t.errorISL), t.errorISL > 0)
	set("osl_mismatch_count", unitRequests, float64(t.mismatches), t.hasOSL)
	u := &t.usage
	set("total_usage_prompt_tokens", unitTokens, float64(u.prompt), u.hasPrompt)
	set("total_usage_completion_tokens", unitTokens, float64(u.completion), u.hasCompletion)
	set("total_usage_total_tokens", unitTokens, float64(u.total), u.hasTotal)
	set("total_usage_reasoning_tokens", unitTokens, float64(u.reasoning), u.hasReasoning)
	set("total_usage_prompt_cache_read_tokens", unitTokens, float64(u.cached), u.hasCached)
	set("overall_usage_prompt_cache_read_pct", "%", 100*float64(u.cached)/float64(max(u.prompt, 1)), u.hasCached && u.prompt > 0)

	span, _ := t.lastContent.Sub(t.firstSent)
	s := span.Seconds()
	set("benchmark_duration", "sec", s, s > 0)
	set("request_throughput", unitRequestsPerSec, float64(o.OK)/s, s > 0)
	set("input_token_throughput", unitTokensPerSec, float64(t.isl)/s, s > 0 && t.hasISL)
	set("output_token_throughput", unitTokensPerSec, float64(t.osl)/s, s > 0 && t.hasOSL)
	set("total_token_throughput", unitTokensPerSec, float64(t.isl+t.osl)/s, s > 0 && t.hasISL && t.hasOSL)
	if g := b.opt.GPUs; g > 0 {
		set("output_token_throughput_per_gpu", "tokens/sec/gpu", float64(t.osl)/s/float64(g), s > 0 && t.hasOSL)
		set("total_token_throughput_per_gpu", "tokens/sec/gpu", float64(t.isl+t.osl)/s/float64(g), s > 0 && t.hasISL && t.hasOSL)
	}
	if len(b.slos) > 0 {
		set("good_request_count", unitRequests, float64(t.good), true)
		set("goodput", unitRequestsPerSec, float64(t.good)/s, s > 0)
		set("good_request_fraction", "ratio", float64(t.good)/float64(max(o.OK+o.Errors, 1)), o.OK+o.Errors > 0)
	}
	return out
}

// Coverage says how far into the phase first tokens and token gaps were still
// seen (spec/replay.md §6.3).
type Coverage struct {
	// Name of the phase.
	PhaseName string `json:"phase_name"`
	// Duration asked of it, in seconds.
	ExpectedDurationSeconds float64 `json:"expected_duration_seconds"`
	// Offset of the last first token over the expected duration; 0 without any.
	TTFTRatio float64 `json:"ttft_ratio"`
	// Offset of the last end of a response with a token gap over the expected
	// duration; 0 without any.
	InterTokenLatencyRatio float64 `json:"inter_token_latency_ratio"`
}

func (b *Builder) coverage() *Coverage {
	if b.opt.DurationS <= 0 || !b.opt.ProfilingStart.Seen() {
		return nil
	}
	ratio := func(at record.Stamp) float64 {
		d, ok := at.Sub(b.opt.ProfilingStart)
		if !ok {
			return 0
		}
		return max(d.Seconds()/b.opt.DurationS, 0)
	}
	return &Coverage{
		PhaseName: string(record.PhaseProfiling), ExpectedDurationSeconds: b.opt.DurationS,
		TTFTRatio: ratio(b.totals.lastTTFT), InterTokenLatencyRatio: ratio(b.totals.lastITL),
	}
}
