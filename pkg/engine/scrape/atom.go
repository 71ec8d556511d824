package scrape

// atomRules: spec/inferencex.md §4.5, and the metrics reference of ROCm/ATOM,
// which counts what LMCache adds to the prefix in GPU memory apart from what it
// loads. Releases without that show only the tokens loaded, some of which the
// prefix may have had.
var atomRules = []rule{
	{name: PromptTokens, family: "atom:prompt_tokens"},
	{name: GenerationTokens, family: "atom:generation_tokens"},
	{name: PrefixQueries, family: "atom:prefix_cache_full_tokens"},
	{name: PrefixHits, family: "atom:prefix_cache_cached_tokens"},
	{name: ExternalHits, family: "atom:prefix_cache_offload_tokens"},
	{name: ExternalHits, family: "atom:lmcache_loaded_tokens"},
	{name: Preemptions, family: "atom:preemptions"},
	{name: Requests, family: "atom:requests_finished"},

	{name: Running, shape: gauge, family: "atom:requests_running"},
	{name: Waiting, shape: gauge, family: "atom:requests_waiting"},
	{name: KVUsageMean, shape: share, over: mean, family: "atom:kv_cache_usage_ratio"},
	{name: KVUsageMax, shape: share, over: highest, family: "atom:kv_cache_usage_ratio"},
	{name: CacheHitRateMean, shape: share, over: mean, family: "atom:prefix_cache_hit_ratio"},
}
