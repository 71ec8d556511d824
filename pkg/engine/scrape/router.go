package scrape

// vllmRouterRules: the page that vllm-router 0.1.17 serves at its
// --prometheus-port. /metrics at its main port is the page of one of its workers.
var vllmRouterRules = []rule{
	{name: RouterRequests, family: "vllm_router_requests"},
	{name: RouterErrors, family: "vllm_router_request_errors"},
	{name: RouterRetries, family: "vllm_router_retries"},
	{name: workerPrefix, family: "vllm_router_processed_requests", label: "worker", each: true},

	{name: RouterRunning, shape: gauge, family: "vllm_router_running_requests"},
	{name: WorkersHealthy, shape: gauge, family: "vllm_router_worker_health"},
}

// modelGatewayRules: the page that the SGLang Model Gateway (sglang-router
// 0.3.2) serves at its --prometheus-port, and the names of before 0.3. It counts
// requests by worker only as outcomes of its circuit breakers. Its engines'
// families are at /engine_metrics of its main port.
var modelGatewayRules = []rule{
	{name: RouterRequests, family: "smg_router_requests"},
	{name: RouterRequests, family: "sgl_router_requests"},
	{name: RouterErrors, family: "smg_router_request_errors"},
	{name: RouterErrors, family: "sgl_router_request_errors"},
	{name: RouterRetries, family: "smg_worker_retries"},
	{name: RouterRetries, family: "sgl_router_retries"},
	{name: workerPrefix, family: "smg_worker_cb_outcomes", label: "worker", each: true},
	{name: workerPrefix, family: "sgl_router_processed_requests", label: "worker", each: true},

	{name: RouterRunning, shape: gauge, family: "smg_worker_requests_active"},
	{name: RouterRunning, shape: gauge, family: "sgl_router_running_requests"},
	{name: WorkersHealthy, shape: gauge, family: "smg_worker_health"},
	{name: WorkersHealthy, shape: gauge, family: "sgl_router_worker_health"},
}
