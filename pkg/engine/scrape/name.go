package scrape

import "strings"

// Kind is the program whose names a page speaks.
type Kind string

// The programs whose families are known.
const (
	Unknown        Kind = "unknown"
	VLLM           Kind = "vllm"
	SGLang         Kind = "sglang"
	ATOM           Kind = "atom"
	TensorRTLLM    Kind = "tensorrt_llm"
	DynamoFrontend Kind = "dynamo_frontend"
	DynamoWorker   Kind = "dynamo_worker" // one whose engine's own families are not on its page
	VLLMRouter     Kind = "vllm_router"
	ModelGateway   Kind = "sglang_model_gateway" // sglang-router
)

// Front reports whether a program stands in front of engines and counts what
// passes to them: its figures never add to theirs.
func (k Kind) Front() bool {
	return k == DynamoFrontend || k == VLLMRouter || k == ModelGateway
}

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
	// Requests that were turned away because the queue was full.
	AdmissionRejections Name = "admission_rejections"
	// Speculative decoding: drafts made, tokens in them, and those of them that were
	// accepted.
	SpecDrafts         Name = "spec_decode_drafts"
	SpecDraftTokens    Name = "spec_decode_draft_tokens"
	SpecAcceptedTokens Name = "spec_decode_accepted_tokens"
	Requests           Name = "requests"             // requests that ended, in whatever way
	OffloadBytesOut    Name = "kv_offload_bytes_out" // GPU to host
	OffloadBytesIn     Name = "kv_offload_bytes_in"  // host to GPU
	OffloadSecsOut     Name = "kv_offload_time_out_s"
	OffloadSecsIn      Name = "kv_offload_time_in_s"

	// What a router says. A rate of hits is its guess when it chose the worker:
	// the sum of those guesses over the requests, and their number.
	RouterRequests     Name = "router_requests"
	RouterErrors       Name = "router_errors"
	RouterRetries      Name = "router_retries"
	RouterHitRateSum   Name = "router_hit_rate_sum"
	RouterHitRateCount Name = "router_hit_rate_count"
)

// workerPrefix begins the names of [ByWorker].
const workerPrefix = "router_requests_by_worker."

// ByWorker names the counter of the requests that a router sent to one worker,
// by the worker's address as the router has it.
func ByWorker(address string) Name { return Name(workerPrefix + address) }

// Worker is the address that a name of [ByWorker] stands for.
func (n Name) Worker() (string, bool) { return strings.CutPrefix(string(n), workerPrefix) }

// sourcePrefix begins the names of [BySource].
const sourcePrefix = "prompt_tokens_by_source."

// BySource names the counter of the prompt tokens that came from one source,
// in the engine's own word: local_compute, local_cache_hit and
// external_kv_transfer in vLLM; device, host and storage_<backend> in SGLang.
func BySource(source string) Name { return Name(sourcePrefix + source) }

// Source is the source that a name of [BySource] stands for.
func (n Name) Source() (string, bool) { return strings.CutPrefix(string(n), sourcePrefix) }

// cachedPrefix begins the names of [CachedBySource].
const cachedPrefix = "cached_tokens_by_source."

// CachedBySource names the counter of the cached prompt tokens that one tier of the
// cache supplied, in the engine's own word: device, host, disk, p2p and
// external_unspecified in vLLM.
func CachedBySource(tier string) Name { return Name(cachedPrefix + tier) }

// CachedSource is the tier that a name of [CachedBySource] stands for.
func (n Name) CachedSource() (string, bool) { return strings.CutPrefix(string(n), cachedPrefix) }

// Gauges.
const (
	Running          Name = "requests_running"          // requests, all engines together
	Waiting          Name = "requests_waiting"          // requests, all engines together
	WaitingDeferred  Name = "requests_waiting_deferred" // not for want of capacity: for a KV transfer, a LoRA slot
	KVUsageMean      Name = "kv_usage_mean"             // 0..1, mean over the engines
	KVUsageMax       Name = "kv_usage_max"              // 0..1, the fullest engine
	HostUsageMax     Name = "host_kv_usage_max"
	KVCapacity       Name = "kv_capacity_tokens" // all engines together
	HostUsedTokens   Name = "host_kv_used_tokens"
	HostCapacity     Name = "host_kv_capacity_tokens"
	CacheHitRateMean Name = "cache_hit_rate_mean" // 0..1, the engine's own, over whatever it takes; only for want of counters
	RouterRunning    Name = "router_requests_running"
	WorkersHealthy   Name = "router_workers_healthy"
)
