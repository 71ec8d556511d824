package scrape

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Pages of engines that could not be started here, by the names, types and
// labels of their documentation (sources in their tables), and of two routers
// that were, recorded in front of two simulated engines: round robin in
// vllm-router 0.1.17, manual in sglang-router 0.3.2, four sessions of three turns.
func TestPagesOfOthers(t *testing.T) {
	tests := map[string]struct {
		kind    Kind
		want    figures
		missing []Name
	}{
		"tensorrt_llm.txt": {TensorRTLLM, figures{
			PromptTokens: 500000, GenerationTokens: 20000, PrefixQueries: 500000, PrefixHits: 400000,
			CachedTokens: 400000, ComputedTokens: 100000, Requests: 100, OffloadBytesOut: 4096, OffloadBytesIn: 2048,
			Running: 7, Waiting: 2, KVUsageMean: 0.625, KVUsageMax: 0.625, HostUsageMax: 0.25,
			CacheHitRateMean: 0.75, KVCapacity: 4096 * 32,
		}, nil},
		"atom.txt": {ATOM, figures{
			PromptTokens: 300000, GenerationTokens: 12000, PrefixQueries: 310000, PrefixHits: 200000, ExternalHits: 30000,
			Preemptions: 4, Requests: 60, Running: 5, Waiting: 1, KVUsageMean: 0.375, KVUsageMax: 0.375, CacheHitRateMean: 0.5,
		}, nil},
		"atom_old.txt": {ATOM, figures{
			PromptTokens: 300000, GenerationTokens: 12000, PrefixQueries: 310000, PrefixHits: 200000, ExternalHits: 45000,
			KVUsageMean: 0.375, KVUsageMax: 0.375,
		}, []Name{Preemptions, Requests, Running, Waiting, CacheHitRateMean}},
		"dynamo_frontend.txt": {DynamoFrontend, figures{
			PromptTokens: 800000, GenerationTokens: 45000, CachedTokens: 600000, Requests: 102,
			RouterHitRateSum: 71, RouterHitRateCount: 100, Running: 12, Waiting: 3,
		}, nil},
		"dynamo_worker.txt": {DynamoWorker, figures{
			Requests: 42, Running: 6, KVUsageMean: 0.375, KVUsageMax: 0.5,
		}, []Name{RouterHitRateSum, RouterHitRateCount, CacheHitRateMean}},
		// What the engine says itself goes first.
		"dynamo_sglang.txt": {SGLang, figures{
			PromptTokens: 8129902, GenerationTokens: 57572, PrefixQueries: 8129902, PrefixHits: 5.5e6,
			ExternalHits: 500000, CachedTokens: 6e6, BySource("device"): 5.5e6, BySource("host"): 400000,
			BySource("storage_mooncake"): 100000, ComputedTokens: 2.2e6, Preemptions: 3, Requests: 311,
			Running: 12, Waiting: 4, KVUsageMean: 0.5, KVUsageMax: 0.5, KVCapacity: 524288,
			HostUsedTokens: 100000, HostCapacity: 1048576, CacheHitRateMean: 0.75,
		}, nil},
		"vllm_router_0.1.17.txt": {VLLMRouter, figures{
			RouterRequests: 12, ByWorker("http://127.0.0.1:18111"): 6, ByWorker("http://127.0.0.1:18112"): 6,
			WorkersHealthy: 2,
		}, []Name{RouterErrors, RouterRetries, RouterRunning}},
		"sglang_gateway_0.3.2.txt": {ModelGateway, figures{
			RouterRequests: 12, ByWorker("http://127.0.0.1:18111"): 6, ByWorker("http://127.0.0.1:18112"): 6,
			RouterRunning: 0, WorkersHealthy: 2,
		}, []Name{RouterErrors, RouterRetries}},
		// The engines behind it, as the gateway shows them: no colon in a name.
		"sglang_gateway_engines.txt": {VLLM, figures{
			PromptTokens: 8904, GenerationTokens: 480, PrefixQueries: 8904, PrefixHits: 5376, ExternalQueries: 3528, ExternalHits: 0,
			CachedTokens: 5376, BySource("local_compute"): 3528, BySource("local_cache_hit"): 5376,
			BySource("external_kv_transfer"): 0, Preemptions: 0, Requests: 24,
			Running: 0, Waiting: 0, KVUsageMean: 0, KVUsageMax: 0, KVCapacity: 2 * 52900 * 16,
		}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := Read(page(t, recorded(t, name)))
			if s.Engine != tt.kind {
				t.Errorf("engine %q, want %q", s.Engine, tt.kind)
			}
			if diff := cmp.Diff(tt.want, all(s)); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
			for _, n := range tt.missing {
				if s.Missing[n] == "" {
					t.Errorf("nothing says why %s is missing", n)
				}
			}
		})
	}
}
