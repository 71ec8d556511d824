package run

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"

	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// BenchmarkFirstRequest is the time from the start of a run to its first primer
// on the wire, for the real sample and for a folder of 700 such traces.
func BenchmarkFirstRequest(b *testing.B) {
	sample := tracetest.Folder(b)
	for _, n := range []int{25, 700} {
		b.Run(fmt.Sprintf("traces=%d", n), func(b *testing.B) {
			dir := copies(b, sample, n)
			for b.Loop() {
				b.ReportMetric(firstRequest(b, dir).Seconds(), "s/first_request")
			}
		})
	}
}

// copies fills a folder with n traces: the sample's, over and over, under ids of their own.
func copies(b *testing.B, sample string, n int) string {
	paths, err := filepath.Glob(filepath.Join(sample, "trace_*.json"))
	if err != nil || len(paths) == 0 {
		b.Fatal(err, "no traces")
	}
	dir := b.TempDir()
	for i := range n {
		text, err := os.ReadFile(paths[i%len(paths)])
		if err != nil {
			b.Fatal(err)
		}
		id := strings.TrimSuffix(filepath.Base(paths[i%len(paths)]), ".json")
		text = []byte(strings.Replace(string(text), `"`+id+`"`, fmt.Sprintf(`"%s_%d"`, id, i), 1))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("t%04d.json", i)), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// firstRequest runs until the first request with a tree's correlation id arrives.
func firstRequest(b *testing.B, dir string) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := time.Now()
	var first atomic.Int64
	var probes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/completions") {
			http.NotFound(w, r)
			return
		}
		if r.ContentLength > 16<<10 || probes.Add(1) > 16 { // a primer, not a probe
			first.CompareAndSwap(0, int64(time.Since(start)))
			cancel()
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	o := Options{
		Scenario: scenario.InferenceX, UnsafeOverride: true, Source: Source{Paths: []string{dir}}, Dir: b.TempDir(), Models: []string{"m"},
		NoMetrics: true, Settings: scenario.Settings{Concurrency: []int{8}, RandomSeed: p(uint64(42)), BenchmarkDurationS: p(900.0)}, Burst: true,
	}
	o.Client.URL = server.URL
	if _, err := Replay(ctx, o); err == nil || first.Load() == 0 {
		b.Fatal("no request came: ", err)
	}
	return time.Duration(first.Load())
}

// BenchmarkTreesResident is the memory that the real sample's traces and trees hold.
func BenchmarkTreesResident(b *testing.B) {
	paths, _ := filepath.Glob(filepath.Join(tracetest.Folder(b), "trace_*.json"))
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var kept []any
		for _, path := range paths {
			t, err := trace.ReadFile(path, trace.BasisAuto)
			if err != nil {
				b.Fatal(err)
			}
			built, err := tree.New(t)
			if err != nil {
				b.Fatal(err)
			}
			kept = append(kept, t, built)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB/held")
		b.ReportMetric(float64(after.Sys)/1e6, "MB/from_system")
		runtime.KeepAlive(kept)
	}
}

// BenchmarkManyStreams plays 540 lanes, so that about 500 streams are open at
// once, with prompts of 100,000 tokens against a server that writes 20 events a
// second on each stream, all in this process and unpinned, and reports how late
// requests were sent.
func BenchmarkManyStreams(b *testing.B) {
	const lanes, events = 540, 100
	dir := b.TempDir()
	longTraces(b, filepath.Join(dir, "long.jsonl"), lanes)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pace(w, r, events) }))
	defer server.Close()
	for b.Loop() {
		o := Options{
			Scenario: scenario.InferenceX, UnsafeOverride: true, Source: Source{Paths: []string{dir}}, Dir: filepath.Join(b.TempDir(), "a"), Models: []string{"m"},
			NoMetrics: true, Settings: scenario.Settings{
				Concurrency: []int{lanes}, RandomSeed: p(uint64(42)), BenchmarkDurationS: p(20.0), BenchmarkGracePeriodS: p(8.0),
				TrajectoryStartMinRatio: p(0.0), TrajectoryStartMaxRatio: p(1.0),
			},
		}
		o.Client.URL = server.URL
		if _, err := Replay(context.Background(), o); err != nil {
			b.Fatal(err)
		}
		report(b, o.Dir)
	}
}

// report gives the percentiles of lag and the load that was on.
func report(b *testing.B, dir string) {
	f, err := os.Open(filepath.Join(dir, result.FileRecords))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var lag []float64
	var busy time.Duration
	first, last := record.Stamp(0), record.Stamp(0)
	for r, err := range record.Read[record.Record](f, "records") {
		if err != nil {
			b.Fatal(err)
		}
		if r.Asked.Phase != record.PhaseProfiling {
			continue
		}
		if d, ok := r.Lag(); ok {
			lag = append(lag, d.Seconds()*1e3)
		}
		d, _ := r.Seen.End.Sub(r.Seen.Sent)
		busy += d
		if first == 0 || r.Seen.Sent < first {
			first = r.Seen.Sent
		}
		last = max(last, r.Seen.Sent)
	}
	slices.Sort(lag)
	b.ReportMetric(float64(len(lag)), "requests")
	b.ReportMetric(lag[len(lag)/2], "ms/lag_p50")
	b.ReportMetric(lag[len(lag)*99/100], "ms/lag_p99")
	// Requests take five seconds; the last of them run beyond the window that is counted.
	b.ReportMetric(busy.Seconds()/(time.Duration(last-first).Seconds()+5), "streams/mean")
}

// longTraces writes traces of five turns with prompts of about 100,000 tokens
// and a pause of a few seconds between them, spread so that lanes differ.
func longTraces(b *testing.B, name string, n int) {
	var text strings.Builder
	const blocks = 1560
	for i := range n {
		fmt.Fprintf(&text, `{"id":"t%d","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[`, i)
		for k := range 5 {
			if k > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, `{"t":%g,"type":"n","model":"m","in":%d,"out":100,"api_time":0.1,"hash_ids":[`, float64(k)*(0.3+0.4*float64(i)/float64(n)), (blocks+k)*64)
			for j := range blocks + k {
				if j > 0 {
					text.WriteByte(',')
				}
				fmt.Fprint(&text, j)
			}
			text.WriteString("]}")
		}
		text.WriteString("]}\n")
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
}

var discard = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// pace reads the request and writes events at 20 a second.
func pace(w http.ResponseWriter, r *http.Request, events int) {
	if !strings.HasSuffix(r.URL.Path, "/completions") {
		http.NotFound(w, r)
		return
	}
	buf := discard.Get().(*[]byte)
	_, _ = io.CopyBuffer(io.Discard, struct{ io.Reader }{r.Body}, *buf)
	discard.Put(buf)
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	if r.ContentLength < 16<<10 {
		events = 1
	}
	for range events {
		_, _ = io.WriteString(w, "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":100}}\n\ndata: [DONE]\n\n")
}
