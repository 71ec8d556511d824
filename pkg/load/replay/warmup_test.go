package replay

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
)

// at makes t* of every trace lie at one share of its span.
func at(share float64, c Config) Config {
	c.StartMinRatio, c.StartMaxRatio = share, share
	if c.Duration == 0 {
		c.Duration = 100 * time.Second
	}
	return c
}

// atS is the share of family's span that has t* at tS.
func atS(tS float64) float64 { return (tS - 0.5) / 899.5 }

// At t* = 2.6 the root is behind turn 0 (0.5), x behind its turn 0 (2.5), y ahead
// of its first. The leads are 2.1 and 0.1 s.
func TestPrimers(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want []string
	}{
		"spread": {Config{}, []string{"a/0@0.000", "a::sa:x/0@2.000"}},
		"capped": {Config{SystemIdleCap: time.Second}, []string{"a/0@0.000", "a::sa:x/0@0.900"}},
		"burst":  {Config{Burst: true}, []string{"a/0@0.000", "a::sa:x/0@0.000"}},
	} {
		p := replayed(t, read(t, family), at(atS(2.6), c.cfg), takes(3*time.Second))
		if diff := cmp.Diff(c.want, p.sentAt(record.KindPrimer)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, r := range p.requests {
			if one := r.Asked.MaxTokens == 1; r.Asked.Kind == record.KindPrimer && (!one || r.Asked.Phase != record.PhaseWarmup) {
				t.Errorf("%s: %+v", name, r.Asked)
			}
		}
		if name == "capped" {
			continue // the cap acts on what follows
		}
		// Profiling begins with y (offset 1.4); x has 37.4 and the root, which waits for both, 57.4.
		want := []string{"a::sa:y/0@0.000", "a::sa:x/1@36.000", "a/1@56.000"}
		if diff := cmp.Diff(want, p.sentAt(record.KindTurn)[:3]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A root that waits for its children goes when they are done, and its join wait
// counts from its own time.
func TestWaitingRoot(t *testing.T) {
	p := replayed(t, read(t, family), at(atS(2.6), Config{}), func(a *record.Asked) answer {
		if a.StreamID == "a::sa:x" && a.Turn == 1 {
			return answer{takes: 30 * time.Second} // 36 → 66
		}
		return answer{takes: time.Second}
	})
	if got := p.sentAt(record.KindTurn)[2]; got != "a/1@66.000" {
		t.Error(got)
	}
	for _, r := range p.requests {
		if r.Asked.StreamID == "a" && r.Asked.Kind == record.KindTurn && r.Asked.Turn == 1 {
			if wait := time.Duration(r.Asked.Issued - r.Asked.JoinSince); wait != 10*time.Second || !r.Asked.Join || r.Asked.Ready != r.Asked.Issued {
				t.Errorf("%v %+v", wait, r.Asked)
			}
		}
	}
}

func TestRootlessLane(t *testing.T) {
	p := replayed(t, read(t, family), at(atS(800), Config{Duration: 5 * time.Second}), takes(time.Second))
	want := []string{"a::sa:b/1@0.000", "a/0@1.000", "a::sa:x/0@3.000", "a::sa:y/0@4.500"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a::sa:b/0@0.000"}, p.sentAt(record.KindPrimer)); diff != "" {
		t.Error(diff)
	}
	if tr := p.trees[0]; tr.Whole || tr.Why != record.TreeDrained || tr.EnteredAtS < 799.999 || tr.EnteredAtS > 800.001 {
		t.Errorf("%+v", tr)
	}
}

// Spread takes one minimum off all offsets, burst each lane's own. At 5 % of the
// spans a's root is 14.525 s before turn 1, c's 8 s.
func TestHandOff(t *testing.T) {
	for _, c := range []struct {
		burst bool
		want  []string
	}{{false, []string{"c/1@0.000", "a/1@6.525"}}, {true, []string{"a/1@0.000", "c/1@0.000"}}} {
		p := replayed(t, read(t, family+chatter), at(0.05, Config{Concurrency: 2, Burst: c.burst, Duration: 7 * time.Second}), takes(30*time.Second))
		if diff := cmp.Diff(c.want, p.sentAt(record.KindTurn)); diff != "" {
			t.Error(c.burst, diff)
		}
		if diff := cmp.Diff([]string{"a/0@0.000", "c/0@0.000"}, p.sentAt(record.KindPrimer)); diff != "" {
			t.Error(c.burst, diff)
		}
	}
}

func TestPrimerFails(t *testing.T) {
	fail := func(stream string, o record.Outcome) func(*record.Asked) answer {
		return func(a *record.Asked) answer {
			if a.Kind == record.KindPrimer && a.StreamID == stream {
				return answer{takes: time.Second, outcome: o}
			}
			return answer{takes: 3 * time.Second}
		}
	}
	cfg := at(atS(2.6), Config{})
	for _, o := range []record.Outcome{record.Failed, record.Censored} {
		p := replayed(t, read(t, family), cfg, fail("a", o))
		var pe *PrimerError
		if !errors.As(p.err, &pe) || pe.StreamID != "a" || pe.Turn != 0 || len(p.sentAt(record.KindTurn)) > 0 || p.took > 5*time.Second {
			t.Errorf("%s: %v %v", o, p.err, p.took)
		}
	}
	for _, o := range []record.Outcome{record.Failed, record.Overflow} {
		p := replayed(t, read(t, family), cfg, fail("a::sa:x", o))
		if p.err != nil || len(p.sentAt(record.KindTurn)) < 3 {
			t.Error(o, p.err)
		}
		if x := slices.Contains(p.sentAt(record.KindTurn), "a::sa:x/1@36.000"); x != (o == record.Failed) {
			t.Error(o, "x goes on:", x)
		}
	}
}

func TestPrimerOverflowDropsTheTrace(t *testing.T) {
	p := replayed(t, read(t, family+chatter), at(0.05, Config{Duration: 2000 * time.Second}), func(a *record.Asked) answer {
		if a.TraceID == "a" {
			return answer{takes: time.Second, outcome: record.Overflow}
		}
		return answer{takes: time.Second}
	})
	if p.err != nil || len(p.out.Dropped) != 1 || !strings.HasPrefix(p.out.Dropped[0], "a: ") {
		t.Fatal(p.err, p.out.Dropped)
	}
	if diff := cmp.Diff([]string{"a/0@0.000", "c/0@1.000"}, p.sentAt(record.KindPrimer)); diff != "" {
		t.Error(diff)
	}
	for _, r := range p.requests {
		if r.Asked.TraceID == "a" && r.Asked.Kind != record.KindPrimer {
			t.Error("a dropped trace is played")
		}
		if r.Asked.Ready != r.Seen.Sent {
			t.Error("a primer was due before it could be known of")
		}
	}
	if p.trees[0].Why != record.TreeFailed || p.out.Played["c"] < 3 {
		t.Error(p.trees[0], p.out.Played)
	}
	p = replayed(t, read(t, family+chatter), at(0.05, Config{Concurrency: 2}), func(a *record.Asked) answer {
		return answer{takes: time.Second, outcome: record.Overflow}
	})
	if p.err == nil || !strings.Contains(p.err.Error(), "none of the 2 traces can be played") {
		t.Error(p.err)
	}
}

func TestWarmupGrace(t *testing.T) {
	slow := func(kind record.Kind) func(*record.Asked) answer {
		return func(a *record.Asked) answer {
			if a.Kind == kind {
				return answer{takes: 5 * time.Hour}
			}
			return answer{takes: time.Second}
		}
	}
	for name, c := range map[string]struct {
		cfg  Config
		kind record.Kind
		want time.Duration
	}{
		"primers":              {at(atS(2.6), Config{}), record.KindPrimer, 22 * time.Second}, // the last goes at 2 s
		"pressure":             {Config{WarmupPerLane: 3}, record.KindPressure, 20 * time.Second},
		"pressure by duration": {Config{WarmupDuration: 7 * time.Second}, record.KindPressure, 27 * time.Second},
	} {
		c.cfg.WarmupGrace = 20 * time.Second
		p := replayed(t, read(t, family), c.cfg, slow(c.kind))
		if p.err == nil || !strings.Contains(p.err.Error(), "not answered within 20s") || p.took.Round(time.Millisecond) != c.want {
			t.Errorf("%s: after %v: %v", name, p.took, p.err)
		}
		if len(p.requests) == 0 || p.requests[0].Seen.Outcome != record.Censored || p.out.Lost != 0 {
			t.Errorf("%s: %d requests, %d lost", name, len(p.requests), p.out.Lost)
		}
	}
	// A late primer and a long step are no fault as long as answers come.
	if p := replayed(t, read(t, family), Config{WarmupPerLane: 9, WarmupGrace: 2 * time.Second, Duration: time.Second}, takes(1900*time.Millisecond)); p.err != nil {
		t.Error(p.err)
	}
}

// Every request takes 1 s; a lane may send 4.
//
//	lane 0: root 0, x 0 and y 0 at once (3 used), x 1 at 1 s (4); root 1 is free at 2 s and waits for profiling
//	lane 1: c 0, c 1, c 2, then a again: root 0 at 3 s (4); x 0 and y 0, spawned by it, wait
func TestPressureByRequests(t *testing.T) {
	p := replayed(t, read(t, family+chatter), Config{Concurrency: 2, WarmupPerLane: 4, SystemIdleCap: time.Hour, Duration: 60 * time.Second}, takes(time.Second))
	want := []string{"a/0@0.000", "a::sa:x/0@0.000", "a::sa:y/0@0.000", "c/0@0.000", "a::sa:x/1@1.000", "c/1@1.000", "c/2@2.000", "a/0@3.000"}
	if diff := cmp.Diff(want, p.sentAt(record.KindPressure)); diff != "" {
		t.Error(diff)
	}
	// Offsets: lane 0 root 1 59.5; lane 1 x 0 2, y 0 3.5, root 1 59.5. The least is 2.
	want = []string{"a::sa:x/0@0.000", "a::sa:y/0@1.500", "a::sa:x/1@18.500", "a/1@57.500", "a/1@57.500", "a::sa:b/0@59.500", "a::sa:b/0@59.500"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	correlation := map[string]map[string]bool{}
	for _, r := range p.requests {
		if r.Asked.Kind == record.KindPressure && (r.Asked.MaxTokens != 1 || r.Asked.Phase != record.PhaseWarmup) {
			t.Errorf("%+v", r.Asked)
		}
		key := r.Asked.StreamID + string(rune('0'+r.Asked.Pass))
		if correlation[key] == nil {
			correlation[key] = map[string]bool{}
		}
		correlation[key][r.Asked.CorrelationID] = true
	}
	for key, ids := range correlation {
		if len(ids) != 1 {
			t.Error(key, "has several correlation ids across the hand-off")
		}
	}
	if tr := p.trees[0]; tr.TraceID != "c" || tr.Requests != 0 || tr.Whole {
		t.Errorf("%+v", tr)
	}
}

// c ends at 3 s, half a second after sending ended: profiling finds its lane
// without a tree and gives it a fresh one.
func TestPressureByDurationLeavesNoLaneEmpty(t *testing.T) {
	p := replayed(t, read(t, chatter), Config{WarmupDuration: 2500 * time.Millisecond, Duration: 500 * time.Second}, takes(time.Second))
	if diff := cmp.Diff([]string{"c/0@0.000", "c/1@1.000", "c/2@2.000"}, p.sentAt(record.KindPressure)); diff != "" {
		t.Error(diff)
	}
	want := []string{"c/0@0.000", "c/1@21.000", "c/2@422.000", "c/0@423.000", "c/1@444.000"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	if len(p.trees) != 3 || p.trees[0].Whole || !p.trees[1].Whole || p.trees[1].Pass != 1 || p.trees[1].RecordedNs != 450e9 {
		t.Errorf("%+v", p.trees)
	}
	if len(p.phases) != 6 || p.phases[3].Name != "pressure" || p.phases[3].End.Seen() == false {
		t.Errorf("%+v", p.phases)
	}
}

// An engine that has died is given up on, or warm-up would flood it with requests
// that fail at once.
func TestPressureGivesUp(t *testing.T) {
	for lanes, want := range map[int]int{1: 10, 8: 16} {
		p := replayed(t, read(t, chatter), Config{Concurrency: lanes, WarmupDuration: time.Hour}, func(*record.Asked) answer {
			return answer{outcome: record.Failed}
		})
		failed := 0
		for _, r := range p.requests {
			if r.Seen.Outcome == record.Failed {
				failed++
			}
		}
		if p.err == nil || !strings.Contains(p.err.Error(), "in a row failed") || failed < want || failed > want+lanes || p.took > time.Second {
			t.Errorf("%d lanes: %d requests, %v", lanes, failed, p.err)
		}
	}
}
