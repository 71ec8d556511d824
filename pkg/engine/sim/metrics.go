package sim

import (
	"net/http"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// metrics answers /metrics in Prometheus' text format.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	for _, family := range s.families() {
		if encoder.Encode(family) != nil {
			return // the scraper has left
		}
	}
}

func (s *Server) families() []*dto.MetricFamily {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Metrics == SGLang {
		return s.model.sglangFamilies()
	}
	return s.model.vllmFamilies()
}

// families gathers metrics that share a prefix and labels.
type families struct {
	prefix string
	labels []*dto.LabelPair
	all    []*dto.MetricFamily
}

func labelPairs(nameValue ...string) (pairs []*dto.LabelPair) {
	for i := 0; i+1 < len(nameValue); i += 2 {
		name, value := nameValue[i], strings.ToValidUTF8(nameValue[i+1], "\uFFFD")
		pairs = append(pairs, &dto.LabelPair{Name: &name, Value: &value})
	}
	return pairs
}

// add appends a metric, to the family before it when that has the same name.
func (f *families) add(kind dto.MetricType, name, help string, m *dto.Metric, labels []string) {
	name = f.prefix + name
	m.Label = append(append(m.Label, f.labels...), labelPairs(labels...)...)
	if n := len(f.all); n > 0 && f.all[n-1].GetName() == name {
		f.all[n-1].Metric = append(f.all[n-1].Metric, m)
		return
	}
	f.all = append(f.all, &dto.MetricFamily{Name: &name, Help: &help, Type: &kind, Metric: []*dto.Metric{m}})
}

func (f *families) counter(name, help string, value int64, labels ...string) {
	f.counterFloat(name, help, float64(value), labels...)
}

func (f *families) counterFloat(name, help string, value float64, labels ...string) {
	f.add(dto.MetricType_COUNTER, name+"_total", help, &dto.Metric{Counter: &dto.Counter{Value: &value}}, labels)
}

func (f *families) gauge(name, help string, value float64, labels ...string) {
	f.add(dto.MetricType_GAUGE, name, help, &dto.Metric{Gauge: &dto.Gauge{Value: &value}}, labels)
}

func (f *families) histogram(name, help string, h *histogram) {
	d := &dto.Histogram{SampleCount: new(uint64), SampleSum: new(float64)}
	*d.SampleCount, *d.SampleSum = h.count, h.sum
	var cumulative uint64
	for i, bound := range h.bounds {
		cumulative += h.counts[i]
		c := cumulative
		d.Bucket = append(d.Bucket, &dto.Bucket{CumulativeCount: &c, UpperBound: &bound})
	}
	f.add(dto.MetricType_HISTOGRAM, name, help, &dto.Metric{Histogram: d}, nil)
}

// vllmFamilies speaks vLLM's names (spec/inferencex.md §4.2).
func (m *Model) vllmFamilies() []*dto.MetricFamily {
	c, s := m.Counters(), &m.stats
	f := &families{prefix: "vllm:", labels: labelPairs("engine", "0", "model_name", m.cfg.Model)}
	f.gauge("num_requests_running", "Sequences in the batch.", float64(c.Running))
	f.gauge("num_requests_waiting", "Sequences in the queue.", float64(c.Waiting))
	if usage, ok := c.KVUsage(); ok {
		f.gauge("kv_cache_usage_perc", "Share of the KV blocks in use; 1 is all.", usage)
	}
	f.counter("prefix_cache_queries", "Prompt tokens looked up in the prefix cache.", c.CacheQueries)
	f.counter("prefix_cache_hits", "Prompt tokens found in the prefix cache.", c.CacheHits)
	f.counter("external_prefix_cache_queries", "Prompt tokens looked up in the lower tiers.", c.ExternalQueries)
	f.counter("external_prefix_cache_hits", "Prompt tokens found in the lower tiers.", c.ExternalHits)
	f.counter("num_preemptions", "Sequences that lost their blocks.", c.Preemptions)
	f.counter("prompt_tokens", "Prompt tokens of the requests that got a first token.", c.PromptTokens)
	const bySource = "prompt_tokens_by_source"
	f.counter(bySource, "The same by source.", c.LocalCompute, "source", "local_compute")
	f.counter(bySource, "", c.LocalCacheHit, "source", "local_cache_hit")
	f.counter(bySource, "", c.HostHit+c.DiskHit, "source", "external_kv_transfer")
	f.counter("prompt_tokens_cached", "Prompt tokens that were not computed.", c.LocalCacheHit+c.HostHit+c.DiskHit)
	f.counter("generation_tokens", "Tokens generated.", c.GeneratedTokens)
	for _, finish := range []Finish{FinishStop, FinishLength, FinishAbort} {
		f.counter("request_success", "Requests that ended.", c.Requests[finish], "finished_reason", string(finish))
	}
	f.histogram("iteration_tokens_total", "Tokens of a step.", &s.stepOf)
	f.histogram("request_prompt_tokens", "Prompt tokens of a request.", &s.promptSize)
	f.histogram("request_generation_tokens", "Tokens generated for a request.", &s.outputSize)
	f.histogram("time_to_first_token_seconds", "From arrival to the first token.", &s.ttft)
	f.histogram("inter_token_latency_seconds", "From one token to the next.", &s.itl)
	f.histogram("time_per_output_token_seconds", "The same under its older name.", &s.itl)
	f.histogram("request_time_per_output_token_seconds", "Mean time per token after the first, of a request.", &s.tpot)
	f.histogram("e2e_request_latency_seconds", "From arrival to the last token.", &s.e2e)
	f.histogram("request_queue_time_seconds", "From arrival to the first batch.", &s.queue)
	f.histogram("request_inference_time_seconds", "From the first batch to the last token.", &s.infer)
	f.histogram("request_prefill_time_seconds", "From the first batch to the first token.", &s.prefill)
	f.histogram("request_decode_time_seconds", "From the first token to the last.", &s.decode)
	if m.host.limit > 0 || m.disk.limit > 0 {
		const transfer = "transfer_type"
		f.counter("kv_offload_total_bytes", "Bytes moved between tiers.", c.OffloadedBytes, transfer, "GPU_to_CPU")
		f.counter("kv_offload_total_bytes", "", c.LoadedBytes, transfer, "CPU_to_GPU")
		f.counterFloat("kv_offload_total_time", "Seconds spent loading.", (m.host.loading + m.disk.loading).Seconds(), transfer, "CPU_to_GPU")
	}
	blocks := "None"
	if c.GPUBlocks > 0 {
		blocks = strconv.Itoa(c.GPUBlocks)
	}
	f.gauge("cache_config_info", "The cache's settings.", 1,
		"block_size", strconv.Itoa(c.BlockSize), "num_gpu_blocks", blocks,
		"enable_prefix_caching", pythonBool(!m.cfg.Cache.NoPrefixCaching))
	return f.all
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
