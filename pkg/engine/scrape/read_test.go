package scrape

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

// figures are counters and gauges together.
type figures map[Name]float64

func all(s Snapshot) figures {
	f := figures{}
	for n, v := range s.Counters {
		f[n] = v
	}
	for n, v := range s.Gauges {
		f[n] = v
	}
	return f
}

func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func page(t testing.TB, text string) *Page {
	t.Helper()
	families, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &Page{At: 1, Families: families}
}

// The pages in testdata have the labels, types and order of the engines' own,
// with figures chosen to tell mistakes apart.
func TestPages(t *testing.T) {
	oneVLLM := figures{
		PromptTokens: 812345, GenerationTokens: 40960, PrefixQueries: 800000, PrefixHits: 600000,
		Preemptions: 2, Requests: 101,
		Running: 12, Waiting: 3, KVUsageMean: 0.25, KVUsageMax: 0.25, KVCapacity: 27450 * 16,
	}
	speculation := []Name{SpecDrafts, SpecDraftTokens, SpecAcceptedTokens}
	tests := map[string]struct {
		kind    Kind
		want    figures
		missing []Name
	}{
		"vllm_dp2.txt": {VLLM, figures{
			PromptTokens: 812345 + 410000, GenerationTokens: 61440,
			PrefixQueries: 1200000, PrefixHits: 700000, ExternalQueries: 500000, ExternalHits: 50000,
			CachedTokens: 750000, BySource("local_compute"): 472345, BySource("local_cache_hit"): 700000,
			BySource("external_kv_transfer"): 50000, Preemptions: 3, Requests: 143,
			OffloadBytesOut: 1 << 30, OffloadBytesIn: 1 << 29, OffloadSecsOut: 3, OffloadSecsIn: 0.5,
			Running: 21, Waiting: 3, WaitingDeferred: 0, KVUsageMean: 0.375, KVUsageMax: 0.5,
			KVCapacity: 2 * 855836, // as told, not blocks × block size
		}, append(speculation, HostUsageMax, cachedPrefix, AdmissionRejections)},
		"vllm_0.10.txt": {VLLM, oneVLLM, append(speculation, ExternalQueries, ExternalHits, CachedTokens, sourcePrefix,
			cachedPrefix, AdmissionRejections, WaitingDeferred, OffloadBytesOut, OffloadBytesIn, OffloadSecsOut, OffloadSecsIn, HostUsageMax)},
		// Both spellings of the same counters are on this page.
		"vllm_0.9.txt": {VLLM, oneVLLM, append(speculation, ExternalQueries, ExternalHits, CachedTokens, sourcePrefix,
			cachedPrefix, AdmissionRejections, WaitingDeferred, OffloadBytesOut, OffloadBytesIn, OffloadSecsOut, OffloadSecsIn, HostUsageMax)},
		// Two tensor parallel ranks repeat one pool.
		"sglang_tp2.txt": {SGLang, figures{
			PromptTokens: 8129902, GenerationTokens: 57572, PrefixQueries: 8129902, PrefixHits: 5.5e6,
			ExternalHits: 500000, CachedTokens: 6e6, BySource("device"): 5.5e6, BySource("host"): 400000,
			BySource("storage_mooncake"): 100000, ComputedTokens: 2.2e6, Preemptions: 3, Requests: 311,
			Running: 12, Waiting: 4, KVUsageMean: 0.5, KVUsageMax: 0.5, KVCapacity: 524288,
			HostUsedTokens: 100000, HostCapacity: 1048576, CacheHitRateMean: 0.75,
		}, nil},
		// Two pools of two ranks each, and an aggregate beside them.
		"sglang_dp2.txt": {SGLang, figures{
			PromptTokens: 8129902, GenerationTokens: 57572, PrefixQueries: 8129902, PrefixHits: 5.5e6,
			ExternalHits: 500000, CachedTokens: 6e6, BySource("device"): 5.5e6, BySource("host"): 400000,
			BySource("storage_mooncake"): 100000, ComputedTokens: 4.4e6, Preemptions: 4, Requests: 311,
			Running: 19, Waiting: 6, KVUsageMean: 0.625, KVUsageMax: 0.75, KVCapacity: 2 * 524288,
			HostUsedTokens: 200000, HostCapacity: 2 * 1048576, CacheHitRateMean: 0.5,
		}, nil},
		// The queues in whole and by priority.
		"sglang_priority.txt": {SGLang, figures{
			PromptTokens: 8129902, GenerationTokens: 57572, PrefixQueries: 8129902, PrefixHits: 5.5e6,
			CachedTokens: 5.5e6, BySource("device"): 5.5e6, ComputedTokens: 2.2e6, Preemptions: 3, Requests: 311,
			Running: 12, Waiting: 4, KVUsageMean: 0.5, KVUsageMax: 0.5, KVCapacity: 524288, CacheHitRateMean: 0.75,
		}, []Name{ExternalHits, HostUsedTokens, HostCapacity}},
		// No request has been served: no counter exists yet, and none is 0.
		"sglang_fresh.txt": {SGLang, figures{
			Running: 12, Waiting: 4, KVUsageMean: 0.5, KVUsageMax: 0.5, KVCapacity: 524288, CacheHitRateMean: 0.75,
		}, []Name{PromptTokens, GenerationTokens, PrefixQueries, PrefixHits, ExternalHits, CachedTokens, sourcePrefix,
			ComputedTokens, Preemptions, Requests, HostUsedTokens, HostCapacity}},
		"sglang_0.4.txt": {SGLang, figures{
			PromptTokens: 8128902, GenerationTokens: 7557572, PrefixQueries: 8128902, PrefixHits: 3.1e6, CachedTokens: 3.1e6,
			Running: 162, Waiting: 2826, KVUsageMean: 0.28, KVUsageMax: 0.28,
		}, []Name{ExternalHits, sourcePrefix, ComputedTokens, Preemptions, Requests, KVCapacity, HostUsedTokens,
			HostCapacity, CacheHitRateMean}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := Read(page(t, recorded(t, name)))
			if s.Engine != tt.kind || s.At != 1 {
				t.Errorf("engine %q at %d, want %q at 1", s.Engine, s.At, tt.kind)
			}
			if diff := cmp.Diff(tt.want, all(s)); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
			missing := map[Name]bool{}
			for _, n := range tt.missing {
				missing[n] = true
			}
			got := map[Name]bool{}
			for n, why := range s.Missing {
				got[n] = why != ""
			}
			if diff := cmp.Diff(missing, got); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSeveralAPIServersCountOnce(t *testing.T) {
	first := recorded(t, "vllm_dp2.txt")
	// The second server is asked a moment later: engine 0 has gone on.
	second := strings.Replace(first, `vllm:prompt_tokens_total{engine="0",model_name="Qwen/Qwen3-32B"} 812345.0`,
		`vllm:prompt_tokens_total{engine="0",model_name="Qwen/Qwen3-32B"} 812400.0`, 1)
	if first == second {
		t.Fatal("the fixture has no such line")
	}
	one, two := Read(page(t, first)), Read(page(t, first), page(t, second))
	if got := two.Counters[PromptTokens]; got != 812400+410000 {
		t.Errorf("prompt tokens %v, want the later reading of each engine once", got)
	}
	delete(one.Counters, PromptTokens)
	delete(two.Counters, PromptTokens)
	if diff := cmp.Diff(all(one), all(two)); diff != "" {
		t.Errorf("the other figures changed (-one +two):\n%s", diff)
	}
	twice := strings.ReplaceAll(`vllm:num_requests_running{engine="0",pid="PID"} 5
`, "PID", "7") + "vllm:num_requests_running{engine=\"0\",pid=\"8\"} 5\n"
	if got := Read(page(t, twice)).Gauges[Running]; got != 5 {
		t.Errorf("running %v on a page of two processes, want 5", got)
	}
}

func TestImplausibleFigures(t *testing.T) {
	tests := map[string]struct {
		text string
		name Name
		want string // part of the reason; "" when the figure stands
		v    float64
	}{
		"NaN":            {"vllm:prompt_tokens_total 5\nvllm:prompt_tokens_total{engine=\"1\"} NaN\n", PromptTokens, "NaN", 0},
		"infinite":       {"vllm:kv_cache_usage_perc +Inf\n", KVUsageMax, "+Inf", 0},
		"negative":       {"vllm:prompt_tokens_total -1\n", PromptTokens, "-1", 0},
		"huge":           {"vllm:prompt_tokens_total 1e300\n", PromptTokens, "1e+300", 0},
		"no usage":       {"vllm:kv_cache_usage_perc 1e6\n", KVUsageMean, "1e+06", 0},
		"percent":        {"vllm:kv_cache_usage_perc 37.5\n", KVUsageMean, "", 0.375},
		"old usage":      {"vllm:gpu_cache_usage_perc 0.5\n", KVUsageMax, "", 0.5},
		"wrong type":     {"# TYPE vllm:prompt_tokens_total gauge\nvllm:prompt_tokens_total 5\n", PromptTokens, "is a gauge, not a counter", 0},
		"histogram":      {"# TYPE vllm:num_requests_running histogram\nvllm:num_requests_running_count 5\nvllm:num_requests_running 5\n", Running, "is a histogram", 0},
		"without suffix": {"# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens 5\n", PromptTokens, "", 5},
		"blocks unknown": {"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1\n", KVCapacity, "no size", 0},
		"two sizes": {"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"10\"} 1\n" +
			"vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"11\"} 1\n", KVCapacity, "two sizes", 0},
		"absurd blocks": {"vllm:cache_config_info{block_size=\"9999999\",num_gpu_blocks=\"9999999999\"} 1\n", KVCapacity, "no size", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := Read(page(t, tt.text))
			v, there := all(s)[tt.name]
			why := s.Missing[tt.name]
			if tt.want == "" {
				if !there || v != tt.v || why != "" {
					t.Errorf("%v, %v, missing %q; want %v", v, there, why, tt.v)
				}
				return
			}
			if there || !strings.Contains(why, tt.want) {
				t.Errorf("%v, %v, missing %q; want it missing for %q", v, there, why, tt.want)
			}
		})
	}
}

func TestBoundsOfAPage(t *testing.T) {
	var many, sources, labels strings.Builder
	for i := range maxSeries + 1 {
		fmt.Fprintf(&many, "vllm:prompt_tokens_total{engine=\"%d\"} 1\n", i)
	}
	for i := range maxSources + 1 {
		fmt.Fprintf(&sources, "vllm:prompt_tokens_by_source_total{source=\"s%d\"} 1\n", i)
	}
	labels.WriteString("vllm:prompt_tokens_total{")
	for i := range maxLabels + 1 {
		fmt.Fprintf(&labels, "l%d=\"x\",", i)
	}
	labels.WriteString("} 1\n")
	for text, name := range map[string]Name{many.String(): PromptTokens, sources.String(): sourcePrefix, labels.String(): PromptTokens} {
		s := Read(page(t, text))
		if len(s.Counters) != 0 || s.Missing[name] == "" {
			t.Errorf("%.60s…: counters %d, missing %q", text, len(s.Counters), s.Missing[name])
		}
	}
}

func TestReadOfNothing(t *testing.T) {
	for _, s := range []Snapshot{Read(), Read(nil), Read(page(t, "process_cpu_seconds_total 1\n"))} {
		if s.Engine != Unknown || len(all(s)) != 0 {
			t.Errorf("engine %q with %d figures, want unknown with none", s.Engine, len(all(s)))
		}
	}
}

func snap(t *testing.T, at record.Stamp, text string) Snapshot {
	p := page(t, text)
	p.At = at
	return Read(p)
}

func TestIncrease(t *testing.T) {
	const two = "vllm:prompt_tokens_total{engine=\"0\"} %d\nvllm:prompt_tokens_total{engine=\"1\"} %d\n"
	before := snap(t, 10, fmt.Sprintf(two, 100, 200))
	t.Run("growth", func(t *testing.T) {
		d := before.Increase(snap(t, 20, fmt.Sprintf(two, 150, 260)))
		if d.From != 10 || d.To != 20 || d.Counters[PromptTokens] != 110 || len(d.Resets) != 0 {
			t.Errorf("%+v", d)
		}
		if d.Missing[GenerationTokens] == "" || d.Missing[Running] != "" {
			t.Errorf("missing: %v; want the counters only", d.Missing)
		}
	})
	t.Run("one of two restarts", func(t *testing.T) {
		// The sum went up: only by series can the reset be seen.
		d := before.Increase(snap(t, 20, fmt.Sprintf(two, 500, 30)))
		if d.Counters[PromptTokens] != 400+30 || d.Resets[PromptTokens] != 1 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("one is gone", func(t *testing.T) {
		d := before.Increase(snap(t, 20, "vllm:prompt_tokens_total{engine=\"0\"} 500\n"))
		if _, there := d.Counters[PromptTokens]; there || !strings.Contains(d.Missing[PromptTokens], "gone") {
			t.Errorf("%+v", d)
		}
	})
	t.Run("the family is gone", func(t *testing.T) {
		d := before.Increase(snap(t, 20, "vllm:generation_tokens_total 5\n"))
		if !strings.HasPrefix(d.Missing[PromptTokens], "second sample") || d.Counters[GenerationTokens] != 5 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("born", func(t *testing.T) {
		d := snap(t, 10, recorded(t, "sglang_fresh.txt")).Increase(snap(t, 20, recorded(t, "sglang_priority.txt")))
		if d.Counters[PrefixHits] != 5.5e6 || d.Born[PrefixHits] != 1 || d.Born[PromptTokens] != 2 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("unread at first", func(t *testing.T) {
		d := snap(t, 10, "vllm:prompt_tokens_total NaN\n").Increase(snap(t, 20, "vllm:prompt_tokens_total 5\n"))
		if _, there := d.Counters[PromptTokens]; there || !strings.Contains(d.Missing[PromptTokens], "first sample") {
			t.Errorf("%+v", d)
		}
	})
	t.Run("another engine", func(t *testing.T) {
		d := before.Increase(snap(t, 20, recorded(t, "sglang_tp2.txt")))
		if len(d.Counters) != 0 || d.Missing[PromptTokens] == "" {
			t.Errorf("%+v", d)
		}
	})
	t.Run("no first page", func(t *testing.T) {
		if d := (Snapshot{}).Increase(before); len(d.Counters) != 0 || d.Missing[PromptTokens] == "" {
			t.Errorf("%+v", d)
		}
	})
}
