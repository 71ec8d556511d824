package run

import (
	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/result"
)

// counters is what the engines and the routers in front of them counted between
// two marks.
func counters(engines, fronts []*scrape.Recorder, from, to string) (*result.Counters, bool) {
	w, err := scrape.Together(engines, from, to)
	if err != nil {
		return nil, false
	}
	c := &result.Counters{}
	counted(c, w.Delta)
	gauged(c, w.Gauges)
	c.Missing = missing(c, w.Delta)
	byRouter(c, w.Delta) // an engine's page may have a router's figures too
	for _, r := range fronts {
		if w, err := r.Window(from, to); err == nil {
			byRouter(c, w.Delta)
		}
	}
	return c, true
}

// figures are the counters of a window by the names that they have in a result.
func figures(c *result.Counters) map[scrape.Name]struct {
	to   **float64
	name string
} {
	type field = struct {
		to   **float64
		name string
	}
	return map[scrape.Name]field{
		scrape.PromptTokens:     {&c.PromptTokens, "prompt_tokens"},
		scrape.GenerationTokens: {&c.GenerationTokens, "generation_tokens"},
		scrape.Requests:         {&c.Requests, "requests"},
		scrape.Preemptions:      {&c.Preemptions, "preemptions"},
		scrape.PrefixQueries:    {&c.PrefixCacheQueries, "prefix_cache_queries"},
		scrape.PrefixHits:       {&c.PrefixCacheHits, "prefix_cache_hits"},
		scrape.ExternalQueries:  {&c.ExternalCacheQueries, "external_cache_queries"},
		scrape.ExternalHits:     {&c.ExternalCacheHits, "external_cache_hits"},
		scrape.CachedTokens:     {&c.CachedPromptTokens, "cached_prompt_tokens"},
		scrape.ComputedTokens:   {&c.ComputedPromptTokens, "computed_prompt_tokens"},
		scrape.OffloadBytesOut:  {&c.KVOffloadBytesOut, "kv_offload_bytes_out"},
		scrape.OffloadBytesIn:   {&c.KVOffloadBytesIn, "kv_offload_bytes_in"},
		scrape.OffloadSecsOut:   {&c.KVOffloadOutS, "kv_offload_out_s"},
		scrape.OffloadSecsIn:    {&c.KVOffloadInS, "kv_offload_in_s"},
	}
}

func counted(c *result.Counters, d scrape.Delta) {
	for name, f := range figures(c) {
		if v, ok := d.Counters[name]; ok {
			*f.to = &v
		}
	}
	for name, v := range d.Counters {
		if source, ok := name.Source(); ok {
			put(&c.PromptTokensBySource, source, v)
		}
		if tier, ok := name.CachedSource(); ok {
			put(&c.CachedPromptTokensBySource, tier, v)
		}
	}
	speculated(c, d)
}

// speculated are figures that only some engines have, so that none is missed.
func speculated(c *result.Counters, d scrape.Delta) {
	for name, to := range map[scrape.Name]**float64{
		scrape.AdmissionRejections: &c.AdmissionRejections,
		scrape.SpecDrafts:          &c.SpecDrafts,
		scrape.SpecDraftTokens:     &c.SpecDraftTokens,
		scrape.SpecAcceptedTokens:  &c.SpecAcceptedTokens,
	} {
		if v, ok := d.Counters[name]; ok {
			*to = &v
		}
	}
	if c.SpecAcceptedTokens == nil {
		return
	}
	if c.SpecDrafts != nil && *c.SpecDrafts > 0 {
		length := 1 + *c.SpecAcceptedTokens / *c.SpecDrafts
		c.SpecAcceptanceLength = &length
	}
	if c.SpecDraftTokens != nil && *c.SpecDraftTokens > 0 {
		rate := *c.SpecAcceptedTokens / *c.SpecDraftTokens
		c.SpecAcceptanceRate = &rate
	}
}

func missing(c *result.Counters, d scrape.Delta) (why map[string]string) {
	for name, f := range figures(c) {
		if text, ok := d.Missing[name]; ok {
			put(&why, f.name, text)
		}
	}
	return why
}

func gauged(c *result.Counters, g map[scrape.Name]scrape.Level) {
	for name, to := range map[scrape.Name][2]**float64{
		scrape.Running:         {&c.RunningMean, &c.RunningMax},
		scrape.Waiting:         {&c.WaitingMean, &c.WaitingMax},
		scrape.WaitingDeferred: {&c.WaitingDeferredMean, &c.WaitingDeferredMax},
		scrape.KVUsageMean:     {&c.KVUsageMean, nil},
		scrape.KVUsageMax:      {nil, &c.KVUsageMax},
		scrape.HostUsageMax:    {nil, &c.HostKVUsageMax},
	} {
		l, ok := g[name]
		if ok && to[0] != nil {
			*to[0] = &l.Mean
		}
		if ok && to[1] != nil {
			*to[1] = &l.Max
		}
	}
}

// byRouter adds what a router counted.
func byRouter(c *result.Counters, d scrape.Delta) {
	for name, v := range d.Counters {
		if worker, ok := name.Worker(); ok {
			put(&c.RouterRequestsByWorker, redact(worker), v)
		}
	}
	for name, to := range map[scrape.Name]**float64{scrape.RouterRetries: &c.RouterRetries, scrape.RouterErrors: &c.RouterErrors} {
		if v, ok := d.Counters[name]; ok {
			if *to == nil {
				*to = new(float64)
			}
			**to += v
		}
	}
	if n := d.Counters[scrape.RouterHitRateCount]; n > 0 {
		mean := d.Counters[scrape.RouterHitRateSum] / n
		c.RouterHitRateMean = &mean
	}
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
