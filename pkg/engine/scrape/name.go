package scrape

import "strings"

// Kind is the engine whose names a page speaks.
type Kind string

// The engines whose families are known.
const (
	Unknown Kind = "unknown"
	VLLM    Kind = "vllm"
	SGLang  Kind = "sglang"
)

// Name is one quantity, by a name of ours that holds for every engine. The
// statistic over several engines is in the name where it is not the sum.
type Name string

// Counters. They only grow while the engine lives; tokens unless said otherwise.
const (
	PromptTokens     Name = "prompt_tokens"
	GenerationTokens Name = "generation_tokens"
	// PrefixQueries and PrefixHits belong to the cache in GPU memory. SGLang
	// counts no queries: they are its prompt tokens.
	PrefixQueries Name = "prefix_cache_queries"
	PrefixHits    Name = "prefix_cache_hits"
	// ExternalQueries and ExternalHits belong to every tier below: host, disk,
	// a KV store. The queries are what missed in GPU memory. SGLang has none.
	ExternalQueries Name = "external_prefix_cache_queries"
	ExternalHits    Name = "external_prefix_cache_hits"
	CachedTokens    Name = "cached_tokens"          // prompt tokens that were not computed, whatever their source
	ComputedTokens  Name = "computed_prompt_tokens" // as the work happens, recomputation included; SGLang only
	Preemptions     Name = "preemptions"            // times a running request lost its KV blocks
	Requests        Name = "requests"               // requests that ended, in whatever way
	OffloadBytesOut Name = "kv_offload_bytes_out"   // GPU to host
	OffloadBytesIn  Name = "kv_offload_bytes_in"    // host to GPU
	OffloadSecsOut  Name = "kv_offload_time_out_s"
	OffloadSecsIn   Name = "kv_offload_time_in_s"
)

// sourcePrefix begins the names of [BySource].
const sourcePrefix = "prompt_tokens_by_source."

// BySource names the counter of the prompt tokens that came from one source,
// in the engine's own word: local_compute, local_cache_hit and
// external_kv_transfer in vLLM; device, host and storage_<backend> in SGLang.
func BySource(source string) Name { return Name(sourcePrefix + source) }

// Source is the source that a name of [BySource] stands for.
func (n Name) Source() (string, bool) { return strings.CutPrefix(string(n), sourcePrefix) }

// Gauges.
const (
	Running          Name = "requests_running" // requests, all engines together
	Waiting          Name = "requests_waiting" // requests, all engines together
	KVUsageMean      Name = "kv_usage_mean"    // 0..1, mean over the engines
	KVUsageMax       Name = "kv_usage_max"     // 0..1, the fullest engine
	HostUsageMax     Name = "host_kv_usage_max"
	KVCapacity       Name = "kv_capacity_tokens" // all engines together
	HostUsedTokens   Name = "host_kv_used_tokens"
	HostCapacity     Name = "host_kv_capacity_tokens"
	CacheHitRateMean Name = "cache_hit_rate_mean" // 0..1, SGLang's own, over its latest prefill batches; only for want of counters
)
