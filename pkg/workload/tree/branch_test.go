package tree

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// In a dump "#k" is root turn k.
func TestBranches(t *testing.T) {
	for _, c := range []struct{ name, session, want string }{
		{"a subagent spawned and joined", `
			0.5 1
			sub a 3 4
			> 3 50
			> 5 50-51
			10 1-2`, `
			T: turns 0,2; think 8.5 s
			T::sa:a: turns 0-1; T:spawn:a spawned by #0 on return +0 s, joined by #1; think 1 s`},
		{"the list decides who spawns, not the time", `
			0.5 1
			sub a 30 4
			> 30 50
			10 1-2
			40 1-3`, `
			T: turns 0,2-3; think 37.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0 s, joined by #2; think 0 s`},
		{"who joins stands behind in the list, too", `
			0.5 1
			10 1-2
			20 1-3
			sub a 3 2
			> 3 50
			30 1-4`, `
			T: turns 0-2,4; think 26.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #2 on issue +0 s, joined by #3; think 0 s`},
		{"who joins starts after the end as the marker says", `
			0.5 1
			sub a 3 27.0000005
			> 3 50
			10 1-2
			20 1-3
			30 1-4`, `
			T: turns 0,2-4; think 26.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0 s, joined by #3; think 0 s`},
		{"a microsecond too late is not", `
			0.5 1
			sub a 3 27.00001
			> 3 50
			30 1-2
			40 1-3`, `
			T: turns 0,2-3; think 37.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0 s, joined by #2; think 0 s`},
		{"without a duration the requests say the end", `
			0.5 1
			sub a 3 -
			> 3 50 api=17
			10 1-2
			20 1-3`, `
			T: turns 0,2-3; think 17.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0 s, joined by #2; think 0 s`},
		{"nobody starts late enough: background", `
			0.5 1
			sub a 3 60
			> 3 50
			10 1-2`, `
			T: turns 0,2; think 8.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0 s, background; think 0 s`},
		{"launched asynchronously: background", `
			0.5 1
			sub a 3 - async
			> 3 50
			10 1-2`, `
			T: turns 0,2; think 8.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0 s, background; think 0 s`},
		{"same spawn and same join are one branch, from the earliest start", `
			0.5 1
			sub a 4 2
			> 4.5 50
			sub b 3 6
			> 3 60
			sub c 3 20
			> 3 70
			10 1-2
			30 1-3`, `
			T: turns 0,4-5; think 27.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +1.5 s, joined by #1; think 0 s
			T::sa:b: turns 0; T:spawn:a spawned by #0 on return +0 s, joined by #1; think 0 s
			T::sa:c: turns 0; T:spawn:c spawned by #0 on return +0 s, joined by #2; think 0 s`},
		{"a branch that starts while its spawn turn runs opens on issue", `
			0.5 1 api=5
			sub a 3 2
			> 3.5 50
			10 1-2`, `
			T: turns 0,2; think 4.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on issue +3 s, joined by #1; think 0 s`},
		{"at the end of the spawn turn it opens on return", `
			0.5 1 api=2.5
			sub a 3 2
			> 3.5 50
			10 1-2`, `
			T: turns 0,2; think 7 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0.5 s, joined by #1; think 0 s`},
		{"without api_time the spawn turn is over at once", `
			0.5 1 api=-
			sub a 0.5 2
			> 1 50
			10 1-2`, `
			T: turns 0,2; think 9.5 s
			T::sa:a: turns 0; T:spawn:a spawned by #0 on return +0.5 s, joined by #1; think 0 s`},
		{"a subagent before every main request is dropped with all its chains", `
			sub a 0 2
			> 0 50
			> 0.1 50-51
			10.5 1-2`, `
			T: turns 1; think 0 s
			dropped a (2 requests): no main request stands before it that could have spawned it`},
		{"a subagent without requests is left out", `
			0.5 1
			sub a 3 2
			10 1-2`, `
			T: turns 0,2; think 8.5 s`},
		{"flat chains are branches of their own", `
			0.5 1-4
			10  1-4,90 model=x api=5
			10.5 1-4,91 model=x api=4
			12  1-5
			20  1-6`, `
			T: turns 0,3-4; think 17.5 s
			T::aux:000: turns 1; T:flatspawn:0 spawned by #0 on return +0 s, joined by #2; think 0 s
			T::aux:001: turns 2; T:flatspawn:1 spawned by #0 on return +0 s, joined by #2; think 0 s
			#1 waits for #0`},
		{"a flat chain before every main request hangs on turn 0, which does not join it", `
			10   1-4 model=x
			0.5  1-4 api=0
			20   1-5
			30   1-6`, `
			T: turns 1-3; think 28.5 s
			T::aux:000: turns 0; T:flatspawn:0 spawned by #0 on return +0 s, joined by #1; think 0 s
			#1-2 waits for aux:000#0
			aux:000#0 waits for #0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := mustTree(t, session(t, c.session))
			got := strings.TrimSpace(dump(tree))
			want := strings.TrimSpace(strings.ReplaceAll(c.want, "\t", ""))
			if c.name == "flat chains are branches of their own" { // its gates are another test's
				got, _, _ = strings.Cut(got, "\n#")
				want, _, _ = strings.Cut(want, "\n#")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkWhole(t, tree)
			checkPlayable(t, tree)
		})
	}
}

// Whole-second times are only good to a second, in the search for the join too.
func TestJoinWithinTheResolution(t *testing.T) {
	tree := mustTree(t, session(t, "0 1\nsub a 3 8\n> 3 50\n10 1-2\n20 1-3"))
	if join := tree.Streams[1].Branch.Join; join == nil || join.Index != 1 {
		t.Errorf("the child ends at 11 s and is joined by %v; want the turn at 10 s", join)
	}
}

func TestDelays(t *testing.T) {
	tree := mustTree(t, session(t, `
		0.5 1 api=2
		10  1-2 api=-
		15  1-3 api=5.0000005
		20  1-4 api=0
		20  1-5`))
	want := []float64{0, 7.5, 5, 0, 0}
	for k, turn := range tree.Root().Turns {
		if turn.DelayS != want[k] {
			t.Errorf("turn %d: delay %g s; want %g s", k, turn.DelayS, want[k])
		}
	}
}

func TestSpanIsOfTurnsThatArePlayed(t *testing.T) {
	tree := mustTree(t, session(t, "sub gone 0 2\n> 0 90\n10.5 1\nsub a 12 2\n> 13 50\n> 99 50-51\n20 1-2"))
	if tree.FirstS != 10.5 || tree.LastS != 99 {
		t.Errorf("span %g to %g s; want 10.5 to 99 s", tree.FirstS, tree.LastS)
	}
}

func TestDeclaredTokens(t *testing.T) {
	top := map[string]any{"tool_tokens": 100, "system_tokens": 60} // 2.5 blocks
	tree := mustTree(t, sessionWith(t, top, `
		0.5 1-4 api=50
		1   1-3,9 api=50
		2   1-2,9 api=50`))
	for i, want := range []int{100, 100, 0} {
		if got := tree.Streams[i].ToolTokens; got != want {
			t.Errorf("%s begins with %d tool tokens; want %d", tree.Streams[i].ID, got, want)
		}
	}

	var bad *trace.Error
	if _, err := New(sessionWith(t, top, "0.5 1-2")); !errors.As(err, &bad) || !strings.Contains(err.Error(), "need 3 blocks") {
		t.Errorf("error %v; want one that says how many blocks the first prompt lacks", err)
	}
	if _, err := New(sessionWith(t, map[string]any{"tool_tokens": 1 << 26, "system_tokens": 1 << 26}, "0.5 1-2")); !errors.As(err, &bad) {
		t.Errorf("error %v; want the absurd counts refused", err)
	}
	// A preamble is too short for the session's counts, and side chains compare with the session.
	tree = mustTree(t, sessionWith(t, top, "0.5 90 out=1\n10 1-4\n10.5 1-3,9"))
	for i, want := range []int{0, 100} {
		if got := tree.Streams[i].ToolTokens; got != want {
			t.Errorf("with a preamble, %s begins with %d tool tokens; want %d", tree.Streams[i].ID, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, tr := range map[string]*trace.Trace{
		"only subagents": session(t, "sub a 0 2\n> 0 50"),
		"absurd blocks":  sessionWith(t, map[string]any{"block_size": MaxBlockSize + 1}, "0.5 - in=10"),
		"no block size":  {ID: "T", Blocks: &trace.Blocks{}},
	} {
		var bad *trace.Error
		if _, err := New(tr); !errors.As(err, &bad) || bad.Trace != "T" {
			t.Errorf("%s: error %v; want one that names the trace", name, err)
		}
	}
}
