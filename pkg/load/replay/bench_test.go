package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// sample reads the real traces, or skips where they are not.
func sample(b *testing.B) []*trace.Trace {
	b.Helper()
	folder := cmp.Or(os.Getenv("AGENTX_TEST_WEKA"), "../../../../shared/data/weka")
	files, _ := filepath.Glob(filepath.Join(folder, "trace_*.json"))
	if len(files) == 0 {
		b.Skipf("no traces in %s; AGENTX_TEST_WEKA names another folder", folder)
	}
	var out []*trace.Trace
	for _, f := range files {
		t, err := trace.ReadFile(f, trace.BasisAuto)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, t)
	}
	return out
}

// instant answers at once and reads nothing.
type instant struct{ clock record.Clock }

func (e instant) Send(context.Context, *record.Asked, Messages) record.Seen {
	now := e.clock.Now()
	return record.Seen{Outcome: record.OK, Sent: now, End: now}
}

// counter ends the run after so many requests.
type counter struct {
	log
	left int
	stop context.CancelFunc
}

func (c *counter) Request(record.Record) {
	if c.left--; c.left == 0 {
		c.stop()
	}
}

// BenchmarkScheduler is what a request costs the client apart from sending it:
// 256 lanes of the real sample, nothing but work. One operation is one request.
func BenchmarkScheduler(b *testing.B) {
	traces := sample(b)
	b.ReportAllocs()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	clock := record.NewClock()
	sink := &counter{left: b.N, stop: cancel}
	b.ResetTimer()
	out, err := Run(ctx, defaults(Config{Concurrency: 256, Delays: DelaysNone, Burst: true, StartMaxRatio: 1, Seed: 42}), Workload{Traces: traces, Maker: maker}, instant{clock}, sink, clock)
	if err != nil || !out.Cancelled {
		b.Fatal(err)
	}
}

// onFirst notes when the first request is sent.
type onFirst struct {
	instant
	once sync.Once
	stop context.CancelFunc
	at   time.Time
}

func (e *onFirst) Send(ctx context.Context, a *record.Asked, m Messages) record.Seen {
	e.once.Do(func() {
		e.at = time.Now()
		e.stop()
	})
	return e.instant.Send(ctx, a, m)
}

// BenchmarkStart is the way from the real sample on disk to the first request:
// reading, trees, prompts (the word text apart). The bar is 3 s.
func BenchmarkStart(b *testing.B) {
	sample(b)
	var total time.Duration
	for b.Loop() {
		start := time.Now()
		traces := sample(b)
		ctx, cancel := context.WithCancel(b.Context())
		clock := record.NewClock()
		first := &onFirst{instant: instant{clock}, stop: cancel}
		if _, err := Run(ctx, defaults(Config{Concurrency: 64, Seed: 42, StartMaxRatio: 1}), Workload{Traces: traces, Maker: maker}, first, &log{}, clock); err != nil {
			b.Fatal(err)
		}
		total += first.at.Sub(start)
	}
	b.ReportMetric(total.Seconds()*1e3/float64(b.N), "ms-to-first")
}

// drain reads the body as a socket would and answers after a time.
type drain struct {
	clock record.Clock
	takes time.Duration
}

func (e drain) Send(ctx context.Context, a *record.Asked, m Messages) record.Seen {
	seen := record.Seen{Outcome: record.OK, Sent: e.clock.Now()}
	_, _ = io.Copy(io.Discard, m)
	select {
	case <-time.After(e.takes):
	case <-ctx.Done():
	}
	seen.End = e.clock.Now()
	return seen
}

// BenchmarkScheduleLag runs 500 lanes of 100,000-token prompts for ten seconds
// of real time, about 125 requests a second, and reports how late they were
// sent. The bar is 5 ms at p99.
func BenchmarkScheduleLag(b *testing.B) {
	const lanes, blocks = 500, 1563
	var all strings.Builder
	for i := range 25 {
		var requests []string
		for k := range 12 {
			ids := make([]string, blocks+k)
			for j := range ids {
				ids[j] = fmt.Sprint(j)
			}
			requests = append(requests, fmt.Sprintf(`{"t":%d.%03d,"type":"s","model":"m","in":%d,"out":100,"hash_ids":[%s],"api_time":1}`,
				4*k, 37*i, 64*len(ids), strings.Join(ids, ",")))
		}
		fmt.Fprintf(&all, `{"id":"l%d","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[%s]}`+"\n", i, strings.Join(requests, ","))
	}
	traces := read(b, all.String())
	var lags []time.Duration
	for b.Loop() {
		clock := record.NewClock()
		l := &log{}
		cfg := defaults(Config{Concurrency: lanes, Seed: 1, StartMaxRatio: 1, Duration: 10 * time.Second, SampleEvery: 2 * time.Second})
		if _, err := Run(b.Context(), cfg, Workload{Traces: traces, Maker: maker}, drain{clock, time.Second}, l, clock); err != nil {
			b.Fatal(err)
		}
		for _, r := range l.requests {
			if r.Asked.Kind == record.KindTurn {
				lags = append(lags, time.Duration(r.Seen.Sent-r.Asked.Ready))
			}
		}
	}
	slices.Sort(lags)
	b.ReportMetric(lags[len(lags)*99/100].Seconds()*1e3, "ms-p99")
	b.ReportMetric(lags[len(lags)/2].Seconds()*1e3, "ms-p50")
	b.ReportMetric(float64(len(lags))/10/float64(b.N), "requests/s")
}
