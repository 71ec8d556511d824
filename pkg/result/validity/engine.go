package validity

import (
	"fmt"
	"strings"
)

const (
	// countersTolerance is how far the engine's counters may lie outside what
	// the client's records allow.
	countersTolerance = 0.01

	// With ignore_eos and max_completion_tokens lengths are exact; 1 % of the
	// requests leaves room for a context that ends early.
	mismatchLimit = 0.01

	// driftLimit is on the p99 of |drift| over the prompt's length: the text is
	// exact by construction, so more than 1 % means that the engine counts
	// something the calibration didn't see.
	driftLimit = 0.01

	// usageLimit is the share of successes that may lack a count.
	usageLimit = 0.01
)

// engineStart judges the state in which the engine was found.
func engineStart(e *Evidence) []Finding {
	var out []Finding
	if e.Replicas > 1 && !e.SessionRouted {
		out = append(out, one(ReplicasUnrouted, Untrusted, float64(e.Replicas), 1, "replicas",
			"turns of a session may land on replicas that don't have its prefix; switch a session-routing header on and route by it")...)
	}
	if n := len(e.ForeignGPUUsers); n > 0 {
		out = append(out, one(ForeignGPUUsers, Untrusted, float64(n), 0, "processes",
			"others use the engine's GPUs: "+strings.Join(e.ForeignGPUUsers, ", ")+"; stop them or use another runner")...)
	}
	c := e.ColdStart
	switch {
	case c == nil || c.Reset:
	case c.PromptTokensBefore == nil:
		out = append(out, Finding{Code: CacheStartUnknown, Severity: Note,
			Text: "the engine has no counter that shows whether its cache was cold at the start; use a fresh engine"})
	default:
		out = append(out, over(CacheNotCold, Untrusted, *c.PromptTokensBefore, c.OwnPromptTokens, "tokens",
			"the engine had processed prompts before the run, and its cache was not reset; use a fresh engine, or give --reset-kv-cache")...)
	}
	return out
}

// engineCounts holds the engine's counters against the client's records.
func engineCounts(e *Evidence) []Finding {
	if e.PromptTokens == nil && e.GenerationTokens == nil {
		if e.CountersExpected {
			return []Finding{{Code: EngineCountersUnknown, Severity: Note,
				Text: "the engine's metrics could not be read, so nothing of what the client saw is cross-checked; switch its /metrics on"}}
		}
		return nil
	}
	s := e.Figures.Tokens.Served
	if s.Unknown > 0 { // missing_usage says so already
		return nil
	}
	var out []Finding
	for _, c := range []struct {
		name     string
		seen     *float64
		low, top int64
	}{{"prompt", e.PromptTokens, s.PromptMin, s.PromptMax}, {"generation", e.GenerationTokens, s.GenerationMin, s.GenerationMax}} {
		if c.seen == nil {
			continue
		}
		low, top := float64(c.low)*(1-countersTolerance), float64(c.top)*(1+countersTolerance)
		if *c.seen < low {
			f := one(EngineCountersDiffer, Untrusted, *c.seen, low, "tokens", fmt.Sprintf(
				"the engine counted fewer %s tokens than it told the client; did it restart, or is one of several servers not scraped?", c.name))
			f[0].Detail = c.name
			out = append(out, f...)
		}
		if *c.seen > top {
			f := one(EngineCountersDiffer, Untrusted, *c.seen, top, "tokens", fmt.Sprintf(
				"the engine counted more %s tokens than this client can have caused; keep other traffic off it", c.name))
			f[0].Detail = c.name
			out = append(out, f...)
		}
	}
	return out
}

// usage judges what the engine says about single requests.
func usage(e *Evidence) []Finding {
	t, ok := e.Figures.Tokens, float64(e.Figures.Requests.Profiling.OK)
	if ok == 0 {
		return nil
	}
	var out []Finding
	for _, c := range []struct {
		code string
		n    int
		text string
	}{
		{MissingUsage, t.MissingUsage, "responses without token counts: lengths, ITL and throughput cover only the rest; the engine must answer stream_options.include_usage"},
		{MissingCachedTokens, t.MissingCached, "responses without a usable count of cached tokens: switch it on (vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report)"},
		{UsageBelowChunks, t.BelowChunks, "responses with fewer output tokens than chunks of output: the engine's count is wrong"},
	} {
		share := float64(c.n) / ok
		if share > usageLimit {
			out = append(out, one(c.code, Untrusted, share, usageLimit, "ratio", c.text)...)
		} else {
			out = append(out, over(c.code, Note, share, 0, "ratio", c.text)...)
		}
	}
	if t.OutputJudged > 0 {
		const text = "outputs that miss the length asked by more than 5 % or 50 tokens; the engine must honour ignore_eos and max_completion_tokens"
		share := float64(t.OutputMismatch) / float64(t.OutputJudged)
		if share > mismatchLimit {
			out = append(out, one(OutputLength, Untrusted, share, mismatchLimit, "ratio", text)...)
		} else {
			out = append(out, over(OutputLength, Note, share, 0, "ratio", text)...)
		}
	}
	if t.DriftShare != nil {
		out = append(out, over(TokenDrift, Untrusted, t.DriftShare.P99, driftLimit, "ratio",
			"p99 of |engine's prompt tokens − (text + marker + template)| over the prompt: the prompts were not what was planned; calibrate with the engine's own tokenizer")...)
	}
	return out
}
