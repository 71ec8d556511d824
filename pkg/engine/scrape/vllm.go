package scrape

import "strconv"

// vllmRules: spec/inferencex.md §4.2. vLLM 0.9 shows both spellings of the
// prefix cache and of its usage, 0.8 only the older ones.
var vllmRules = []rule{
	{name: PromptTokens, family: "vllm:prompt_tokens"},
	{name: GenerationTokens, family: "vllm:generation_tokens"},
	{name: PrefixQueries, family: "vllm:prefix_cache_queries"},
	{name: PrefixQueries, family: "vllm:gpu_prefix_cache_queries"},
	{name: PrefixHits, family: "vllm:prefix_cache_hits"},
	{name: PrefixHits, family: "vllm:gpu_prefix_cache_hits"},
	{name: ExternalQueries, family: "vllm:external_prefix_cache_queries"},
	{name: ExternalHits, family: "vllm:external_prefix_cache_hits"},
	{name: CachedTokens, family: "vllm:prompt_tokens_cached"},
	{name: sourcePrefix, family: "vllm:prompt_tokens_by_source", label: "source", each: true},
	{name: cachedPrefix, family: "vllm:prompt_tokens_cached_by_source", label: "source", each: true},
	{name: Preemptions, family: "vllm:num_preemptions"},
	{name: Requests, family: "vllm:request_success"},
	{name: AdmissionRejections, family: "vllm:admission_rejections"},
	{name: SpecDrafts, family: "vllm:spec_decode_num_drafts"},
	{name: SpecDraftTokens, family: "vllm:spec_decode_num_draft_tokens"},
	{name: SpecAcceptedTokens, family: "vllm:spec_decode_num_accepted_tokens"},

	{name: OffloadBytesOut, family: "vllm:kv_offload_total_bytes", label: "transfer_type", values: []string{"GPU_to_CPU"}},
	{name: OffloadBytesOut, family: "vllm:kv_offload_bytes_gpu_to_cpu"},
	{name: OffloadBytesIn, family: "vllm:kv_offload_total_bytes", label: "transfer_type", values: []string{"CPU_to_GPU"}},
	{name: OffloadBytesIn, family: "vllm:kv_offload_bytes_cpu_to_gpu"},
	{name: OffloadSecsOut, family: "vllm:kv_offload_total_time", label: "transfer_type", values: []string{"GPU_to_CPU"}},
	{name: OffloadSecsOut, family: "vllm:kv_offload_time_gpu_to_cpu"},
	{name: OffloadSecsIn, family: "vllm:kv_offload_total_time", label: "transfer_type", values: []string{"CPU_to_GPU"}},
	{name: OffloadSecsIn, family: "vllm:kv_offload_time_cpu_to_gpu"},

	{name: Running, shape: gauge, family: "vllm:num_requests_running"},
	{name: Waiting, shape: gauge, family: "vllm:num_requests_waiting"},
	{name: WaitingDeferred, shape: gauge, family: "vllm:num_requests_waiting_by_reason", label: "reason", values: []string{"deferred"}},
	{name: KVUsageMean, shape: share, over: mean, family: "vllm:kv_cache_usage_perc"},
	{name: KVUsageMean, shape: share, over: mean, family: "vllm:gpu_cache_usage_perc"},
	{name: KVUsageMax, shape: share, over: highest, family: "vllm:kv_cache_usage_perc"},
	{name: KVUsageMax, shape: share, over: highest, family: "vllm:gpu_cache_usage_perc"},
	{name: HostUsageMax, shape: share, over: highest, family: "vllm:cpu_kv_cache_usage_perc"},
	{name: HostUsageMax, shape: share, over: highest, family: "vllm:cpu_cache_usage_perc"},
}

// cacheConfig is a gauge of 1 whose labels are vLLM's cache settings.
const cacheConfig = "vllm:cache_config_info"

// vllmCapacity adds the pools of the engines that tell their size in
// [cacheConfig]: outright, or as blocks of tokens. The first wins, since blocks
// of a model with several kinds of attention are not all of one size.
func vllmCapacity(families Families) (float64, string) {
	f, ok := families[cacheConfig]
	if !ok {
		return 0, "no series of " + cacheConfig
	}
	pools := map[[3]string]float64{} // engine → tokens; the settings are labels too
	for _, m := range f.GetMetric() {
		labels := identity(m)
		tokens, ok := poolTokens(labels)
		if !ok {
			return 0, cacheConfig + " tells no size of the KV pool"
		}
		engine := [3]string{valueOf(labels, "engine"), valueOf(labels, "worker_addr"), valueOf(labels, "worker_id")}
		if before, seen := pools[engine]; seen && before != tokens {
			return 0, cacheConfig + " tells two sizes for one engine"
		}
		pools[engine] = tokens
	}
	total := 0.0
	for _, tokens := range pools {
		total += tokens
	}
	return total, ""
}

func poolTokens(labels []label) (float64, bool) {
	const limit = 1 << 48 // keeps products and sums exact
	size, err := strconv.ParseInt(valueOf(labels, "kv_cache_size_tokens"), 10, 64)
	if err == nil && size > 0 && size < limit {
		return float64(size), true
	}
	blocks, err := strconv.ParseInt(valueOf(labels, "num_gpu_blocks"), 10, 32)
	if err != nil || blocks <= 0 {
		return 0, false
	}
	each, err := strconv.ParseInt(valueOf(labels, "block_size"), 10, 16)
	if err != nil || each <= 0 {
		return 0, false
	}
	return float64(blocks * each), true
}
