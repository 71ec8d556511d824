package run

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/workload/corpus"
	"github.com/org/agentx-action/pkg/workload/prompt"
)

// The power of a comparison is measured on the engine's model in virtual time,
// without HTTP: some 500 runs of 400 s.

// bench is what all runs of the test have in common.
type bench struct {
	work    replay.Workload
	mu      sync.Mutex
	prompts map[promptKey]*sim.Prompt // the run id is the same, so the texts are
}

type promptKey struct {
	trace, stream    string
	lane, pass, turn int
}

func newBench() *bench {
	return &bench{
		work:    replay.Workload{Traces: corpus.Synth(11, corpus.SynthOptions{Traces: 32, MaxContextTokens: 16_000}), Maker: prompt.NewMaker(1)},
		prompts: map[promptKey]*sim.Prompt{},
	}
}

// prompt tokenises a request, or takes what an earlier run made of it.
func (b *bench) prompt(a *record.Asked, m replay.Messages) (*sim.Prompt, error) {
	key := promptKey{a.TraceID, a.StreamID, a.Lane, a.Pass, a.Turn}
	if a.Kind == record.KindPrimer {
		key.turn = -1 - a.Turn
	}
	b.mu.Lock()
	p := b.prompts[key]
	b.mu.Unlock()
	if p != nil {
		return p, nil
	}
	text, err := io.ReadAll(m)
	if err != nil {
		return nil, err
	}
	var messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(text, &messages); err != nil {
		return nil, err
	}
	p = sim.NewPrompt(16)
	for _, m := range messages {
		p.AddText(m.Role)
		p.AddText(m.Content)
	}
	b.mu.Lock()
	b.prompts[key] = p
	b.mu.Unlock()
	return p, nil
}

// modelEngine drives a sim.Model on the bubble's clock.
type modelEngine struct {
	*bench
	clock     record.Clock
	origin    time.Time
	errorRate float64
	seed      uint64
	kick      chan struct{}
	closing   chan struct{}

	mu    sync.Mutex
	model *sim.Model
	live  map[uint64]*answered
	next  uint64
}

// answered is one request on its way.
type answered struct {
	seen record.Seen
	done chan struct{}
}

func (e *modelEngine) now() time.Duration { return time.Since(e.origin) }

func (e *modelEngine) run() {
	for {
		e.mu.Lock()
		took, events := e.model.Step(e.now())
		e.mu.Unlock()
		if took == 0 {
			select {
			case <-e.kick:
				continue
			case <-e.closing:
				return
			}
		}
		time.Sleep(took)
		e.mu.Lock()
		at := e.clock.Now()
		for _, ev := range events {
			a := e.live[ev.ID]
			if a == nil {
				continue
			}
			switch ev.Output {
			case 1:
				a.seen.FirstToken = at
				cached := int64(ev.Cached.Total())
				a.seen.Usage.CachedTokens = &cached
			case 2:
				a.seen.SecondToken = at
			}
			a.seen.LastToken, a.seen.Chunks = at, ev.Output
			if ev.Done != nil {
				n, in := int64(ev.Done.OutputTokens), int64(ev.Done.PromptTokens)
				a.seen.Usage.CompletionTokens, a.seen.Usage.PromptTokens = &n, &in
				a.seen.End, a.seen.Outcome = at, record.OK
				delete(e.live, ev.ID)
				close(a.done)
			}
		}
		e.mu.Unlock()
	}
}

func (e *modelEngine) Send(ctx context.Context, asked *record.Asked, m replay.Messages) record.Seen {
	seen := record.Seen{Sent: e.clock.Now(), Usage: &record.Usage{}}
	p, err := e.prompt(asked, m)
	if err != nil {
		return record.Seen{Outcome: record.Failed, Sent: seen.Sent, Error: &record.Error{Type: "prompt", Message: err.Error()}}
	}
	if asked.Phase == record.PhaseProfiling && rand.New(rand.NewPCG(e.seed, uint64(asked.Num))).Float64() < e.errorRate {
		return record.Seen{Outcome: record.Failed, Sent: seen.Sent, End: e.clock.Now(), Status: 500, Error: &record.Error{Code: 500, Type: "http_500"}}
	}
	a := &answered{seen: seen, done: make(chan struct{})}
	e.mu.Lock()
	id := e.next
	e.next++
	err = e.model.Submit(e.now(), sim.Request{ID: id, Prompt: p, MaxTokens: asked.MaxTokens})
	if err == nil {
		e.live[id] = a
	}
	e.mu.Unlock()
	if err != nil {
		return record.Seen{Outcome: record.Failed, Sent: seen.Sent, Error: &record.Error{Type: "refused", Message: err.Error()}}
	}
	select {
	case e.kick <- struct{}{}:
	default:
	}
	select {
	case <-a.done:
		return a.seen
	case <-ctx.Done():
		e.mu.Lock()
		defer e.mu.Unlock()
		e.model.Cancel(e.now(), id)
		delete(e.live, id)
		return record.Seen{Outcome: record.Censored, Sent: seen.Sent, End: e.clock.Now()}
	}
}

// ledger keeps what a replay reports.
type ledger struct {
	records []*record.Record
	trees   []*record.Tree
}

func (l *ledger) Request(r record.Record) { l.records = append(l.records, &r) }
func (l *ledger) Tree(t record.Tree)      { l.trees = append(l.trees, &t) }
func (l *ledger) Sample(record.Sample)    {}
func (l *ledger) Phase(replay.Phase)      {}

// Two lanes for 400 s: some 1,000 requests of 27 effective root traces, and little
// that waits for one another, so that the engine's own noise of 1 % is what
// repeats differ by.
const powerSeconds, powerLanes = 400, 2

// play is one run on an engine of its own; seed draws its noise.
func (b *bench) play(t *testing.T, cfg sim.Config, errorRate float64, seed uint64) *compare.Run {
	var kept ledger
	var out replay.Outcome
	cfg.Seed = seed
	synctest.Test(t, func(t *testing.T) {
		model, err := sim.NewModel(cfg)
		if err != nil {
			t.Fatal(err)
		}
		e := &modelEngine{
			bench: b, clock: record.NewClock(), origin: time.Now(), errorRate: errorRate, seed: seed,
			kick: make(chan struct{}, 1), closing: make(chan struct{}), model: model, live: map[uint64]*answered{},
		}
		go e.run()
		out, err = replay.Run(t.Context(), replay.Config{
			Concurrency: powerLanes, Seed: 5, RunID: "power", Models: []string{"sim"}, LanePlan: replay.LanePlanSeeded,
			Duration: powerSeconds * time.Second, Grace: 10 * time.Second, TreeIdleCap: 2 * time.Second, FailedThreshold: -1,
		}, b.work, e, &kept, e.clock)
		if err != nil {
			t.Error(err)
		}
		close(e.closing)
	})
	return document(&kept, &out, seed)
}

// document sums a run up as a result would.
func document(kept *ledger, out *replay.Outcome, seed uint64) *compare.Run {
	phase := out.Phases[len(out.Phases)-1]
	b := summary.New(summary.Options{ProfilingStart: phase.Start, ProfilingEnd: phase.End, DurationS: powerSeconds})
	for _, r := range kept.records {
		b.Record(r)
	}
	for _, t := range kept.trees {
		b.Tree(t)
	}
	f := b.Figures()
	d := &result.Document{
		Mode: result.ModeAgentic, RunID: fmt.Sprintf("run-%d", seed),
		Identity: result.NewIdentity(map[string]string{"corpus": "synth", "lane_plan": "seeded"}),
		Phases:   []result.PhaseTimes{{Phase: result.Phase{Name: record.PhaseProfiling, Start: phase.Start, End: phase.End}}},
		Requests: f.Requests, Metrics: result.Metrics{Request: f.Metrics, Run: f.Run}, Cache: result.CacheAccounting{Cache: f.Cache},
		Load: f.Load, Sessions: f.Sessions,
	}
	d.Validity.Trusted = true
	return compare.NewRun(d, slices.Values(kept.records))
}

// powerConfig is the engine of all runs: the default model and noise, and a pool
// that holds what the lanes are working on with a little to spare.
func powerConfig() sim.Config {
	cfg := sim.Default()
	cfg.MaxModelLen = 20_000
	cfg.Cache.GPUBlocks = 3_000
	return cfg
}

// fault is one thing done to the head's engine.
type fault struct {
	name      string
	change    func(*sim.Config)
	errorRate float64
	layer     string
}

var faults = []fault{
	{"decode +10 %", func(c *sim.Config) { c.Faults.DecodeSlowdown = 1.10 }, 0, compare.LayerDecode},
	{"prefill +10 %", func(c *sim.Config) { c.Faults.PrefillSlowdown = 1.10 }, 0, compare.LayerPrefill},
	{"half the pool", func(c *sim.Config) { c.Cache.GPUBlocks /= 2 }, 0, compare.LayerCache},
	{"1 in 20 fails", nil, 0.05, compare.LayerErrors},
	{"decode +3 %", func(c *sim.Config) { c.Faults.DecodeSlowdown = 1.03 }, 0, ""},
}

// TestPower is the acceptance of the verdicts: with a noise floor of 10 repeats,
// A/A pairs raise few alarms, and what was done to an engine is found and
// attributed. The race detector and -short take a tenth of the pairs, of which
// nothing is asked but that they can be compared.
func TestPower(t *testing.T) {
	aa, each, full := 200, 20, true
	if testing.Short() || raceEnabled {
		aa, each, full = 20, 2, false
	}
	b := newBench()
	floor, err := compare.NewFloor(b.runs(t, "floor", fault{}, 1_000_000, 10), "simulator")
	if err != nil {
		t.Fatal(err)
	}
	for key, f := range floor.Figures {
		t.Logf("floor: %-26s sd %.4f resampled %.4f", key, f.SD, f.Resampled)
	}
	bases := b.runs(t, "base", fault{}, 100_000, aa)
	b.alarms(t, floor, bases, full)
	for i, f := range faults {
		b.find(t, floor, f, bases[i*each:][:each], uint64(10_000*(i+1)), full)
	}
}

// runs plays n runs, on as many cores as there are.
func (b *bench) runs(t *testing.T, name string, f fault, seed uint64, n int) []*compare.Run {
	runs := make([]*compare.Run, n)
	t.Run(name, func(t *testing.T) {
		for i := range n {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				cfg := powerConfig()
				if f.change != nil {
					f.change(&cfg)
				}
				runs[i] = b.play(t, cfg, f.errorRate, seed+uint64(i))
			})
		}
	})
	return runs
}

// pairs plays a head for each base, and compares them.
func (b *bench) pairs(t *testing.T, floor *compare.Floor, f fault, bases []*compare.Run, seed uint64) []*compare.Comparison {
	heads := b.runs(t, f.name, f, seed, len(bases))
	out := make([]*compare.Comparison, len(bases))
	t.Run("compare "+f.name, func(t *testing.T) {
		for i := range bases {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				c, err := compare.Compare(heads[i:i+1], bases[i:i+1], compare.Options{Floor: floor})
				if err != nil {
					t.Fatal(err)
				}
				if c.Pairing.RootTraces < 12 || c.Verdict == compare.NotEnough || c.Verdict == compare.Refused {
					t.Errorf("%d root traces: %s", c.Pairing.RootTraces, c.Summary)
				}
				out[i] = c
			})
		}
	})
	return out
}

// moved lists the gated figures with a verdict other than no change.
func moved(c *compare.Comparison) (keys []string) {
	for _, f := range c.Gated {
		if f.Verdict != compare.NoChange {
			keys = append(keys, f.Metric)
		}
	}
	return keys
}

func (b *bench) alarms(t *testing.T, floor *compare.Floor, bases []*compare.Run, full bool) {
	alarms, n, by := 0, len(bases), map[string]int{}
	for _, c := range b.pairs(t, floor, fault{name: "A against A"}, bases, 200_000) {
		if keys := moved(c); len(keys) > 0 {
			alarms++
			for _, k := range keys {
				by[k]++
			}
		}
	}
	t.Logf("A against A: %d of %d pairs show a change %v", alarms, n, by)
	if full && alarms > 18 {
		t.Errorf("%d of %d A/A pairs show a change; want at most 18", alarms, n)
	}
}

func (b *bench) find(t *testing.T, floor *compare.Floor, f fault, bases []*compare.Run, seed uint64, full bool) {
	n, found, attributed, either := len(bases), 0, 0, 0
	layers, by := map[string]int{}, map[string]int{}
	var c *compare.Comparison
	for _, c = range b.pairs(t, floor, f, bases, seed) {
		for _, k := range moved(c) {
			by[k]++
		}
		hit := c.Verdict == compare.Regression
		if hit {
			found++
		}
		if l := c.Layers[0]; l.Moved {
			layers[l.Name]++
			if l.Name == f.layer && hit {
				attributed++
			}
		}
		if d := detectable(c, "itl_p50"); hit || d > 0.03 {
			either++
		}
	}
	t.Logf("%s: found in %d of %d %v, attributed to %v", f.name, found, n, by, layers)
	for _, g := range c.Gated {
		if g.Ratio != nil && g.Low != nil && g.High != nil && g.SmallestDetectable != nil {
			t.Logf("    %-26s %.3f (%.3f to %.3f), detectable %.3f: %s", g.Metric, *g.Ratio, *g.Low, *g.High, *g.SmallestDetectable, g.Verdict)
		}
	}
	for _, l := range c.Layers {
		t.Logf("    %v %s", l.Moved, l.Text)
	}
	switch want := n * 9 / 10; {
	case !full:
	case f.layer == "" && either < n:
		t.Errorf("%s: in %d of %d pairs neither found nor said to be too small to find", f.name, n-either, n)
	case f.layer != "" && (found < want || attributed < want):
		t.Errorf("%s: found in %d and attributed to %s in %d of %d pairs; want at least %d", f.name, found, f.layer, attributed, n, want)
	}
}

func detectable(c *compare.Comparison, key string) float64 {
	for _, f := range c.Gated {
		if f.Metric == key && f.SmallestDetectable != nil {
			return *f.SmallestDetectable
		}
	}
	return 0
}
