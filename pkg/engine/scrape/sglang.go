package scrape

// sglangRules: spec/inferencex.md §4.3.
//
// SGLang creates a labelled counter when it first counts: a fresh engine has no
// cached_tokens at all. It stays missing until then; see [Snapshot.Increase]
// for a series that appears between two samples.
var sglangRules = []rule{
	{name: PromptTokens, family: "sglang:prompt_tokens"},
	{name: GenerationTokens, family: "sglang:generation_tokens"},
	{name: PrefixQueries, family: "sglang:prompt_tokens"},
	{name: PrefixHits, family: "sglang:cached_tokens", label: "cache_source", values: inDevice},
	{name: ExternalHits, family: "sglang:cached_tokens", label: "cache_source", values: inDevice, not: true},
	{name: CachedTokens, family: "sglang:cached_tokens"},
	{name: sourcePrefix, family: "sglang:cached_tokens", label: "cache_source", each: true},
	{name: ComputedTokens, family: "sglang:realtime_tokens", label: "mode", values: []string{"prefill_compute"}},
	{name: Preemptions, family: "sglang:num_retracted_requests"},
	{name: Requests, family: "sglang:num_requests"},

	{name: Running, shape: gauge, family: "sglang:num_running_reqs"},
	{name: Waiting, shape: gauge, family: "sglang:num_queue_reqs"},
	{name: KVUsageMean, shape: share, over: mean, family: "sglang:token_usage"},
	{name: KVUsageMax, shape: share, over: highest, family: "sglang:token_usage"},
	{name: KVCapacity, shape: gauge, family: "sglang:max_total_num_tokens"},
	{name: HostUsedTokens, shape: gauge, family: "sglang:hicache_host_used_tokens"},
	{name: HostCapacity, shape: gauge, family: "sglang:hicache_host_total_tokens"},
	{name: CacheHitRateMean, shape: share, over: mean, family: "sglang:cache_hit_rate"},
}

// inDevice are the sources that are GPU memory: "device", and what releases
// that did not tell the tiers apart wrote ("total", or no label).
var inDevice = []string{"device", "total", ""}
