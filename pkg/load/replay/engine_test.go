package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// maker is made outside the bubbles, once.
var maker = prompt.NewMaker(1)

// answer is what the scripted engine does with a request.
type answer struct {
	takes   time.Duration
	outcome record.Outcome // "" is OK
	hangs   bool           // does not even end when cancelled
}

// engine answers as its script says, on the bubble's clock.
type engine struct {
	clock  record.Clock
	script func(*record.Asked) answer
	never  chan struct{} // ends the requests that hang

	mu     sync.Mutex
	bodies map[int]string // by number, when wanted
}

func (e *engine) Send(ctx context.Context, a *record.Asked, m Messages) record.Seen {
	seen := record.Seen{Outcome: record.OK, Sent: e.clock.Now()}
	body, err := io.ReadAll(m)
	if err != nil || int64(len(body)) != m.Len() {
		return record.Seen{Outcome: record.Failed, Error: &record.Error{Message: fmt.Sprint("body: ", len(body), m.Len(), err)}}
	}
	if e.bodies != nil {
		e.mu.Lock()
		e.bodies[a.Num] = string(body)
		e.mu.Unlock()
	}
	do := e.script(a)
	if do.hangs {
		<-e.never
	}
	timer := time.NewTimer(do.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		if do.outcome != "" {
			seen.Outcome = do.outcome
		}
	case <-ctx.Done():
		seen.Outcome = record.Censored
	}
	seen.End = e.clock.Now()
	return seen
}

// takes answers everything after one time.
func takes(d time.Duration) func(*record.Asked) answer {
	return func(*record.Asked) answer { return answer{takes: d} }
}

// log collects what a run reports.
type log struct {
	requests []record.Record
	trees    []record.Tree
	samples  []record.Sample
	phases   []Phase
	onTree   func()
}

func (l *log) Request(r record.Record) { l.requests = append(l.requests, r) }
func (l *log) Tree(t record.Tree) {
	l.trees = append(l.trees, t)
	if l.onTree != nil {
		l.onTree()
	}
}
func (l *log) Sample(s record.Sample) { l.samples = append(l.samples, s) }
func (l *log) Phase(p Phase)          { l.phases = append(l.phases, p) }

// played is what came of a replay in a bubble.
type played struct {
	*log
	*engine
	out  Outcome
	err  error
	took time.Duration
}

// replayed plays traces in a bubble of its own.
func replayed(t *testing.T, traces []*trace.Trace, cfg Config, script func(*record.Asked) answer) *played {
	t.Helper()
	return replayedUntil(t, traces, cfg, script, 0)
}

// firstTree, given for a time to replayedUntil, cancels when a tree is over.
const firstTree = -1

// replayedUntil cancels the run after a time, if one is given.
func replayedUntil(t *testing.T, traces []*trace.Trace, cfg Config, script func(*record.Asked) answer, until time.Duration) *played {
	t.Helper()
	return inBubble(t, Workload{Traces: traces, Maker: maker}, cfg, script, until)
}

func inBubble(t *testing.T, w Workload, cfg Config, script func(*record.Asked) answer, until time.Duration) *played {
	t.Helper()
	p := &played{log: &log{}}
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		if until > 0 {
			c, cancel := context.WithTimeout(ctx, until)
			defer cancel()
			ctx = c
		}
		if until == firstTree {
			c, cancel := context.WithCancel(ctx)
			defer cancel()
			ctx, p.log.onTree = c, cancel
		}
		clock := record.NewClock()
		p.engine = &engine{clock: clock, script: script, never: make(chan struct{}), bodies: map[int]string{}}
		start := time.Now()
		p.out, p.err = Run(ctx, defaults(cfg), w, p.engine, p.log, clock)
		p.took = time.Since(start)
		close(p.never)
		synctest.Wait()
	})
	return p
}

func defaults(c Config) Config {
	if c.Models == nil {
		c.Models = []string{"m"}
	}
	if c.RunID == "" {
		c.RunID = "run"
	}
	if c.Concurrency == 0 {
		c.Concurrency = 1
	}
	if c.SampleEvery == 0 {
		c.SampleEvery = time.Minute
	}
	if c.Duration == 0 {
		c.Duration = time.Hour
	}
	if c.FailedThreshold == 0 {
		c.FailedThreshold = -1
	}
	return c
}

// sentAt lists "stream/turn@seconds" of the requests of a kind in order of time,
// since the kind's phase began. What coincides is in order of streams.
func (p *played) sentAt(kind record.Kind) []string {
	name := map[record.Kind]string{record.KindPrimer: "primers", record.KindPressure: "pressure", record.KindTurn: "profiling"}[kind]
	var start record.Stamp
	for _, ph := range p.phases {
		if ph.Name == name && !ph.End.Seen() {
			start = ph.Start
		}
	}
	found := make([]*record.Record, 0, len(p.requests))
	for i := range p.requests {
		found = append(found, &p.requests[i])
	}
	slices.SortFunc(found, func(a, b *record.Record) int {
		return cmp.Or(cmp.Compare(a.Seen.Sent, b.Seen.Sent), cmp.Compare(a.Asked.StreamID, b.Asked.StreamID), cmp.Compare(a.Asked.Num, b.Asked.Num))
	})
	var out []string
	for _, r := range found {
		if r.Asked.Kind == kind {
			out = append(out, fmt.Sprintf("%s/%d@%.3f", r.Asked.StreamID, r.Asked.Turn, float64(r.Seen.Sent-start)/1e9))
		}
	}
	return out
}

// read parses traces.
func read(t testing.TB, jsonl string) []*trace.Trace {
	t.Helper()
	r := trace.NewReader(strings.NewReader(jsonl), "test.jsonl")
	var out []*trace.Trace
	for {
		tr, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
}
