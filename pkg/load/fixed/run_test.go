package fixed

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result/record"
)

// engine answers as its script says, on the bubble's clock.
type engine struct {
	clock  record.Clock
	script func(*record.Asked) (time.Duration, record.Outcome)
	deaf   bool // does not hear a cancel
}

func (e *engine) Send(ctx context.Context, a *record.Asked, m replay.Messages) record.Seen {
	seen := record.Seen{Outcome: record.OK, Sent: e.clock.Now()}
	_, _ = io.Copy(io.Discard, m)
	takes, outcome := e.script(a)
	cut := ctx.Done()
	if e.deaf {
		cut = nil
	}
	select {
	case <-time.After(takes):
		seen.Outcome = cmp.Or(outcome, record.OK)
	case <-cut:
		seen.Outcome = record.Censored
	}
	seen.End = e.clock.Now()
	return seen
}

// log collects what a run reports.
type log struct {
	requests []record.Record
	samples  []record.Sample
	phases   []replay.Phase
}

func (l *log) Request(r record.Record) { l.requests = append(l.requests, r) }
func (l *log) Tree(record.Tree)        { panic("a fixed-length run has no trees") }
func (l *log) Sample(s record.Sample)  { l.samples = append(l.samples, s) }
func (l *log) Phase(p replay.Phase)    { l.phases = append(l.phases, p) }

func (l *log) of(p record.Phase) (out []record.Record) {
	for _, r := range l.requests {
		if r.Asked.Phase == p {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record.Record) int { return a.Asked.Num - b.Asked.Num })
	return out
}

// uneven takes a different time for every request.
func uneven(a *record.Asked) (time.Duration, record.Outcome) {
	return time.Duration(1+a.Num*7919%13) * 100 * time.Millisecond, record.OK
}

// play runs in virtual time.
func play(t *testing.T, cfg Config, e *engine, after time.Duration) (l *log, out Outcome, err error) {
	cfg.Shape, cfg.Model, cfg.RunID = Shape{64, 8}, "m", "run"
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		l = &log{}
		e.clock = record.NewClock()
		if after > 0 {
			time.AfterFunc(after, cancel)
		}
		out, err = Run(ctx, cfg, e, l, e.clock)
		if e.deaf {
			time.Sleep(time.Hour) // the bubble waits for all of its goroutines
		}
	})
	return l, out, err
}

// TestCap never exceeds the cap, and keeps it full while prompts remain.
func TestCap(t *testing.T) {
	const limit = 7
	l, out, err := play(t, Config{Concurrency: limit}, &engine{script: uneven}, 0)
	if err != nil || out.Cancelled || out.Lost != 0 {
		t.Fatal(out, err)
	}
	for phase, want := range map[record.Phase]int{record.PhaseWarmup: 2 * limit, record.PhaseProfiling: 10 * limit} {
		requests := l.of(phase)
		if len(requests) != want {
			t.Fatalf("%s: %d requests, want %d", phase, len(requests), want)
		}
		type change struct {
			at record.Stamp
			by int
		}
		var changes []change
		last := record.Stamp(0)
		for i, r := range requests {
			a, s := r.Asked, r.Seen
			if a.Kind != record.KindFixed || a.StreamID != "fixed:64/8" || a.Turn != i || a.Lane >= limit || a.Due != a.Issued || a.Ready != a.Due {
				t.Errorf("request %d: %+v", i, a)
			}
			if lag, ok := r.Lag(); !ok || lag != 0 {
				t.Errorf("request %d: lag %v", i, lag)
			}
			if r.Check() != nil {
				t.Errorf("request %d: %v", i, r.Seen.Error)
			}
			changes = append(changes, change{a.Issued, 1}, change{s.End, -1})
			last = max(last, a.Issued)
		}
		slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
		inFlight := 0
		for i, c := range changes {
			if inFlight += c.by; inFlight > limit {
				t.Errorf("%s: %d in flight", phase, inFlight)
			}
			settled := i+1 < len(changes) && changes[i+1].at > c.at // all of this moment is in
			if settled && c.at < last && inFlight != limit {
				t.Errorf("%s: %d in flight at %d, prompts remain until %d", phase, inFlight, c.at, last)
			}
		}
	}
	if w, p := l.of(record.PhaseWarmup), l.of(record.PhaseProfiling); p[0].Asked.Issued < w[len(w)-1].Seen.End {
		t.Error("measuring began before the warm-up had ended")
	}
	if len(l.phases) != 4 || l.phases[3].Name != "profiling" || !l.phases[3].End.Seen() {
		t.Errorf("phases %+v", l.phases)
	}
	if s := l.samples; len(s) < 2 || s[len(s)-1].Done != 10*limit || s[1].InFlight != limit {
		t.Errorf("samples %+v", s)
	}
}

// TestWithoutWarmup measures at once.
func TestWithoutWarmup(t *testing.T) {
	l, _, err := play(t, Config{Concurrency: 2, Prompts: 3, Warmups: -1}.Defaults(), &engine{script: uneven}, 0)
	if err != nil || len(l.requests) != 3 || len(l.of(record.PhaseProfiling)) != 3 || len(l.phases) != 2 {
		t.Errorf("%d requests, %v", len(l.requests), err)
	}
}

// TestFailures: 5 % pass, more are an error, and everything is reported.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		every   int // one in so many measured requests fails
		outcome record.Outcome
		says    string
	}{{"5 %", 20, record.Failed, ""}, {"10 %", 10, record.Failed, "10 of 100 requests failed, more than 5 %"}, {"overflow", 10, record.Overflow, "10 of 100"}} {
		t.Run(c.name, func(t *testing.T) {
			script := func(a *record.Asked) (time.Duration, record.Outcome) {
				if a.Phase == record.PhaseProfiling && a.Turn%c.every == 0 {
					return time.Second, c.outcome
				}
				return time.Second, record.OK
			}
			l, _, err := play(t, Config{Concurrency: 10}, &engine{script: script}, 0)
			var failed *FailedError
			if (c.says == "") != (err == nil) || err != nil && (!errors.As(err, &failed) || !strings.Contains(err.Error(), c.says)) {
				t.Error(err)
			}
			if len(l.requests) != 120 {
				t.Errorf("%d requests reported", len(l.requests))
			}
		})
	}
}

// TestDeadEngine is not measured: when every warm-up fails, nothing else is sent.
func TestDeadEngine(t *testing.T) {
	script := func(*record.Asked) (time.Duration, record.Outcome) { return time.Second, record.Failed }
	l, _, err := play(t, Config{Concurrency: 3}, &engine{script: script}, 0)
	if err == nil || !strings.Contains(err.Error(), "all 6 warm-up requests failed") || len(l.requests) != 6 {
		t.Errorf("%d requests, %v", len(l.requests), err)
	}
}

// TestCancel cuts off what is in flight, reports it as censored and sends nothing new.
func TestCancel(t *testing.T) {
	slow := func(*record.Asked) (time.Duration, record.Outcome) { return 10 * time.Second, record.OK }
	for _, c := range []struct {
		name     string
		after    time.Duration
		deaf     bool
		measured int
		lost     int
	}{{"warm-up", 5 * time.Second, false, 0, 0}, {"measuring", 25 * time.Second, false, 4, 0}, {"deaf", 25 * time.Second, true, 4, 4}} {
		t.Run(c.name, func(t *testing.T) {
			e := &engine{script: slow, deaf: c.deaf}
			if c.deaf {
				e.script = func(a *record.Asked) (time.Duration, record.Outcome) {
					if a.Phase == record.PhaseProfiling {
						return 10 * time.Minute, record.OK
					}
					return slow(a)
				}
			}
			l, out, err := play(t, Config{Concurrency: 4}, e, c.after)
			if err != nil || !out.Cancelled || out.Lost != c.lost {
				t.Fatal(out, err)
			}
			measured := l.of(record.PhaseProfiling)
			if len(measured) != c.measured {
				t.Errorf("%d measured", len(measured))
			}
			censored := 0
			for _, r := range l.requests {
				if r.Seen.Outcome == record.Censored {
					censored++
				}
			}
			if censored != 4 {
				t.Errorf("%d censored", censored)
			}
			if p := l.phases[len(l.phases)-1]; !p.End.Seen() {
				t.Error("the phase has no end")
			}
		})
	}
}
