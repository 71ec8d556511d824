package sim

import dto "github.com/prometheus/client_model/go"

// sglangFamilies speaks SGLang's names (spec/inferencex.md §4.3).
func (m *Model) sglangFamilies() []*dto.MetricFamily {
	c, s := m.Counters(), &m.stats
	f := &families{prefix: "sglang:", labels: labelPairs(
		"engine_type", "unified", "model_name", m.cfg.Model, "pp_rank", "0", "tp_rank", "0")}
	f.gauge("num_running_reqs", "Sequences in the batch.", float64(c.Running))
	f.gauge("num_queue_reqs", "Sequences in the queue.", float64(c.Waiting))
	if usage, ok := c.KVUsage(); ok {
		f.gauge("token_usage", "Share of the KV tokens in use; 1 is all.", usage)
		f.gauge("max_total_num_tokens", "Tokens the KV pool holds.", float64(c.GPUBlocks*c.BlockSize))
	}
	f.gauge("num_used_tokens", "KV tokens in use.", float64(c.UsedBlocks*c.BlockSize))
	cached := c.LocalCacheHit + c.HostHit + c.DiskHit
	if c.PromptTokens > 0 {
		f.gauge("cache_hit_rate", "Share of the prompt tokens that were not computed.", float64(cached)/float64(c.PromptTokens))
	}
	if m.host.limit > 0 {
		f.gauge("hicache_host_used_tokens", "KV tokens on the host.", float64(c.HostBlocks*c.BlockSize))
		f.gauge("hicache_host_total_tokens", "KV tokens the host holds.", float64(m.host.limit*c.BlockSize))
	}
	f.counter("prompt_tokens", "Prompt tokens of the requests that got a first token.", c.PromptTokens)
	f.counter("generation_tokens", "Tokens generated.", c.GeneratedTokens)
	f.counter("cached_tokens", "Prompt tokens that were not computed.", c.LocalCacheHit, "cache_source", "device")
	f.counter("cached_tokens", "", c.HostHit, "cache_source", "host")
	f.counter("cached_tokens", "", c.DiskHit, "cache_source", "storage")
	f.counter("realtime_tokens", "Tokens by what became of them.", c.PrefillComputed, "mode", "prefill_compute")
	f.counter("realtime_tokens", "", c.CacheHits+c.ExternalHits, "mode", "prefill_cache")
	f.counter("realtime_tokens", "", c.DecodeComputed, "mode", "decode")
	f.counter("num_requests", "Requests that ended.", c.Requests[FinishStop]+c.Requests[FinishLength]+c.Requests[FinishAbort])
	f.counter("num_aborted_requests", "Requests that were cut off.", c.Requests[FinishAbort])
	f.counter("num_retracted_requests", "Sequences that lost their blocks.", c.Preemptions)
	f.histogram("time_to_first_token_seconds", "From arrival to the first token.", &s.ttft)
	f.histogram("inter_token_latency_seconds", "From one token to the next.", &s.itl)
	f.histogram("e2e_request_latency_seconds", "From arrival to the last token.", &s.e2e)
	f.histogram("queue_time_seconds", "From arrival to the first batch.", &s.queue)
	return f.all
}
