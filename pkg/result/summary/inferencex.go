package summary

// InferenceX holds the aggregates of InferenceX under its names, computed by
// its rules (spec/inferencex.md §3.1, §3.3–3.5; spec/replay.md §7.11): latencies
// in seconds, values that are not finite or not above 0 dropped, everything
// rounded to 5 decimals.
type InferenceX struct {
	RequestAccounting IXAccounting `json:"request_accounting"`
	Latency           IXLatency    `json:"latency"`
	QPS               *IXQPS       `json:"qps,omitzero"`
	Tokens            IXTokens     `json:"tokens"`
	Throughput        IXThroughput `json:"throughput"`
	Cache             IXCache      `json:"cache"`
}

// IXAccounting counts the lines of profile_export.jsonl, which has no overflows.
type IXAccounting struct {
	// Lines, warm-up and failures included.
	RecordsTotal int `json:"records_total"`
	// Successes of the profiling phase.
	RecordsProfiled int `json:"records_profiled"`
	// The rest.
	RecordsDroppedTotal int `json:"records_dropped_total"`
	// Warm-up lines.
	RecordsWarmupDropped int `json:"records_warmup_dropped"`
	// Lines with an error, in either phase.
	RecordsErrorDropped int `json:"records_error_dropped"`
	// Errors by type.
	ErrorCategories map[string]int `json:"error_categories"`
}

// IXDist is InferenceX' distribution.
type IXDist struct {
	// Arithmetic mean.
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P75  float64 `json:"p75"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	// Population form.
	Std float64 `json:"std"`
}

// IXLatency is in seconds, interactivity in tokens/s/user. The percentiles of
// an interactivity are 1 over the same percentile of the latency, so p90 is the
// slow tail; its std is that of the requests' own values.
type IXLatency struct {
	TTFT               *IXDist `json:"ttft,omitzero"`
	E2EL               *IXDist `json:"e2el,omitzero"`
	ITL                *IXDist `json:"itl,omitzero"`
	TPOT               *IXDist `json:"tpot,omitzero"`
	Intvty             *IXDist `json:"intvty,omitzero"`
	FullResponseITL    *IXDist `json:"full_response_itl,omitzero"`
	FullResponseIntvty *IXDist `json:"full_response_intvty,omitzero"`
	// 1 over the statistic of request_latency/OSL; p90 is the public site's x axis.
	E2ENormIntvty *IXDist `json:"e2e_norm_intvty,omitzero"`
}

// IXQPS counts completions in windows of one second, from first to last.
type IXQPS struct {
	IXDist
	// Length of a window.
	WindowSeconds float64 `json:"window_seconds"`
	// Number of windows.
	Samples int `json:"samples"`
}

// IXTokens are lengths in tokens. output_expected is the recorded length of the
// very request; InferenceX looks a child's up in the root's list.
type IXTokens struct {
	Input          *IXDist `json:"input,omitzero"`
	OutputActual   *IXDist `json:"output_actual,omitzero"`
	OutputExpected *IXDist `json:"output_expected,omitzero"`
}

// IXThroughput divides by the time from the first start to the last stream end
// of the successes, not by AIPerf's benchmark_duration.
type IXThroughput struct {
	// First start to last stream end, in seconds.
	DurationSeconds *float64  `json:"duration_seconds,omitzero"`
	Input           *IXRate   `json:"input,omitzero"`
	Output          *IXRate   `json:"output,omitzero"`
	Total           *IXRate   `json:"total,omitzero"`
	PerGPU          *IXPerGPU `json:"per_gpu,omitzero"`
	// Distribution over requests, tokens/s/user.
	FullResponsePerUser *IXDist `json:"full_response_output_token_throughput_per_user,omitzero"`
}

// IXRate is in tokens/s.
type IXRate struct {
	// Tokens over duration_seconds.
	TokensPerSecond float64 `json:"tokens_per_second"`
}

// IXPerGPU is in tokens/s/GPU, over all GPUs.
type IXPerGPU struct {
	// Input and output tokens.
	TotalTputTPS float64 `json:"total_tput_tps"`
	// Output tokens.
	OutputTputTPS float64 `json:"output_tput_tps"`
	// Input tokens.
	InputTputTPS float64 `json:"input_tput_tps"`
	// GPUs divided by.
	GPUs int `json:"num_gpus"`
}

// IXCache is the theoretical hit rate, 0..1 (the instant one of decisions.md 3).
type IXCache struct {
	// Hit blocks over all blocks.
	TheoreticalCacheHitRate *float64 `json:"theoretical_cache_hit_rate,omitzero"`
}
