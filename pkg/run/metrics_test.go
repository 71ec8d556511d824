package run

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/engine/gpu"
	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// replicas is a router in front of two engines, with a page of its own, and the
// exporter of their GPUs; by host.
type replicas struct {
	first, second http.Handler
	sent          [2]atomic.Int64
	began         time.Time
}

func (c *replicas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Host {
	case "first", "again": // one engine by two names
		c.first.ServeHTTP(w, r)
	case "second":
		c.second.ServeHTTP(w, r)
	case "router-metrics":
		fmt.Fprintf(w, "# TYPE vllm_router_requests_total counter\nvllm_router_requests_total{route=\"/v1\"} %d\n", c.sent[0].Load()+c.sent[1].Load())
		for i := range c.sent {
			fmt.Fprintf(w, "vllm_router_processed_requests_total{worker=\"http://user:key@w%d\"} %d\n", i, c.sent[i].Load())
		}
	case "dcgm:9400":
		s := time.Since(c.began).Seconds()
		for i := range 3 { // the third is idle
			l := fmt.Sprintf("{gpu=\"%d\",UUID=\"GPU-%d\",modelName=\"NVIDIA H200\",DCGM_FI_DRIVER_VERSION=\"570.1\"}", i, i)
			fmt.Fprintf(w, "DCGM_FI_DEV_POWER_USAGE%s %d\nDCGM_FI_DEV_FB_USED%s %d\nDCGM_FI_DEV_FB_FREE%s 1000\n", l, 100*(i+1), l, 9000*(2-i), l)
			if i == 0 {
				fmt.Fprintf(w, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION%s %f\n", l, 1e6+90e3*s)
			}
		}
	default:
		engine, n := c.first, 0
		if strings.HasSuffix(r.URL.Path, "/completions") && (c.sent[0].Load()+c.sent[1].Load())%3 == 2 {
			engine, n = c.second, 1
		}
		if strings.HasSuffix(r.URL.Path, "/completions") {
			c.sent[n].Add(1)
		}
		engine.ServeHTTP(w, r)
	}
}

// TestSeveralPages: engines add up, a repeated page does not, a router's figures
// stand apart, and the export says the same.
func TestSeveralPages(t *testing.T) {
	cfg := endless()
	var other *sim.Server
	cluster := &replicas{}
	onEngine(t, cfg, func(engine http.Handler) http.Handler {
		var err error
		if other, err = sim.New(cfg); err != nil {
			t.Fatal(err)
		}
		cluster.first, cluster.second, cluster.began = engine, other, time.Now()
		return cluster
	}, func(t *testing.T, o Options) {
		defer other.Close()
		o.Fixed = FixedOptions{Shapes: []fixed.Shape{{ISL: 800, OSL: 200}}, Concurrency: []int{4}, KeepCache: true, Endpoint: fixed.Completions}
		o.MetricsURLs = []string{"http://first", "http://router-metrics", "http://second", "http://again/metrics", "http://nobody:1/none"}
		o.GPUTelemetry = []string{"dcgm:9400", "http://first"}
		slice := 1.0
		o.Settings.SliceDurationS = &slice
		reports, err := Fixed(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		wholeFolder(t, o.Dir)
		d := reports[0].Document
		e := &d.Engine
		if e.Name != "vllm" || *e.Replicas != 2 || len(e.MetricsNotes) != 2 || !strings.Contains(e.MetricsNotes[0], "HTTP 404") || !strings.Contains(e.MetricsNotes[1], "repeat") {
			t.Errorf("%s, %v replicas, notes %q", e.Name, e.Replicas, e.MetricsNotes)
		}
		if got, want := *e.Profiling.PromptTokens, d.Metrics.Run["total_isl"].Value; got != want {
			t.Errorf("the engines counted %v prompt tokens, the client %v", got, want)
		}
		if got, want := *e.Profiling.GenerationTokens, d.Metrics.Run["total_osl"].Value; got != want {
			t.Errorf("the engines counted %v tokens, the client %v", got, want)
		}
		if m := *e.Profiling.RunningMax; m > 4 || m < 3 {
			t.Errorf("at most %v requests ran, with 4 at once", m)
		}
		by := e.Profiling.RouterRequestsByWorker
		if len(by) != 2 || by["http://user:xxxxx@w0"]+by["http://user:xxxxx@w1"] != 40 || by["http://user:xxxxx@w1"] < 10 {
			t.Errorf("requests by worker %v", by)
		}
		exports(t, o.Dir, e)
		seriesOf(t, o.Dir)
		energy(t, o.Dir, d)
	})
}

// exports holds the export against the engines' counters, read as InferenceX
// reads it.
func exports(t *testing.T, dir string, e *result.EngineFacts) {
	t.Helper()
	var x scrape.Export
	if err := json.Unmarshal(read(t, dir, result.FileServerMetrics), &x); err != nil {
		t.Fatal(err)
	}
	if len(x.Summary.EndpointsConfigured) != 5 || len(x.Summary.EndpointsSuccessful) != 4 {
		t.Errorf("endpoints %v of %v", x.Summary.EndpointsSuccessful, x.Summary.EndpointsConfigured)
	}
	for name, want := range map[string]float64{"vllm:prompt_tokens": *e.Profiling.PromptTokens, "vllm:generation_tokens": *e.Profiling.GenerationTokens, "vllm:prefix_cache_queries": *e.Profiling.PrefixCacheQueries} {
		total, sliced := 0.0, 0.0
		for _, s := range x.Metrics[name].Series {
			if s.EndpointURL == "http://again/metrics" { // the file has every page
				continue
			}
			total += s.Stats["total"]
			for _, c := range s.Timeslices {
				sliced += *c.Total
			}
		}
		if total != want || math.Abs(sliced-want) > 1e-6 {
			t.Errorf("%s: %v, in slices %v; the counters say %v", name, total, sliced, want)
		}
	}
	if h := x.Metrics["vllm:time_to_first_token_seconds"]; h.Type != "histogram" || h.Series[0].Stats["count"] == 0 {
		t.Errorf("a family that no table reads: %+v", h)
	}
	if len(x.Warmup) == 0 {
		t.Error("no warm-up")
	}
	if table := string(read(t, dir, result.FileServerMetricsCSV)); !strings.Contains(table, "first,counter,vllm:prompt_tokens,tokens,") {
		t.Errorf("the table has no row of the first engine: %.300s", table)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// seriesOf reads the series: every page that answered is in it.
func seriesOf(t *testing.T, dir string) {
	t.Helper()
	in, err := result.OpenSeries(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	seen := map[string]int{}
	for l, err := range record.Read[scrape.Line](in, result.FileSeries) {
		if err != nil {
			t.Fatal(err)
		}
		if l.At == 0 || l.Engine == "" {
			t.Errorf("a line without a stamp or an engine: %+v", l)
		}
		seen[l.Endpoint]++
	}
	for _, host := range []string{"first", "second", "again", "router-metrics"} {
		if seen["http://"+host+"/metrics"] < 5 {
			t.Errorf("lines %v", seen)
		}
	}
}

// energy holds the power of the two GPUs in use against what they were made to
// draw: 90 W by the meter of the first, 200 W of the second.
func energy(t *testing.T, dir string, d *result.Document) {
	t.Helper()
	if d.GPUs == nil || d.GPUs.Count != 2 || d.GPUs.Model != "NVIDIA H200" || d.GPUs.Driver != "570.1" {
		t.Errorf("GPUs %+v", d.GPUs)
	}
	g := d.Telemetry
	if len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "no GPU on the page") || len(g.Profiling) != 2 || len(g.Warmup) != 2 {
		t.Fatalf("telemetry %+v", g)
	}
	var phase float64
	for _, p := range d.Phases {
		if p.Name == record.PhaseProfiling {
			phase = *p.Seconds
		}
	}
	p := d.Power
	if p.Valid != 1 || p.GPUs != 2 || math.Abs(*p.TotalEnergyJ-290*phase) > 0.01 || *p.AvgPowerW != 150 || *p.MaxPowerW != 200 {
		t.Errorf("power %+v over %v s", p, phase)
	}
	if a, b := g.Profiling[0], g.Profiling[1]; a.EnergyFrom != "meter" || b.EnergyFrom != "power" || math.Abs(*a.PowerIntegralJ-100*phase) > 0.01 {
		t.Errorf("by GPU %+v", g.Profiling)
	}
	out := d.Metrics.Run["total_osl"].Value
	if want := *p.TotalEnergyJ / out; math.Abs(*p.JoulesPerOutputToken-want) > 1e-5*want || *p.JoulesPerTotalToken >= *p.JoulesPerInputToken {
		t.Errorf("%v J a token of output, want %v", *p.JoulesPerOutputToken, want)
	}
	in, err := result.OpenTelemetry(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n := 0
	for s, err := range record.Read[gpu.Sample](in, result.FileTelemetry) {
		if err != nil || len(s.Devices) != 3 || s.Source != "http://dcgm:9400/metrics" {
			t.Fatalf("%+v, %v", s, err)
		}
		n++
	}
	if n != g.Samples {
		t.Errorf("%d lines of %d samples", n, g.Samples)
	}
}

// TestNoTelemetry: without it there is neither a file nor a figure.
func TestNoTelemetry(t *testing.T) {
	onEngine(t, endless(), nil, func(t *testing.T, o Options) {
		o.Fixed = small(fixed.Completions, 2)
		o.GPUTelemetry, o.NoGPUTelemetry = []string{"dcgm:9400"}, true
		reports, err := Fixed(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		d := reports[0].Document
		if d.Telemetry != nil || d.Power != nil || d.GPUs != nil {
			t.Errorf("%+v %+v %+v", d.Telemetry, d.Power, d.GPUs)
		}
		if _, err := result.OpenTelemetry(o.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file: %v", err)
		}
	})
}
