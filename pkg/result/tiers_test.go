package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTiersBySource: tiers take the place of vLLM's two kinds of hits, beside what
// was computed.
func TestTiersBySource(t *testing.T) {
	for name, tt := range map[string]struct {
		c    Counters
		want map[string]float64
	}{
		"tiers": {Counters{
			PromptTokensBySource:       map[string]float64{"local_compute": 500, "local_cache_hit": 300, "external_kv_transfer": 200},
			CachedPromptTokensBySource: map[string]float64{"device": 300, "host": 150, "disk": 50, "p2p": 0},
		}, map[string]float64{"local_compute": 0.5, "device": 0.3, "host": 0.15, "disk": 0.05, "p2p": 0}},
		"tiers alone":    {Counters{CachedPromptTokensBySource: map[string]float64{"device": 3, "host": 1}}, map[string]float64{"device": 0.75, "host": 0.25}},
		"older":          {Counters{PromptTokensBySource: map[string]float64{"local_compute": 1, "local_cache_hit": 3}}, map[string]float64{"local_compute": 0.25, "local_cache_hit": 0.75}},
		"nothing so far": {Counters{CachedPromptTokensBySource: map[string]float64{"device": 0}}, nil},
	} {
		var got map[string]float64
		if e := engineCache(&tt.c); e != nil {
			got = e.BySource
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
