package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// on answers one turn with an outcome after a time, everything else well after 3 s.
func on(stream string, turn int, takes time.Duration, o record.Outcome) func(*record.Asked) answer {
	return func(a *record.Asked) answer {
		if a.StreamID == stream && a.Turn == turn && a.Pass == 0 {
			return answer{takes: takes, outcome: o}
		}
		return answer{takes: 3 * time.Second}
	}
}

// A failed turn is a played turn: the stream goes on, and its joins are released.
func TestErrorsDoNotStop(t *testing.T) {
	cfg := Config{Duration: 700 * time.Second}
	good := replayed(t, read(t, family), cfg, takes(3*time.Second)).sentAt(record.KindTurn)
	for _, of := range []struct {
		stream string
		turn   int
	}{{"a", 0}, {"a", 3}, {"a::sa:x", 0}, {"a::sa:x", 1}, {"a::sa:b", 1}} {
		got := replayed(t, read(t, family), cfg, on(of.stream, of.turn, 3*time.Second, record.Failed)).sentAt(record.KindTurn)
		if diff := cmp.Diff(good, got); diff != "" {
			t.Error(of, diff)
		}
	}
}

// x overflows at its first turn: the join waits for nothing, x 1 never comes.
func TestChildOverflow(t *testing.T) {
	p := replayed(t, read(t, family), Config{Duration: 80 * time.Second}, on("a::sa:x", 0, 70*time.Second, record.Overflow))
	want := []string{"a/0@0.000", "a::sa:x/0@2.000", "a::sa:y/0@3.500", "a/1@72.000", "a::sa:b/0@76.000"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
}

// The root overflows while x has a turn to go: x plays on, b never comes, and
// only then does the lane draw again.
func TestRootOverflow(t *testing.T) {
	p := replayed(t, read(t, family), Config{Duration: 30 * time.Second}, on("a", 0, 3*time.Second, record.Overflow))
	want := []string{"a/0@0.000", "a::sa:x/0@2.000", "a::sa:y/0@3.500", "a::sa:x/1@22.500", "a/0@25.500", "a::sa:x/0@27.500", "a::sa:y/0@29.000"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	if tr := p.trees[0]; tr.Why != record.TreeOverflow || tr.Whole || tr.Requests != 4 {
		t.Errorf("%+v", tr)
	}
	// At its last turn there is nothing left to stop.
	p = replayed(t, read(t, family), Config{Duration: 700 * time.Second}, on("a", 3, 3*time.Second, record.Overflow))
	if tr := p.trees[0]; tr.Why != record.TreeDrained {
		t.Errorf("%+v", tr)
	}
}

// The tree ends with its background child, not with its root.
func TestBackgroundHoldsTheLane(t *testing.T) {
	p := replayed(t, read(t, family+chatter), Config{Duration: 1000 * time.Second}, on("a::sa:b", 1, 400*time.Second, record.OK)) // 492.5 → 892.5
	if got := p.sentAt(record.KindTurn); !slices.Contains(got, "c/0@892.500") || len(got) != 11 {
		t.Error(got)
	}
}

// A late child holds the join turn; the wait counts from when its own delay had passed.
func TestJoinWait(t *testing.T) {
	p := replayed(t, read(t, family), Config{Duration: 100 * time.Second}, on("a::sa:x", 1, 40*time.Second, record.Failed)) // 22.5 → 62.5
	for _, r := range p.requests {
		wait := time.Duration(0)
		if r.Asked.JoinSince.Seen() {
			wait = time.Duration(r.Asked.Issued - r.Asked.JoinSince)
		}
		want := map[string]time.Duration{"a/1": 10 * time.Second}[fmt.Sprintf("%s/%d", r.Asked.StreamID, r.Asked.Turn)]
		if wait != want {
			t.Errorf("%s %d waited %v, want %v", r.Asked.StreamID, r.Asked.Turn, wait, want)
		}
		if r.Asked.StreamID == "a" && r.Asked.Turn == 1 {
			if late := time.Duration(r.Asked.Ready - r.Asked.Due); late != 10*time.Second || r.Asked.DelayMs != 49500 {
				t.Errorf("%v %+v", late, r.Asked)
			}
		}
	}
}

// between holds a root turn back by a gate: chain fa (1 → 11) must be over before
// root 1 (recorded at 20) may go, and no branch joins it before root 2.
const between = `{"id":"a","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0.5,"type":"n","model":"m","in":128,"out":100,"hash_ids":[1,2],"api_time":1},
 {"t":1,"type":"n","model":"m","in":128,"out":100,"hash_ids":[8,9],"api_time":10},
 {"t":20,"type":"n","model":"m","in":192,"out":10,"hash_ids":[1,2,3],"api_time":5},
 {"t":30,"type":"n","model":"m","in":192,"out":10,"hash_ids":[8,9,10],"api_time":5},
 {"t":50,"type":"n","model":"m","in":256,"out":10,"hash_ids":[1,2,3,4],"api_time":5}]}
`

func TestGate(t *testing.T) {
	tr := read(t, between)
	tt, err := tree.New(tr[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(tt.Streams) != 2 || len(tt.Root().Turns) != 3 {
		t.Fatal("the trace is not what the test wants")
	}
	child := tt.Streams[1].ID
	// Root 0 0 → 1, root 1 due 1 + 18.5 = 19.5; the child opens with root 0 (0.5 later) and takes 30 s: 30.5.
	// The child's second turn: 30.5 + 19 = 49.5, but root 1 (30.5 → 31.5) must be over: it is. Root 2: 31.5 + 25 = 56.5.
	p := replayed(t, tr, Config{Duration: 60 * time.Second}, func(a *record.Asked) answer {
		if a.StreamID == child && a.Turn == 0 {
			return answer{takes: 30 * time.Second}
		}
		return answer{takes: time.Second}
	})
	want := []string{"a/0@0.000", child + "/0@0.500", "a/1@30.500", child + "/1@49.500", "a/2@56.500", "a/0@57.500", child + "/0@58.000"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	for _, r := range p.requests {
		if r.Asked.JoinSince.Seen() {
			t.Error("a gate is no join:", r.Asked)
		}
	}
}

func TestDelays(t *testing.T) {
	p := replayed(t, read(t, family), Config{Delays: DelaysNone, Duration: 10 * time.Second}, takes(3*time.Second))
	want := []string{"a/0@0.000", "a::sa:x/0@0.000", "a::sa:y/0@0.000", "a::sa:x/1@3.000", "a/1@6.000", "a/2@9.000", "a::sa:b/0@9.000"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	p = replayed(t, read(t, family), Config{DelayCap: 20 * time.Second, Duration: 30 * time.Second}, takes(3*time.Second))
	want = []string{"a/0@0.000", "a::sa:x/0@2.000", "a::sa:y/0@3.500", "a::sa:x/1@22.500", "a/1@25.500", "a::sa:b/0@29.500"}
	if diff := cmp.Diff(want, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
}

// What must hold in every run, whatever the trees, the engine and the caps.
func TestProperties(t *testing.T) {
	for round := range 40 {
		seed := uint64(1000 + round)
		x := rand.New(rand.NewPCG(seed, 1))
		traces := someTraces(t, seed, 1+x.IntN(4))
		cfg := Config{
			Concurrency: 1 + x.IntN(6), Seed: seed, Duration: 20 * time.Minute, Burst: x.IntN(2) == 0, SampleEvery: 7 * time.Second,
			SystemIdleCap: time.Duration(x.IntN(2)) * 10 * time.Second, TreeIdleCap: time.Duration(x.IntN(2)) * 20 * time.Second,
			StartMaxRatio: float64(x.IntN(2)), Sampling: []Sampling{SamplingSequential, SamplingShuffle, SamplingRandom}[x.IntN(3)],
			WarmupPerLane: 5 * x.IntN(3), Grace: time.Duration(x.IntN(2)) * time.Minute,
		}
		p := replayed(t, traces, cfg, luck(seed, 40*time.Second, 10, 2))
		if p.err != nil {
			t.Fatalf("round %d: %v", round, p.err)
		}
		checkTrees(t, p, traces)
		end := p.phases[len(p.phases)-2].Start.Add(cfg.Duration)
		for _, s := range p.samples {
			if s.Phase == record.PhaseProfiling && s.At < end && s.LiveTrees != cfg.Concurrency {
				t.Errorf("%d trees live at %v", s.LiveTrees, s.At)
			}
		}
		if t.Failed() {
			t.Fatalf("round %d: %+v", round, cfg)
		}
	}
}

type turnKey struct {
	tree   int
	stream string
	turn   int
}

// checkTrees looks at every tree on its own: order, gates, joins, completeness.
func checkTrees(t *testing.T, p *played, traces []*trace.Trace) {
	t.Helper()
	byTrace := map[string]*tree.Tree{}
	for _, tr := range traces {
		tt, err := tree.New(tr)
		if err != nil {
			t.Fatal(err)
		}
		byTrace[tr.ID] = tt
	}
	sent := map[turnKey]*record.Record{}
	for i := range p.requests {
		r := &p.requests[i]
		if r.Asked.Kind == record.KindPrimer {
			continue
		}
		k := turnKey{r.Asked.Tree, r.Asked.StreamID, r.Asked.Turn}
		if sent[k] != nil {
			t.Errorf("%+v was sent twice", k)
		}
		sent[k] = r
	}
	for _, tr := range p.trees {
		checkTree(t, p, byTrace[tr.TraceID], tr, sent)
	}
}

func checkTree(t *testing.T, p *played, tt *tree.Tree, report record.Tree, sent map[turnKey]*record.Record) {
	t.Helper()
	get := func(turn *tree.Turn) *record.Record { return sent[turnKey{report.Num, turn.Stream.ID, turn.Index}] }
	before := func(first, then *tree.Turn, why string) {
		a, b := get(first), get(then)
		if a != nil && b != nil && b.Seen.Sent < a.Seen.End {
			t.Errorf("tree %d: %s turn %d was sent before %s turn %d ended (%s)", report.Num, then.Stream.ID, then.Index, first.Stream.ID, first.Index, why)
		}
	}
	overflowed := false
	for _, s := range tt.Streams {
		for k, turn := range s.Turns {
			r := get(turn)
			if r == nil {
				continue
			}
			overflowed = overflowed || r.Seen.Outcome == record.Overflow
			if k > 0 {
				before(s.Turns[k-1], turn, "predecessor")
				if d := time.Duration(r.Asked.DelayMs) * time.Millisecond; r.Asked.Kind == record.KindTurn && p.out.Skips == (Skips{}) && get(s.Turns[k-1]) != nil && get(s.Turns[k-1]).Asked.Kind == record.KindTurn {
					if gap := time.Duration(r.Seen.Sent - get(s.Turns[k-1]).Seen.End); gap < d-time.Millisecond {
						t.Errorf("tree %d: %s turn %d came %v after its predecessor, want %v", report.Num, s.ID, k, gap, d)
					}
				}
			}
			for _, g := range turn.Gates {
				before(g, turn, "gate")
			}
			for _, b := range turn.Joins {
				for _, c := range b.Streams {
					for _, ct := range c.Turns {
						before(ct, turn, "join")
					}
				}
			}
			if s.Branch != nil && get(s.Branch.Spawn) != nil && r.Seen.Sent < get(s.Branch.Spawn).Seen.Sent && report.EnteredAtS == 0 {
				t.Errorf("tree %d: %s was sent before the turn that spawns it", report.Num, s.ID)
			}
		}
	}
	if report.Why != record.TreeDrained || overflowed || report.EnteredAtS != 0 {
		return
	}
	for _, s := range tt.Streams {
		for _, turn := range s.Turns {
			if get(turn) == nil {
				t.Errorf("tree %d is over, but %s turn %d never came", report.Num, s.ID, turn.Index)
			}
		}
	}
}

// Caps move turns in time, but never past each other inside a tree: with the
// same answers, a tree's turns are sent in the order of the run without caps
// wherever that order was one of cause (decisions.md 16). Timers of one tree
// move together, so their order is kept too.
func TestCapsKeepTimersInOrder(t *testing.T) {
	for seed := range uint64(20) {
		traces := someTraces(t, 500+seed, 1)
		order := func(system, tree time.Duration) (out []string) {
			p := replayedUntil(t, traces, Config{Duration: 100 * time.Hour, SampleEvery: 100 * time.Hour, SystemIdleCap: system, TreeIdleCap: tree}, takes(time.Millisecond), firstTree)
			for _, r := range p.requests {
				if r.Asked.Tree == 0 {
					out = append(out, fmt.Sprint(r.Asked.StreamID, r.Asked.Turn))
				}
			}
			return out
		}
		plain := order(0, 0)
		if diff := cmp.Diff(plain, order(time.Second, 0)); diff != "" {
			t.Fatal(seed, diff)
		}
		if diff := cmp.Diff(plain, order(0, time.Second)); diff != "" {
			t.Fatal(seed, diff)
		}
	}
}
