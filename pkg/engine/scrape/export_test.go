package scrape

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// busy is a page of two engines at a moment: counters, gauges, a histogram, a
// labelled counter that appears late, and what an export leaves out.
func busy(since time.Duration) string {
	s := since.Seconds()
	var b strings.Builder
	fmt.Fprintf(&b, `# HELP vllm:num_requests_running Running.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} %d
vllm:num_requests_running{engine="1"} 2
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} %v
vllm:kv_cache_usage_perc{engine="1"} 0.125
# HELP vllm:prompt_tokens_total Prompt \"tokens\".
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0"} %v
vllm:prompt_tokens_total{engine="1"} %v
# TYPE vllm:prompt_tokens_created gauge
vllm:prompt_tokens_created{engine="0"} 1.7e+09
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0"} %v
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0"} %v
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",le="8"} %v
vllm:iteration_tokens_total_bucket{engine="0",le="64"} %v
vllm:iteration_tokens_total_bucket{engine="0",le="+Inf"} %v
vllm:iteration_tokens_total_sum{engine="0"} %v
vllm:iteration_tokens_total_count{engine="0"} %v
# TYPE odd_summary summary
odd_summary{quantile="0.5"} 3
odd_summary_sum 7
odd_summary_count 2
odd_untyped{path="/a}b",text="say \"}\" "} 5
`, int(s)%3, s/100, 100*s, 50*s, 100*s, 25*s, 2*s, 6*s, 10*s, 200*s, 10*s)
	if since > 4*time.Second {
		fmt.Fprintf(&b, "# TYPE late_total counter\nlate_total{why=\"x\"} %v\n", s)
	}
	return b.String()
}

func exported(t *testing.T, slice time.Duration, answer func(int, time.Duration) (string, time.Duration)) (*Export, Window) {
	t.Helper()
	r := record1s(t, &engine{answer: answer}, Options{Ledger: true, Slice: slice})
	time.Sleep(500 * time.Millisecond)
	mark(t, r, "warmup") // at 0.5
	time.Sleep(2 * time.Second)
	mark(t, r, "measured") // at 2.5
	time.Sleep(5 * time.Second)
	mark(t, r, "end") // at 7.5
	time.Sleep(3 * time.Second)
	r.Stop()
	e := &Export{SchemaVersion: "1.1", AIPerfVersion: "agentx test", BenchmarkID: "b", MetricsPhase: "profiling"}
	e.Add(r, Phases{"warmup", "measured", "end"})
	w, err := r.Window("measured", "end")
	if err != nil {
		t.Fatal(err)
	}
	return e, w
}

// sumStat and gaugeStat are how InferenceX reads the file (spec/inferencex.md §4.1).
func sumStat(m ExportMetric, where ...string) (total float64) {
	for _, s := range m.Series {
		if len(where) == 2 && s.Labels[where[0]] != where[1] {
			continue
		}
		for _, name := range []string{"total", "sum", "max", "avg"} {
			if v, ok := s.Stats[name]; ok {
				total += v
				break
			}
		}
	}
	return total
}

func gaugeStat(m ExportMetric) (most float64) {
	for _, s := range m.Series {
		for _, name := range []string{"max", "avg", "total"} {
			if v, ok := s.Stats[name]; ok {
				most = max(most, v)
				break
			}
		}
	}
	return most
}

func TestExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, w := exported(t, 2*time.Second, func(_ int, since time.Duration) (string, time.Duration) { return busy(since), 0 })
		for name, want := range map[string]Name{"vllm:prompt_tokens": PromptTokens, "vllm:prefix_cache_queries": PrefixQueries, "vllm:prefix_cache_hits": PrefixHits} {
			if got := sumStat(e.Metrics[name]); math.Abs(got-w.Delta.Counters[want]) > 1e-9 {
				t.Errorf("InferenceX reads %s as %v, our counters say %v", name, got, w.Delta.Counters[want])
			}
		}
		if got := sumStat(e.Metrics["vllm:prompt_tokens"]); got != 750 {
			t.Errorf("prompt tokens %v, want 5 s at 100 and 50", got)
		}
		if got := gaugeStat(e.Metrics["vllm:kv_cache_usage_perc"]); got != w.Gauges[KVUsageMax].Max {
			t.Errorf("peak of the KV usage %v, want %v", got, w.Gauges[KVUsageMax].Max)
		}
		if got := sumStat(e.Warmup["vllm:prompt_tokens"]); got != 300 {
			t.Errorf("the warm-up's prompt tokens %v, want 300", got)
		}
		if got := sumStat(e.Metrics["late"]); got != 7.5 {
			t.Errorf("a counter that appeared counts %v, want all of it", got)
		}
		if _, there := e.Warmup["late"]; there {
			t.Error("a counter stands in a phase before it was there")
		}
		for _, name := range []string{"odd_summary", "odd_summary_sum", "vllm:prompt_tokens_created", "vllm:prompt_tokens_total"} {
			if _, there := e.Metrics[name]; there {
				t.Errorf("%s is in the export", name)
			}
		}
		if m := e.Metrics["odd_untyped"]; m.Type != "unknown" || m.Series[0].Labels["text"] != `say "}" ` || m.Series[0].Labels["path"] != "/a}b" {
			t.Errorf("odd labels: %+v", m)
		}
		h := e.Metrics["vllm:iteration_tokens_total"].Series[0]
		if h.Stats["count"] != 50 || h.Stats["sum"] != 1000 || h.Stats["avg"] != 20 || *h.Buckets["64"] != 30 || *h.Buckets["+Inf"] != 50 {
			t.Errorf("histogram %v %v", h.Stats, h.Buckets)
		}
		// 10 of 50 below 8, 20 more below 64: the median is the 25th, three quarters through the second bucket.
		if got := h.Stats["p50_estimate"]; got != 8+56*0.75 {
			t.Errorf("median %v, want 50", got)
		}
		if got := h.Stats["p99_estimate"]; got != 64 {
			t.Errorf("p99 %v, want the last bound", got)
		}
		c := e.Metrics["vllm:prompt_tokens"].Series[0]
		if len(c.Timeslices) != 3 || *c.Timeslices[2].IsComplete || c.Timeslices[0].IsComplete != nil || c.Stats["rate"] != 100 {
			t.Errorf("slices %+v, stats %v", c.Timeslices, c.Stats)
		}
		total := 0.0
		for _, s := range c.Timeslices {
			total += *s.Total
		}
		if math.Abs(total-c.Stats["total"]) > 1e-9 {
			t.Errorf("the slices add up to %v, not to %v", total, c.Stats["total"])
		}
		if s := e.Warmup["vllm:prompt_tokens"].Series[0]; s.Stats["rate"] != 150.0*100/150 {
			t.Errorf("warm-up rate %v", s.Stats["rate"])
		}
	})
}

func TestExportOfReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := exported(t, 0, func(_ int, since time.Duration) (string, time.Duration) {
			if since > 5*time.Second {
				since -= 5 * time.Second
			}
			return busy(since), 0
		})
		// Seen at 5 s before the restart, from 2.5 s: 250; then 2.5 s after it: 250.
		if got := sumStat(e.Metrics["vllm:prompt_tokens"], "engine", "0"); got != 500 {
			t.Errorf("%v tokens over a restart, want 500", got)
		}
		h := e.Metrics["vllm:iteration_tokens_total"].Series[0]
		if h.Buckets["8"] != nil {
			t.Error("buckets of a server that restarted")
		}
		if _, there := h.Stats["p50_estimate"]; there {
			t.Error("percentiles of a server that restarted")
		}
		if h.Timeslices != nil {
			t.Error("slices though none were asked for")
		}
	})
}

func TestExportText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := exported(t, 0, func(_ int, since time.Duration) (string, time.Duration) { return busy(since), 0 })
		e.Configured("http://user:secret@gone:9/metrics?key=secret")
		text, err := json.Marshal(e, json.Deterministic(true))
		if err != nil || bytes.Contains(text, []byte("secret")) {
			t.Fatalf("%s: %v", text, err)
		}
		var back struct {
			Summary struct {
				Info map[string]struct {
					Fetches int `json:"total_fetches"`
				} `json:"endpoint_info"`
			} `json:"summary"`
		}
		if err := json.Unmarshal(text, &back); err != nil || back.Summary.Info["http://engine/metrics"].Fetches != 14 {
			t.Errorf("%+v: %v", back, err)
		}
		var table bytes.Buffer
		if err := e.WriteCSV(&table); err != nil {
			t.Fatal(err)
		}
		read := csv.NewReader(&table)
		read.Comment, read.FieldsPerRecord = '#', -1
		rows, err := read.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, row := range rows {
			if row[2] == "vllm:prompt_tokens" && row[10] == "0" {
				found = true
				want := []string{"engine", "counter", "vllm:prompt_tokens", "tokens", "500.0000", "100.0000", "", "", "", "", "0", "", `Prompt \"tokens\".`}
				if diff := cmp.Diff(want, row); diff != "" {
					t.Errorf("row (-want +got):\n%s", diff)
				}
			}
		}
		if !found {
			t.Errorf("no row of the prompt tokens in %v", rows)
		}
	})
}

// The spread of many samples in little memory is that of all of them.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 700, 1024, 1025, 5000, 100_000} {
		var s, a, b spread
		sum, squares := 0.0, 0.0
		values := make([]float64, n)
		for i := range values {
			if i >= n/3 { // a third of them alike
				values[i] = rng.Float64()
			}
			s.add(values[i])
			if i < n/2 {
				a.add(values[i])
			} else {
				b.add(values[i])
			}
			sum += values[i]
		}
		a.join(&b)
		for _, v := range values {
			squares += (v - sum/float64(n)) * (v - sum/float64(n))
		}
		for name, d := range map[string]*spread{"one": &s, "joined": &a} {
			if d.n != n || math.Abs(d.mean-sum/float64(n)) > 1e-9 || len(d.kept) > maxSpread {
				t.Errorf("%d %s: n %d mean %v, want %v; %d kept", n, name, d.n, d.mean, sum/float64(n), len(d.kept))
			}
			if n > 1 && math.Abs(d.std()-math.Sqrt(squares/float64(n-1))) > 1e-9 {
				t.Errorf("%d %s: deviation %v", n, name, d.std())
			}
			// Uniform above a third of zeros: the median is 0.25.
			if p := d.percentiles([]float64{0, 50, 100}); n >= 5000 && (math.Abs(p[1]-0.25) > 0.06 || p[0] != 0) {
				t.Errorf("%d %s: percentiles %v", n, name, p)
			}
		}
	}
	var same spread
	for range 10_000 {
		same.add(7)
	}
	if same.kept != nil || same.percentiles([]float64{50})[0] != 7 || same.std() != 0 {
		t.Errorf("samples that are all alike: %+v", same)
	}
}

// Any page leaves the ledger in bounds, and every series is one that the
// library reads from the same line.
func FuzzLedger(f *testing.F) {
	f.Add(busy(3*time.Second), busy(5*time.Second))
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 3\na_sum NaN\na_count +Inf\n", "a_bucket{le=\"1\"} 1\n")
	f.Add("x{y=\"}\\\\\\\"\"} 1 17\n", "{\"q q\",b=\"c\"} 2\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		l := newLedger(time.Second)
		l.add(1, []byte(first), 0)
		l.cut("a", 1)
		l.add(2, []byte(second), 0)
		l.cut("b", 3)
		w, err := l.between("a", "b")
		if err != nil {
			t.Fatal(err)
		}
		into := map[string]ExportMetric{}
		(&exporter{ledger: l, url: "http://e"}).fill(into, w)
		for name, m := range into {
			for _, s := range m.Series {
				for stat, v := range s.Stats {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Errorf("%s: %s is %v", name, stat, v)
					}
				}
			}
		}
		e := &Export{Metrics: into}
		if err := e.WriteCSV(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkLedger(b *testing.B) {
	body := largePage(b)
	l := newLedger(time.Second)
	l.add(1, body, 0)
	l.cut("a", 1)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		l.add(2, body, 0)
	}
}
