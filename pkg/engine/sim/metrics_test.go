package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape reads /metrics with Prometheus' own parser.
func (b *bench) scrape() map[string]*dto.MetricFamily {
	b.t.Helper()
	status, text := b.get("/metrics")
	if status != 200 {
		b.t.Fatalf("/metrics: %d", status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		b.t.Fatalf("/metrics: %v", err)
	}
	return families
}

// flat names every sample as name{label=value}, without the labels all share.
func flat(families map[string]*dto.MetricFamily) map[string]float64 {
	out := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			key := name
			for _, label := range m.Label {
				switch label.GetName() {
				case "model_name", "engine", "engine_type", "pp_rank", "tp_rank":
				default:
					key += "{" + label.GetName() + "=" + label.GetValue() + "}"
				}
			}
			switch {
			case m.Counter != nil:
				out[key] = m.Counter.GetValue()
			case m.Gauge != nil:
				out[key] = m.Gauge.GetValue()
			case m.Histogram != nil:
				out[key+"#count"] = float64(m.Histogram.GetSampleCount())
				out[key+"#sum"] = m.Histogram.GetSampleSum()
			}
		}
	}
	return out
}

// TestMetricsAgree: what /metrics says, what Counters says and the sum over all
// requests served are the same.
func TestMetricsAgree(t *testing.T) {
	cfg := quiet()
	cfg.MaxModelLen = 512
	cfg.Cache.GPUBlocks = 32
	cfg.Cache.HostGB, cfg.Cache.DiskGB = 0.05, 0.5
	cfg.Faults = Faults{DropRate: 0.2, EarlyStopRate: 0.2, ErrorRate: 0.1}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		for i := range 60 {
			body := chatBody(50+i%7*40, 1+i%5, "")
			if i%3 == 0 {
				body = strings.Replace(body, "w0", fmt.Sprint("other", i%4), 1)
			}
			if response, err := b.post(t.Context(), "/v1/chat/completions", body); err == nil {
				readEvents(response.Body)
				response.Body.Close()
			}
		}
		b.lastServed(60)
		got := flat(b.scrape())
		want := map[string]float64{}
		for _, served := range b.served {
			d := served.Done
			if d == nil {
				continue
			}
			want["vllm:request_success_total{finished_reason="+string(d.Finish)+"}"]++
			want["vllm:prefix_cache_queries_total"] += float64(d.PromptTokens)
			want["vllm:prefix_cache_hits_total"] += float64(d.Cached.GPU)
			want["vllm:external_prefix_cache_queries_total"] += float64(d.PromptTokens - d.Cached.GPU)
			want["vllm:external_prefix_cache_hits_total"] += float64(d.Cached.Host + d.Cached.Disk)
			want["vllm:prompt_tokens_total"] += float64(d.PromptTokens)
			want["vllm:prompt_tokens_cached_total"] += float64(d.Cached.Total())
			want["vllm:generation_tokens_total"] += float64(d.OutputTokens)
			want["vllm:prompt_tokens_by_source_total{source=local_compute}"] += float64(d.PromptTokens - d.Cached.Total())
			want["vllm:prompt_tokens_by_source_total{source=local_cache_hit}"] += float64(d.Cached.GPU)
			want["vllm:prompt_tokens_by_source_total{source=external_kv_transfer}"] += float64(d.Cached.Host + d.Cached.Disk)
			want["vllm:time_to_first_token_seconds#count"]++
			want["vllm:time_to_first_token_seconds#sum"] += (d.FirstToken - d.Arrived).Seconds()
			want["vllm:inter_token_latency_seconds#count"] += float64(d.OutputTokens - 1)
			want["vllm:inter_token_latency_seconds#sum"] += (d.LastToken - d.FirstToken).Seconds()
			if d.Finish != FinishAbort {
				want["vllm:e2e_request_latency_seconds#count"]++
				want["vllm:e2e_request_latency_seconds#sum"] += (d.LastToken - d.Arrived).Seconds()
				want["vllm:request_queue_time_seconds#count"]++
				want["vllm:request_queue_time_seconds#sum"] += (d.Admitted - d.Arrived).Seconds()
			}
		}
		for name, value := range want {
			if value == 0 && !strings.Contains(name, "queue_time_seconds#sum") {
				t.Errorf("%s: the test exercised nothing of it", name)
			}
			if math.Abs(got[name]-value) > 1e-6 {
				t.Errorf("%s is %v, the requests add up to %v", name, got[name], value)
			}
		}
		c := b.server.Counters()
		for name, value := range map[string]int64{
			"vllm:prompt_tokens_total":          c.PromptTokens,
			"vllm:generation_tokens_total":      c.GeneratedTokens,
			"vllm:prefix_cache_hits_total":      c.CacheHits,
			"vllm:num_preemptions_total":        c.Preemptions,
			"vllm:num_requests_running":         int64(c.Running),
			"vllm:num_requests_waiting":         int64(c.Waiting),
			"vllm:iteration_tokens_total#count": c.Steps,
			"vllm:iteration_tokens_total#sum":   c.PrefillComputed + c.DecodeComputed,
		} {
			if sample, ok := got[name]; !ok || sample != float64(value) {
				t.Errorf("%s is %v, Counters says %d", name, sample, value)
			}
		}
		if _, ok := got["vllm:kv_cache_usage_perc"]; !ok {
			t.Error("no vllm:kv_cache_usage_perc")
		}
		if got["vllm:cache_config_info{block_size=16}{num_gpu_blocks=32}{enable_prefix_caching=True}"] != 1 {
			t.Errorf("cache_config_info: %v", got)
		}
	})
}

func TestSGLangNames(t *testing.T) {
	cfg := quiet()
	cfg.Metrics = SGLang
	cfg.MaxModelLen, cfg.Cache.GPUBlocks, cfg.Cache.HostGB = 512, 32, 1
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.stream(chatBody(92, 3, ""))
		b.stream(chatBody(92, 3, ""))
		families := b.scrape()
		for name := range families {
			if !strings.HasPrefix(name, "sglang:") {
				t.Errorf("foreign metric %s", name)
			}
		}
		got := flat(families)
		for name, want := range map[string]float64{
			"sglang:prompt_tokens_total":                         200,
			"sglang:generation_tokens_total":                     6,
			"sglang:cached_tokens_total{cache_source=device}":    96,
			"sglang:cached_tokens_total{cache_source=host}":      0,
			"sglang:cache_hit_rate":                              0.48,
			"sglang:realtime_tokens_total{mode=prefill_compute}": 104,
			"sglang:realtime_tokens_total{mode=prefill_cache}":   96,
			"sglang:realtime_tokens_total{mode=decode}":          4,
			"sglang:max_total_num_tokens":                        512,
			"sglang:token_usage":                                 0,
			"sglang:num_requests_total":                          2,
			"sglang:time_to_first_token_seconds#count":           2,
		} {
			if value, ok := got[name]; !ok || value != want {
				t.Errorf("%s is %v, want %v", name, value, want)
			}
		}
	})
}

// TestAbsentIsNotZero: an unlimited pool has no usage.
func TestAbsentIsNotZero(t *testing.T) {
	inBubble(t, quiet(), func(t *testing.T, b *bench) {
		if _, ok := b.scrape()["vllm:kv_cache_usage_perc"]; ok {
			t.Error("an unlimited pool reports its usage")
		}
	})
}

func TestHistogramBuckets(t *testing.T) {
	h := newHistogram([]float64{1, 2})
	for _, v := range []float64{0.5, 1, 1.5, 2, 3} {
		h.observe(v)
	}
	if diff := cmp.Diff([]uint64{2, 2, 1}, h.counts); diff != "" || h.count != 5 || h.sum != 8 {
		t.Errorf("%s %+v", diff, h)
	}
}
