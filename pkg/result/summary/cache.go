package summary

import "github.com/org/agentx-action/pkg/result/record"

// Cache holds the client's measures of the prefix-cache hit rate side by side,
// over the successful requests of the profiling phase (spec/replay.md §7.4,
// §7.5; decisions.md 3, 15).
type Cache struct {
	// Static, per turn of the trace: blocks seen before in the trace.
	TheoreticalInstant *Share `json:"theoretical_instant,omitzero"`
	// The same, counting a block only if its producer had ended.
	TheoreticalCausal *Share `json:"theoretical_causal,omitzero"`
	// Ideal as played: what an unlimited cache could have given in this run,
	// counting requests of the same tree that had ended. The measured rate is
	// judged against this one.
	IdealEnded *Share `json:"ideal_ended,omitzero"`
	// The same, counting requests of the tree that were still in flight too.
	IdealBegun *Share `json:"ideal_begun,omitzero"`
	// What the engine said in usage, weighted by tokens, over the requests
	// where it said it.
	Usage *Share `json:"usage,omitzero"`
	// Usage rate − ideal_ended rate over the same requests, as a fraction.
	Gap *float64 `json:"gap,omitzero"`
}

// Share is a part of a whole.
type Share struct {
	// blocks or tokens
	Unit string `json:"unit"`
	// Hits, in that unit.
	Hit float64 `json:"hit"`
	// All, in that unit.
	Total float64 `json:"total"`
	// hit/total, 0..1.
	Rate float64 `json:"rate"`
	// Requests that it covers; absent when unknown.
	Requests int `json:"requests,omitzero"`
}

func share(unit string, hit, total float64, requests int) *Share {
	if total <= 0 {
		return nil
	}
	return &Share{unit, hit, total, hit / total, requests}
}

type cacheBuilder struct {
	planned, counted                                                     int
	blocks, instant, causal                                              int64
	idealTotal, ended, begun                                             float64
	idealRequests                                                        int
	cached, cachedTotal, cachedIdeal, bothCached, bothTotal, bothPlanned float64
	both                                                                 int
}

func (c *cacheBuilder) add(r *record.Record, counting record.Counting) {
	a := &r.Asked
	prompt, known := r.InputTokens(counting)
	ideal, hasIdeal := idealTokens(r, a.IdealEnded, prompt)
	if a.Blocks > 0 {
		c.planned++
		c.blocks += int64(a.Blocks)
		c.instant += int64(a.HitInstant)
		c.causal += int64(a.HitCausal)
	}
	if hasIdeal && known {
		begun, _ := idealTokens(r, a.IdealBegun, prompt)
		c.idealTotal += float64(prompt)
		c.ended += ideal
		c.begun += begun
		c.idealRequests++
	}
	cached, ok := r.CachedTokens()
	if !ok {
		return
	}
	c.counted++
	c.cached += float64(cached)
	c.cachedTotal += float64(*r.Seen.Usage.PromptTokens)
	if hasIdeal && known {
		c.both++
		c.bothCached += float64(cached)
		c.cachedIdeal += ideal
		c.bothPlanned += float64(prompt)
		c.bothTotal += float64(*r.Seen.Usage.PromptTokens)
	}
}

// idealTokens turns hit blocks into tokens of the prompt.
func idealTokens(r *record.Record, blocks int, prompt int64) (float64, bool) {
	if r.Asked.Blocks <= 0 || r.Asked.BlockSize <= 0 {
		return 0, false
	}
	return float64(min(int64(blocks)*int64(r.Asked.BlockSize), prompt)), true
}

func (c *cacheBuilder) figures() Cache {
	out := Cache{
		TheoreticalInstant: share("blocks", float64(c.instant), float64(c.blocks), c.planned),
		TheoreticalCausal:  share("blocks", float64(c.causal), float64(c.blocks), c.planned),
		IdealEnded:         share(unitTokens, c.ended, c.idealTotal, c.idealRequests),
		IdealBegun:         share(unitTokens, c.begun, c.idealTotal, c.idealRequests),
		Usage:              share(unitTokens, c.cached, c.cachedTotal, c.counted),
	}
	if c.both > 0 && c.bothTotal > 0 && c.bothPlanned > 0 {
		gap := c.bothCached/c.bothTotal - c.cachedIdeal/c.bothPlanned // each of its own count of the same prompts
		out.Gap = &gap
	}
	return out
}
