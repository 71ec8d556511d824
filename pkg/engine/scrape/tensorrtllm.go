package scrape

import (
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// tensorRTLLMRules: spec/inferencex.md §4.5 and §4.6 (6), and the families of
// TensorRT-LLM's metrics collector. Cached tokens are those of all tiers: it
// does not tell GPU memory and host apart.
var tensorRTLLMRules = []rule{
	{name: PromptTokens, family: "trtllm_prompt_tokens"},
	{name: GenerationTokens, family: "trtllm_generation_tokens"},
	{name: PrefixQueries, family: "trtllm_prompt_tokens"},
	{name: PrefixHits, family: "trtllm_prompt_cached_tokens"},
	{name: CachedTokens, family: "trtllm_prompt_cached_tokens"},
	{name: ComputedTokens, shape: observed, family: "trtllm_prefill_batch_tokens"},
	{name: Requests, family: "trtllm_request_success"},
	{name: Requests, family: "trtllm_num_requests_completed"},
	{name: OffloadBytesOut, family: "trtllm_kv_cache_offload_bytes"},
	{name: OffloadBytesIn, family: "trtllm_kv_cache_onboard_bytes"},

	{name: Running, shape: gauge, family: "trtllm_num_requests_running"},
	{name: Waiting, shape: gauge, family: "trtllm_num_requests_waiting"},
	{name: KVUsageMean, shape: share, over: mean, family: "trtllm_kv_cache_utilization"},
	{name: KVUsageMax, shape: share, over: highest, family: "trtllm_kv_cache_utilization"},
	{name: HostUsageMax, shape: share, over: highest, family: "trtllm_kv_cache_host_utilization"},
	{name: CacheHitRateMean, shape: share, over: mean, family: "trtllm_kv_cache_hit_rate"},
}

// Gauges whose product is the size of the KV pool, in tokens.
const (
	tensorRTLLMBlocks    = "trtllm_kv_cache_max_blocks"
	tensorRTLLMBlockSize = "trtllm_kv_cache_tokens_per_block"
)

func tensorRTLLMCapacity(families Families) (tokens float64, why string) {
	sizes := map[string]float64{}
	for _, m := range families[tensorRTLLMBlockSize].GetMetric() {
		sizes[key(identity(m))] = m.GetGauge().GetValue()
	}
	pools := families[tensorRTLLMBlocks].GetMetric()
	if len(pools) == 0 || len(pools) > maxSeries {
		return 0, "no series of " + tensorRTLLMBlocks
	}
	blocks := &rule{shape: gauge, family: tensorRTLLMBlocks}
	found := once(seriesOf(pools, blocks))
	for k, s := range found {
		size, ok := sizes[k]
		if !ok || size < 1 || size > 1<<16 || blocks.implausible(s.value) != "" {
			return 0, strings.Join([]string{tensorRTLLMBlocks, tensorRTLLMBlockSize}, " and ") + " tell no size of the KV pool"
		}
		tokens += s.value * size
	}
	return tokens, ""
}

func seriesOf(metrics []*dto.Metric, r *rule) []series {
	all := make([]series, 0, len(metrics))
	for _, m := range metrics {
		all = append(all, series{identity(m), r.number(m)})
	}
	return all
}
