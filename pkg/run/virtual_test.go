package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/result/validity"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// pipes is a network of in-memory connections to one listener: a bubble of
// virtual time cannot wait for a real one.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// evidence is what a virtual run left: the client's side and the engine's.
type evidence struct {
	records []*record.Record
	trees   []*record.Tree
	doc     *result.Document
	served  []sim.Served
	metrics scrape.Snapshot // the engine's page at the end
}

// virtually runs a replay against the embedded engine in virtual time.
func virtually(t *testing.T, cfg sim.Config, o Options) (e evidence) {
	synctest.Test(t, func(t *testing.T) {
		server, err := sim.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		server.OnServed = func(s sim.Served) {
			mu.Lock()
			defer mu.Unlock()
			e.served = append(e.served, s)
		}
		network := newPipes()
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, network) }()

		o.Client.URL, o.Client.Dial = "http://engine", network.dial
		o.Dir = t.TempDir()
		report, err := Replay(t.Context(), o)
		if err != nil {
			t.Error(err)
		}
		e.doc = report.Document
		e.records = readLines[record.Record](t, filepath.Join(o.Dir, result.FileRecords))
		e.trees = readLines[record.Tree](t, filepath.Join(o.Dir, result.FileTrees))
		if problems, err := result.Check(o.Dir); err != nil || len(problems) > 0 {
			t.Errorf("the artifacts do not validate: %v %v", err, problems)
		}
		source := scrape.Source{URL: "http://engine/metrics", Client: &http.Client{Transport: &http.Transport{DialContext: network.dial, DisableKeepAlives: true}}, Clock: record.NewClock()}
		page, err := source.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e.metrics = scrape.Read(page)
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		_ = server.Close()
	})
	return e
}

func readLines[T any](t *testing.T, name string) (out []*T) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for v, err := range record.Read[T](f, name) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func p[T any](v T) *T { return &v }

// endless is the default engine with a cache that holds everything ever sent.
func endless() sim.Config {
	cfg := sim.Default()
	cfg.Cache.GPUBlocks = 0
	return cfg
}

// TestThirtyMinutes is the acceptance run: real traces, eight lanes, thirty
// virtual minutes. Every request is held against the engine's own count.
func TestThirtyMinutes(t *testing.T) {
	cfg := endless()
	seconds, least := 1800.0, 1000
	if raceEnabled { // the shortest that the rules allow, since it takes minutes
		seconds, least = 900, 500
	}
	e := virtually(t, cfg, Options{
		Scenario: scenario.InferenceX, UnsafeOverride: true,
		Source: Source{Paths: []string{tracetest.Folder(t)}},
		Settings: scenario.Settings{
			Concurrency: []int{8}, RandomSeed: p(uint64(42)), TraceIdleGapCapS: p(2.0), BenchmarkDurationS: p(seconds),
		},
	})
	measured, joins, recycles := 0, 0, 0
	for _, r := range e.records {
		if r.Asked.Phase == record.PhaseProfiling {
			measured++
			if r.Asked.Join {
				joins++
			}
		}
		if r.Seen.Outcome == record.OK {
			checkTokens(t, r, cfg.Cache.BlockSize)
		}
	}
	for _, tree := range e.trees {
		if tree.Whole {
			recycles++
		}
	}
	t.Logf("%d records, %d measured, %d join turns, %d trees played whole", len(e.records), measured, joins, recycles)
	if measured < least || joins < 3 || recycles < 1 {
		t.Errorf("%d measured requests, %d join turns, %d recycled trees; want at least %d, 3 and 1", measured, joins, recycles, least)
	}
	checkCounters(t, &e)
	for _, f := range e.doc.Validity.Findings {
		if f.Code != "unsafe_override" && f.Code != "corpus_beyond_context" && f.Severity != validity.Note {
			t.Errorf("finding %+v", f)
		}
	}
	if got := e.doc.Validity.SubmissionInvalidReasons; len(got) != 1 || got[0] != "unsafe_override" {
		t.Errorf("reasons %v; only unsafe_override holds", got)
	}
}

// checkCounters holds the engine's own page, and what it says of each request,
// against the client's records.
func checkCounters(t *testing.T, e *evidence) {
	t.Helper()
	own := map[string]*record.Record{}
	for _, r := range e.records {
		own[r.Asked.RequestID] = r
	}
	var prompt, generated, hits float64
	for _, s := range e.served {
		if s.Done == nil {
			continue
		}
		if s.Done.OutputTokens > 0 {
			prompt += float64(s.Done.PromptTokens)
		}
		generated += float64(s.Done.OutputTokens)
		hits += float64(s.Done.Cached.GPU)
		r := own[s.RequestID]
		if r == nil || r.Seen.Outcome != record.OK { // a probe, or cut off
			continue
		}
		u := r.Seen.Usage
		if *u.PromptTokens != int64(s.Done.PromptTokens) || *u.CompletionTokens != int64(s.Done.OutputTokens) || *u.CachedTokens != int64(s.Done.Cached.Total()) {
			t.Errorf("%s turn %d: usage %d, %d, %d; the engine says %+v", r.Asked.StreamID, r.Asked.Turn, *u.PromptTokens, *u.CompletionTokens, *u.CachedTokens, s.Done)
		}
		if s.CorrelationID != r.Asked.CorrelationID {
			t.Errorf("correlation id %q arrived as %q", r.Asked.CorrelationID, s.CorrelationID)
		}
	}
	for name, want := range map[scrape.Name]float64{scrape.PromptTokens: prompt, scrape.GenerationTokens: generated, scrape.PrefixHits: hits} {
		if got := e.metrics.Counters[name]; got != want {
			t.Errorf("the metrics page counts %s %g; the requests add up to %g", name, got, want)
		}
	}
}

// TestOneSeedOnePlan plays the same seed on a fast and on a slow engine: of every
// (trace, pass, stream) the shorter list of texts is a prefix of the longer
// (decisions.md 19).
func TestOneSeedOnePlan(t *testing.T) {
	texts := func(slowdown float64) map[string][]string {
		cfg := endless()
		cfg.Faults.DecodeSlowdown = slowdown
		e := virtually(t, cfg, Options{
			Scenario: scenario.InferenceX, UnsafeOverride: true, Source: Source{Sample: true},
			Settings: scenario.Settings{Concurrency: []int{4}, RandomSeed: p(uint64(7)), TraceIdleGapCapS: p(2.0), BenchmarkDurationS: p(120.0), WarmupRequestsPerLane: p(2)},
		})
		lists := map[string][]string{}
		slices.SortFunc(e.records, func(a, b *record.Record) int { return a.Asked.Num - b.Asked.Num })
		for _, r := range e.records {
			if r.Asked.Digest != "" {
				key := fmt.Sprint(r.Asked.TraceID, " ", r.Asked.Pass, " ", r.Asked.StreamID)
				lists[key] = append(lists[key], r.Asked.Digest)
			}
		}
		return lists
	}
	fast, slow := texts(1), texts(5)
	both, longer := 0, 0
	for key, a := range fast {
		b, ok := slow[key]
		if !ok {
			continue
		}
		both++
		if len(a) != len(b) {
			longer++
		}
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("%s: text %d differs", key, i)
				break
			}
		}
	}
	t.Logf("%d streams in both runs, %d of them of different length", both, longer)
	if both < 10 || longer == 0 {
		t.Errorf("%d streams in both runs, %d of different length: the test shows nothing", both, longer)
	}
}

// checkTokens holds a request against the engine's usage.
func checkTokens(t *testing.T, r *record.Record, engineBlock int) {
	t.Helper()
	a, u := &r.Asked, r.Seen.Usage
	overhead := a.MarkTokens + sim.TokensPerMessage*a.Messages + sim.TokensPerGenerationPrompt
	if got, want := *u.PromptTokens, int64(a.RecordedIn+overhead); got != want {
		t.Errorf("%s turn %d: the engine counts %d prompt tokens, want %d", a.StreamID, a.Turn, got, want)
	}
	want := int64(1)
	if a.Phase == record.PhaseProfiling {
		want = int64(max(1, a.RecordedOut))
	}
	if *u.CompletionTokens != want {
		t.Errorf("%s turn %d: %d output tokens, want %d", a.StreamID, a.Turn, *u.CompletionTokens, want)
	}
	low := int64(a.IdealEnded*a.BlockSize - engineBlock)
	high := int64(a.IdealBegun*a.BlockSize + overhead + engineBlock)
	if got := *u.CachedTokens; got < low || got > high {
		t.Errorf("%s turn %d (tree %d): the engine took %d tokens from its cache; ideal as played is %d to %d blocks, %d to %d tokens",
			a.StreamID, a.Turn, a.Tree, got, a.IdealEnded, a.IdealBegun, low, high)
	}
}
