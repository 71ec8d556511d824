package result

// EngineFacts is the engine as found and what it counted.
type EngineFacts struct {
	// Without credentials.
	URL string `json:"url,omitzero"`
	// vllm, sglang, sim, …
	Name string `json:"name,omitzero"`
	// Its version.
	Version string `json:"version,omitzero"`
	// Model that it serves.
	Model string `json:"model,omitzero"`
	// How it was brought up: process, docker or compose; absent when it was there.
	Driver string `json:"driver,omitzero"`
	// Declared environment, secrets masked.
	Env map[string]string `json:"env,omitzero"`
	// Image with its digest.
	Image string `json:"image,omitzero"`
	// Command line, secrets removed.
	Args []string `json:"args,omitzero"`
	// Context, in tokens.
	MaxModelLen *int64 `json:"max_model_len,omitzero"`
	// Tokens that its KV cache holds.
	KVCacheTokens *int64 `json:"kv_cache_tokens,omitzero"`
	// Its prefix cache is on.
	PrefixCaching *bool `json:"prefix_caching,omitzero"`
	// Replicas behind the URL.
	Replicas *int `json:"replicas,omitzero"`
	// Header by which requests of a session reach the same replica; empty without.
	SessionRouting string `json:"session_routing,omitzero"`
	// Its metrics were asked for.
	MetricsExpected bool `json:"metrics_expected,omitzero"`
	// What is to be said of the reading of them: pages without an answer, pages
	// that repeat others.
	MetricsNotes []string `json:"metrics_notes,omitzero"`
	// State of its cache before the run.
	ColdStart *ColdStart `json:"cold_start,omitzero"`
	// Increases of its counters, and its gauges, over the warm-up.
	Warmup *Counters `json:"warmup,omitzero"`
	// As warmup, over the profiling phase.
	Profiling *Counters `json:"profiling,omitzero"`
	// As warmup, from before the first request of the run to after the last.
	Whole *Counters `json:"whole,omitzero"`
}

// ColdStart is what the engine's counters said before the run.
type ColdStart struct {
	// Prompt tokens it had processed since it was started.
	PromptTokensBefore *float64 `json:"prompt_tokens_before,omitzero"`
	// How many of them were our probes'.
	OwnPromptTokens float64 `json:"own_prompt_tokens,omitzero"`
	// Its cache was reset after them.
	Reset bool `json:"reset,omitzero"`
}

// Counters are increases of the engine's own counters over a window, summed
// over its logical engines, and gauges over the same window. Absent: not
// exposed.
type Counters struct {
	// Prompt tokens processed.
	PromptTokens *float64 `json:"prompt_tokens,omitzero"`
	// Tokens generated.
	GenerationTokens *float64 `json:"generation_tokens,omitzero"`
	// Requests finished.
	Requests *float64 `json:"requests,omitzero"`
	// Requests preempted.
	Preemptions *float64 `json:"preemptions,omitzero"`
	// Tokens looked up in the prefix cache on the GPU.
	PrefixCacheQueries *float64 `json:"prefix_cache_queries,omitzero"`
	// Tokens found in it.
	PrefixCacheHits *float64 `json:"prefix_cache_hits,omitzero"`
	// Tokens looked up in the tiers below (host memory, disk, a KV store).
	ExternalCacheQueries *float64 `json:"external_cache_queries,omitzero"`
	// Tokens found there.
	ExternalCacheHits *float64 `json:"external_cache_hits,omitzero"`
	// Prompt tokens by where they came from, by the engine's own names.
	PromptTokensBySource map[string]float64 `json:"prompt_tokens_by_source,omitzero"`
	// Cached prompt tokens by the tier of the cache that supplied them, by the
	// engine's own names; they add up to the hits of the prefix caches.
	CachedPromptTokensBySource map[string]float64 `json:"cached_prompt_tokens_by_source,omitzero"`
	// Requests turned away because the engine's queue was full.
	AdmissionRejections *float64 `json:"admission_rejections,omitzero"`
	// Speculative decoding: drafts made.
	SpecDrafts *float64 `json:"spec_decode_drafts,omitzero"`
	// Tokens in them.
	SpecDraftTokens *float64 `json:"spec_decode_draft_tokens,omitzero"`
	// Tokens of them that were accepted.
	SpecAcceptedTokens *float64 `json:"spec_decode_accepted_tokens,omitzero"`
	// Tokens a draft brought, with the one that comes without it: 1 + accepted/drafts.
	SpecAcceptanceLength *float64 `json:"spec_decode_acceptance_length,omitzero"`
	// Share of the drafts' tokens that was accepted, 0..1.
	SpecAcceptanceRate *float64 `json:"spec_decode_acceptance_rate,omitzero"`
	// Prompt tokens that were not computed, whatever their source.
	CachedPromptTokens *float64 `json:"cached_prompt_tokens,omitzero"`
	// Prompt tokens computed, recomputation after a preemption included.
	ComputedPromptTokens *float64 `json:"computed_prompt_tokens,omitzero"`
	// KV moved from GPU to host memory and below, in bytes.
	KVOffloadBytesOut *float64 `json:"kv_offload_bytes_out,omitzero"`
	// And back.
	KVOffloadBytesIn *float64 `json:"kv_offload_bytes_in,omitzero"`
	// Time that moving it out took, in seconds.
	KVOffloadOutS *float64 `json:"kv_offload_out_s,omitzero"`
	// Time that moving it back took, in seconds.
	KVOffloadInS *float64 `json:"kv_offload_in_s,omitzero"`
	// Requests that a router sent to each worker, by the worker's address.
	RouterRequestsByWorker map[string]float64 `json:"router_requests_by_worker,omitzero"`
	// Requests that a router sent again.
	RouterRetries *float64 `json:"router_retries,omitzero"`
	// Requests that failed in a router.
	RouterErrors *float64 `json:"router_errors,omitzero"`
	// Hit rate, 0..1, that a router expected of the workers it chose; mean over requests.
	RouterHitRateMean *float64 `json:"router_hit_rate_mean,omitzero"`
	// KV cache in use, 0..1, mean over time.
	KVUsageMean *float64 `json:"kv_usage_mean,omitzero"`
	// Peak of the same.
	KVUsageMax *float64 `json:"kv_usage_max,omitzero"`
	// Requests running in the engine, mean over time.
	RunningMean *float64 `json:"running_mean,omitzero"`
	// Peak of the same.
	RunningMax *float64 `json:"running_max,omitzero"`
	// Requests waiting in the engine, mean over time.
	WaitingMean *float64 `json:"waiting_mean,omitzero"`
	// Peak of the same.
	WaitingMax *float64 `json:"waiting_max,omitzero"`
	// Those waiting for something else than capacity, mean over time.
	WaitingDeferredMean *float64 `json:"waiting_deferred_mean,omitzero"`
	// Peak of the same.
	WaitingDeferredMax *float64 `json:"waiting_deferred_max,omitzero"`
	// Host memory of the KV cache in use, 0..1, peak.
	HostKVUsageMax *float64 `json:"host_kv_usage_max,omitzero"`
	// Why a figure that this engine could show is absent, by the figure's name.
	Missing map[string]string `json:"missing,omitzero"`
}

// GPUs are the devices of the engine.
type GPUs struct {
	// Model of the GPUs.
	Model string `json:"model,omitzero"`
	// All of them, prefill and decode.
	Count int `json:"count" jsonschema:"minimum=0"`
	// Version of their driver.
	Driver string `json:"driver,omitzero"`
	// Memory of one, in bytes.
	MemoryBytes *int64 `json:"memory_bytes,omitzero"`
	// Processes on them that are not the engine's.
	ForeignUsers []string `json:"foreign_users,omitzero"`
}
