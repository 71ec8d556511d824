package scrape

// Dynamo: spec/inferencex.md §4.4 and the metrics catalog of its documentation.
// Its front end counts tokens as the sums of histograms by request. The hit rate
// is the router's guess when it chose a worker; the router runs in the front end
// or by itself.

var dynamoFrontendRules = []rule{
	{name: PromptTokens, shape: observed, family: "dynamo_frontend_input_sequence_tokens"},
	{name: GenerationTokens, family: "dynamo_frontend_output_tokens"},
	{name: GenerationTokens, shape: observed, family: "dynamo_frontend_output_sequence_tokens"},
	{name: CachedTokens, shape: observed, family: "dynamo_frontend_cached_tokens"},
	{name: Requests, family: "dynamo_frontend_requests"},
	{name: RouterHitRateSum, shape: observed, family: "dynamo_component_router_kv_hit_rate"},
	{name: RouterHitRateCount, shape: observations, family: "dynamo_component_router_kv_hit_rate"},

	{name: Running, shape: gauge, family: "dynamo_frontend_inflight_requests"},
	{name: Waiting, shape: gauge, family: "dynamo_frontend_queued_requests"},
}

// dynamoWorkerRules read a worker that shows no families of its engine, and a
// router that runs by itself.
var dynamoWorkerRules = []rule{
	{name: Requests, family: "dynamo_component_requests", label: "dynamo_endpoint", values: generates},
	{name: RouterHitRateSum, shape: observed, family: "dynamo_component_router_kv_hit_rate"},
	{name: RouterHitRateCount, shape: observations, family: "dynamo_component_router_kv_hit_rate"},

	{name: Running, shape: gauge, family: "dynamo_component_inflight_requests", label: "dynamo_endpoint", values: generates},
	{name: KVUsageMean, shape: share, over: mean, family: "dynamo_component_gpu_cache_usage_percent"}, // 0..1 for all its name
	{name: KVUsageMax, shape: share, over: highest, family: "dynamo_component_gpu_cache_usage_percent"},
	{name: CacheHitRateMean, shape: share, over: mean, family: "dynamo_component_kv_cache_hit_rate"},
}

// generates is the endpoint of a worker that answers prompts; the others serve
// Dynamo itself.
var generates = []string{"generate"}
