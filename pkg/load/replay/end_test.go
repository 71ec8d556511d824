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

func outcomes(p *played) map[record.Outcome]int {
	out := map[record.Outcome]int{}
	for _, r := range p.requests {
		out[r.Seen.Outcome]++
	}
	return out
}

// At 62.5 s, the end of the run to the nanosecond, x 1 returns and would let
// root 1 go; at 2 s, the end of another, x is due.
func TestNothingIsSentAtTheEnd(t *testing.T) {
	p := replayed(t, read(t, family), Config{Duration: 62500 * time.Millisecond, Grace: time.Minute}, on("a::sa:x", 1, 40*time.Second, record.OK))
	if diff := cmp.Diff([]string{"a/0@0.000", "a::sa:x/0@2.000", "a::sa:y/0@3.500", "a::sa:x/1@22.500"}, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	p = replayed(t, read(t, family), Config{Duration: 2 * time.Second, Grace: time.Minute}, takes(3*time.Second))
	if diff := cmp.Diff([]string{"a/0@0.000"}, p.sentAt(record.KindTurn)); diff != "" {
		t.Error(diff)
	}
	// The tree ends at the end: no other is begun.
	p = replayed(t, read(t, family), Config{Duration: 691500 * time.Millisecond, Grace: time.Minute}, takes(3*time.Second))
	if len(p.trees) != 1 || p.out.Played["a"] != 1 || p.trees[0].Why != record.TreeDrained {
		t.Error(p.trees, p.out.Played)
	}
}

// Root 0 takes 3 s and x, sent at 2 s, 10: with 2 s of grace after 2.5 s the
// first counts and the second is cut off at 4.5 s.
func TestGrace(t *testing.T) {
	p := replayed(t, read(t, family), Config{Duration: 2500 * time.Millisecond, Grace: 2 * time.Second}, on("a::sa:x", 0, 10*time.Second, record.OK))
	if got := outcomes(p); got[record.OK] != 1 || got[record.Censored] != 1 {
		t.Error(got)
	}
	if p.took.Round(time.Millisecond) != 4500*time.Millisecond || p.out.Cancelled || p.out.Aborted != nil || p.out.Lost != 0 {
		t.Errorf("%v %+v", p.took, p.out)
	}
	if end := p.phases[len(p.phases)-1]; time.Duration(end.End-end.Start).Round(time.Millisecond) != 4500*time.Millisecond {
		t.Errorf("%+v", end)
	}
	// With enough of it the run ends with the last answer.
	p = replayed(t, read(t, family), Config{Duration: 2500 * time.Millisecond, Grace: time.Hour}, on("a::sa:x", 0, 10*time.Second, record.OK))
	if p.took.Round(time.Millisecond) != 12*time.Second || outcomes(p)[record.Censored] != 0 {
		t.Error(p.took, outcomes(p))
	}
}

func TestLost(t *testing.T) {
	p := replayed(t, read(t, family), Config{Duration: 5 * time.Second, DrainTimeout: 3 * time.Second}, func(a *record.Asked) answer {
		return answer{takes: time.Second, hangs: a.StreamID == "a::sa:x"}
	})
	if p.out.Lost != 1 || p.took.Round(time.Millisecond) != 8*time.Second || p.err != nil {
		t.Error(p.out.Lost, p.took, p.err)
	}
	last := p.requests[len(p.requests)-1]
	if last.Asked.StreamID != "a::sa:x" || last.Seen.Outcome != record.Censored || last.Seen.Error.Type != "lost" {
		t.Errorf("%+v", last)
	}
	// Many lost requests do not block. (Hundreds that end at once in a bubble can
	// crash the race detector itself: golang.org/issue/78156.)
	p = replayed(t, read(t, family), Config{Concurrency: 40, Duration: 5 * time.Second}, func(*record.Asked) answer { return answer{hangs: true} })
	if p.out.Lost != 120 || len(p.requests) != 120 {
		t.Error(p.out.Lost, len(p.requests))
	}
}

// A user's cancel is orderly wherever it comes.
func TestCancel(t *testing.T) {
	cfg := at(atS(2.6), Config{WarmupPerLane: 20, Duration: time.Hour, Concurrency: 2, Grace: time.Hour, SystemIdleCap: 10 * time.Second})
	phases := map[string]bool{}
	for ms := 1; ms < 120_000; ms += 2777 {
		until := time.Duration(ms) * time.Millisecond
		p := replayedUntil(t, read(t, family+chatter), cfg, takes(3*time.Second), until)
		if p.err != nil || !p.out.Cancelled || p.took != until || p.out.Lost != 0 {
			t.Fatalf("%v: %v %v %+v", until, p.took, p.err, p.out)
		}
		open := 0
		for _, ph := range p.phases {
			if ph.End.Seen() {
				open--
			} else {
				open++
			}
		}
		phases[p.phases[len(p.phases)-1].Name] = true
		for _, r := range p.requests {
			if time.Duration(r.Seen.Sent) >= until+time.Microsecond {
				t.Errorf("%v: sent at %v", until, r.Seen.Sent)
			}
			if r.Seen.Outcome != record.OK && r.Seen.Outcome != record.Censored {
				t.Error(until, r.Seen.Outcome)
			}
		}
		cut := slices.IndexFunc(p.trees, func(tr record.Tree) bool { return tr.Why == record.TreeCut })
		if open != 0 || cut < 0 {
			t.Errorf("%v: %d phases open, trees %v", until, open, p.trees)
		}
	}
	if len(phases) != 3 {
		t.Error("not every phase was cancelled:", phases)
	}
	// In the grace period, and a context that was over before.
	p := replayedUntil(t, read(t, family), Config{Duration: time.Second, Grace: time.Hour}, takes(time.Hour), 10*time.Second)
	if !p.out.Cancelled || p.took != 10*time.Second || outcomes(p)[record.Censored] != 1 {
		t.Error(p.took, outcomes(p))
	}
	p = replayedUntil(t, read(t, family), Config{}, takes(time.Hour), time.Nanosecond)
	if !p.out.Cancelled || p.took > time.Millisecond || p.err != nil {
		t.Error(p.took, p.err)
	}
}

func TestAbort(t *testing.T) {
	// Ten turns of family come by 691.5 s; x and y fail in every pass: 3 of 9, then of 10.
	fails := func(n int, o record.Outcome) func(*record.Asked) answer {
		return func(a *record.Asked) answer {
			if a.Num < n {
				return answer{takes: time.Second, outcome: o}
			}
			return answer{takes: time.Second}
		}
	}
	for _, c := range []struct {
		name      string
		failed    int
		outcome   record.Outcome
		threshold float64
		lanes     int
		aborts    bool
	}{
		{"above", 2, record.Failed, 0.1, 1, true},
		{"at the threshold", 1, record.Failed, 0.1, 1, false},
		{"overflow is success", 4, record.Overflow, 0.1, 1, false},
		{"never", 100, record.Failed, -1, 1, false},
	} {
		p := replayed(t, read(t, chatter), Config{Duration: time.Hour, SystemIdleCap: time.Second, FailedThreshold: c.threshold, Concurrency: c.lanes}, fails(c.failed, c.outcome))
		var abort *AbortError
		if errors.As(p.out.Aborted, &abort) != c.aborts || p.err != nil {
			t.Errorf("%s: %v %v", c.name, p.out.Aborted, p.err)
		}
		if !c.aborts {
			continue
		}
		if abort.Total != 10 || abort.Failed != c.failed || !strings.Contains(abort.Error(), "failed_request_threshold") || len(p.requests) != 10 {
			t.Errorf("%s: %+v after %d requests", c.name, abort, len(p.requests))
		}
	}
	// The least count is the concurrency when that is larger.
	p := replayed(t, read(t, chatter), Config{Concurrency: 25, FailedThreshold: 0.1}, fails(1000, record.Failed))
	var abort *AbortError
	if !errors.As(p.out.Aborted, &abort) || abort.Total != 25 || abort.Failed != 25 {
		t.Error(p.out.Aborted)
	}
	// Failures of warm-up do not count.
	p = replayed(t, read(t, chatter), Config{WarmupPerLane: 30, FailedThreshold: 0.1, SystemIdleCap: time.Second}, func(a *record.Asked) answer {
		if a.Phase == record.PhaseWarmup && a.Num%4 > 0 {
			return answer{takes: time.Millisecond, outcome: record.Failed}
		}
		return answer{takes: time.Second}
	})
	if p.out.Aborted != nil {
		t.Error(p.out.Aborted)
	}
}

// A Sender that calls an answer cut off although nobody cut it off must not
// leave its stream behind.
func TestCensoredByItself(t *testing.T) {
	p := replayed(t, read(t, family), Config{Duration: 700 * time.Second}, on("a", 1, 3*time.Second, record.Censored))
	if got := p.sentAt(record.KindTurn); len(got) != 12 || outcomes(p)[record.Failed] != 1 {
		t.Error(got, outcomes(p))
	}
}
