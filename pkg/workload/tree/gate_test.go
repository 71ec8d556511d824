package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestGates(t *testing.T) {
	for _, c := range []struct{ name, session, want string }{
		{"what ended before holds, what overlaps does not", `
			0.5 1-4 api=10
			5   1-4,8-9 api=2
			8   1-4,9 api=6 model=x
			12  1-5`, "#1 waits for aux:000#0\naux:001#0 waits for aux:000#0"},
		{"a touch is an end", `
			0.5 1-4 api=10
			5   1-4,9 api=7
			12  1-5`, "#1 waits for aux:000#0"},
		{"equal starts are unordered, even of no length", `
			0.5 1-4 api=20
			5   1-4,8-9 api=0
			5   1-4,9 api=-`, ""},
		{"a turn that another waited for is not named again", `
			0.5 1-4 api=90
			5   1-4,7 api=1
			10  1-4,8 api=1 model=x
			20  1-4,9 api=1 model=y`, "aux:001#0 waits for aux:000#0\naux:002#0 waits for aux:001#0"},
		{"but those that overlap are both", `
			0.5 1-4 api=90
			5   1-4,7 api=6
			10  1-4,8 api=1
			20  1-4,9 api=1 model=y`, "aux:002#0 waits for aux:000#0 aux:001#0"},
		{"of a stream the turn that ended last", `
			0.5 1-4
			2   1-5
			4   1-6
			5   1-3,9 model=x`, "aux:000#0 waits for #2"},
		{"subagents are scopes of their own", `
			0.5 1
			sub a 1.5 5
			> 2 50
			> 4 50-51
			> 4.5 50,59 api=9
			> 8 50-52
			sub b 1.5 5
			> 3 60
			20 1-2`, "sa:a:aux:000#0 waits for sa:a#0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for line := range strings.Lines(dump(mustTree(t, session(t, c.session)))) {
				if strings.Contains(line, "waits for") {
					got = append(got, strings.TrimSpace(line))
				}
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("gates:\n%s\nwant:\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

// wanted are a turn's gates by the words of spec/replay.md §2.8.
func wanted(tree *Tree, x *Turn) []*Turn {
	var found []*Turn
	for _, s := range tree.Streams {
		if s == x.Stream || s.Family != x.Stream.Family {
			continue
		}
		var best *Turn
		for _, c := range s.Turns {
			if c.StartS < x.StartS && c.EndS <= x.StartS && (best == nil ||
				c.EndS > best.EndS || c.EndS == best.EndS && (c.StartS > best.StartS || c.StartS == best.StartS && c.Index > best.Index)) {
				best = c
			}
		}
		if best != nil {
			found = append(found, best)
		}
	}
	var kept []*Turn
	for _, c := range found {
		implied := false
		for _, d := range found {
			implied = implied || c.StartS < d.StartS && c.EndS <= d.StartS
		}
		if !implied {
			kept = append(kept, c)
		}
	}
	return kept
}

// Whatever a trace holds, every turn is reached, and nothing but gates is taken
// away for it.
func TestAnyTraceCanBePlayed(t *testing.T) {
	broken := 0
	for seed := range uint64(400) {
		text := randomSession(rand.New(rand.NewPCG(seed, 1)))
		tree, err := New(session(t, text))
		if err != nil {
			continue // no main request
		}
		checkWhole(t, tree)
		checkPlayable(t, tree)
		loosened := map[string]bool{}
		for _, d := range tree.Dropped {
			loosened[d.What] = d.Requests == 0
		}
		for _, s := range tree.Streams {
			if loosened[s.ID] {
				broken++
				continue
			}
			for _, turn := range s.Turns {
				if !slices.Equal(turn.Gates, wanted(tree, turn)) {
					t.Errorf("seed %d: gates of %s differ from the rule's", seed, name(turn))
				}
			}
		}
		checkBranches(t, tree)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s\n%s", seed, text, dump(tree))
		}
	}
	if broken == 0 {
		t.Error("no session had a circle: the test proves nothing about breaking them")
	}
}

// checkBranches finds spawn and join by the words of spec/replay.md §2.6.
func checkBranches(t *testing.T, tree *Tree) {
	t.Helper()
	root := tree.Root().Turns
	for _, s := range tree.Streams[1:] {
		list, endS := s.Turns[0].List, 0.0
		for _, turn := range s.Turns {
			endS = max(endS, turn.EndS)
		}
		if s.Agent != nil {
			endS = s.Agent.EndS
			for i, e := range tree.Trace.Entries {
				if e.Subagent == s.Agent {
					list = i
				}
			}
		}
		spawn := root[0]
		for _, turn := range root {
			if turn.List < list {
				spawn = turn
			}
		}
		var join *Turn
		for _, turn := range root {
			if join == nil && turn.Index > spawn.Index && turn.List > list && turn.StartS+tree.Trace.ResolutionS >= endS {
				join = turn
			}
		}
		if s.Agent != nil && s.Agent.Background {
			join = nil
		}
		if s.Branch.Spawn != spawn || s.Branch.Join != join {
			t.Errorf("%s is spawned and joined by the wrong turns", s.ID)
		}
	}
}

// randomSession writes a session whose times, list order and blocks agree only
// now and then.
func randomSession(rng *rand.Rand) string {
	var b strings.Builder
	unit := []float64{1, 0.5}[rng.IntN(2)]
	clock := 0.0
	lists := [][2]int{{1, 3}}
	line := func(atS float64) string {
		l := lists[rng.IntN(len(lists))]
		keep := 1 + rng.IntN(l[1])
		l = [2]int{l[0], keep + rng.IntN(3)}
		if rng.IntN(6) == 0 {
			l[0] = 10 * (1 + rng.IntN(3))
		}
		lists = append(lists, l)
		api := fmt.Sprint(float64(rng.IntN(8)) * unit)
		if rng.IntN(5) == 0 {
			api = "-"
		}
		return fmt.Sprintf("%g %d-%d,%d api=%s model=%s out=%d\n", atS, l[0], l[0]+l[1], 100+rng.IntN(4), api, []string{"m", "m", "x"}[rng.IntN(3)], rng.IntN(200))
	}
	for range 2 + rng.IntN(14) {
		clock += float64(rng.IntN(3)) * unit
		atS := clock
		if rng.IntN(4) == 0 {
			atS = float64(rng.IntN(20)) * unit
		}
		if rng.IntN(5) > 0 {
			b.WriteString(line(atS))
			continue
		}
		fmt.Fprintf(&b, "sub a%d %g %d %s\n", b.Len(), atS, rng.IntN(8), []string{"", "async"}[rng.IntN(2)])
		for range rng.IntN(5) {
			b.WriteString("> " + line(atS+float64(rng.IntN(6))*unit))
		}
	}
	return b.String()
}
