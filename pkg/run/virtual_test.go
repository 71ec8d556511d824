package run

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

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

// virtually runs a replay against the embedded engine in virtual time.
func virtually(t *testing.T, cfg sim.Config, o Options) (records []*record.Record, trees []*record.Tree, doc *result.Document) {
	synctest.Test(t, func(t *testing.T) {
		server, err := sim.New(cfg)
		if err != nil {
			t.Fatal(err)
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
		doc = report.Document
		records = readLines[record.Record](t, filepath.Join(o.Dir, result.FileRecords))
		trees = readLines[record.Tree](t, filepath.Join(o.Dir, result.FileTrees))
		if problems, err := result.Check(o.Dir); err != nil || len(problems) > 0 {
			t.Errorf("the artifacts do not validate: %v %v", err, problems)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		_ = server.Close()
	})
	return records, trees, doc
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
	records, trees, doc := virtually(t, cfg, Options{
		Scenario: scenario.InferenceX, UnsafeOverride: true,
		Source: Source{Paths: []string{tracetest.Folder(t)}},
		Settings: scenario.Settings{
			Concurrency: []int{8}, RandomSeed: p(uint64(42)), TraceIdleGapCapS: p(2.0), BenchmarkDurationS: p(1800.0),
		},
	})
	measured, joins, recycles := 0, 0, 0
	for _, r := range records {
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
	for _, tree := range trees {
		if tree.Whole {
			recycles++
		}
	}
	t.Logf("%d records, %d measured, %d join turns, %d trees played whole", len(records), measured, joins, recycles)
	if measured < 1000 || joins < 3 || recycles < 1 {
		t.Errorf("%d measured requests, %d join turns, %d recycled trees; want at least 1000, 3 and 1", measured, joins, recycles)
	}
	if d := os.Getenv("KEEP"); d != "" {
		b, _ := doc.Encode()
		os.WriteFile(d, b, 0o644)
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
