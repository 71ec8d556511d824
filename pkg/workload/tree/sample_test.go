package tree

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/org/agentx-action/pkg/workload/trace"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSampleTreesMatchGolden(t *testing.T) {
	var b strings.Builder
	for _, tree := range sampleTrees(t) {
		b.WriteString(dump(tree) + "\n")
	}
	path := filepath.Join("testdata", "sample.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readGolden(t, path), b.String()); diff != "" {
		t.Errorf("the trees changed (-golden +now):\n%s", diff)
	}
}

// Every request of a trace stands in exactly one turn, or is counted as dropped.
func TestSampleTreesHoldEveryRequestOnce(t *testing.T) {
	for _, tree := range sampleTrees(t) {
		checkWhole(t, tree)
		checkPlayable(t, tree)
	}
}

// decisions.md 6: with the resolution of whole seconds, the main chain and one
// side chain.
func TestTrace0550HasChainsOf117And4(t *testing.T) {
	for _, tree := range sampleTrees(t) {
		if tree.Trace.ID != "trace_0550" {
			continue
		}
		if len(tree.Streams) != 2 || len(tree.Root().Turns) != 117 || len(tree.Streams[1].Turns) != 4 {
			t.Errorf("streams are %s; want a root of 117 turns and a chain of 4", streams(tree))
		}
		return
	}
	t.Fatal("trace_0550 is missing")
}

// decisions.md 5.
func TestSampleBackgroundAgentsAreNotJoined(t *testing.T) {
	background := 0
	for _, tree := range sampleTrees(t) {
		for _, s := range tree.Streams {
			if s.Agent != nil && s.Agent.Background {
				background++
				if s.Branch.Join != nil {
					t.Errorf("%s was launched asynchronously and is joined by turn %d", s.ID, s.Branch.Join.Index)
				}
			}
		}
	}
	if background == 0 {
		t.Error("the sample has asynchronous subagents, but no stream is in the background")
	}
}

func checkWhole(t *testing.T, tree *Tree) {
	t.Helper()
	left := map[*trace.Request]bool{}
	for r := range tree.Trace.All {
		left[r] = true
	}
	turns := 0
	for i, s := range tree.Streams {
		if s.Index != i || len(s.Turns) == 0 {
			t.Errorf("%s: stream %d has index %d and %d turns", tree.Trace.ID, i, s.Index, len(s.Turns))
		}
		for k, turn := range s.Turns {
			turns++
			if !left[turn.Request] {
				t.Errorf("%s: turn %d of %s stands in another turn too", tree.Trace.ID, k, s.ID)
			}
			delete(left, turn.Request)
			if turn.Stream != s || turn.Index != k {
				t.Errorf("%s: turn %d of %s does not know its place", tree.Trace.ID, k, s.ID)
			}
			if k > 0 && turn.StartS < s.Turns[k-1].StartS {
				t.Errorf("%s: turn %d of %s starts before the one before it", tree.Trace.ID, k, s.ID)
			}
		}
	}
	dropped := 0
	for _, d := range tree.Dropped {
		dropped += d.Requests
	}
	if tree.Turns != turns || len(left) != dropped {
		t.Errorf("%s: %d turns, Turns says %d; %d requests missing, Dropped says %d", tree.Trace.ID, turns, tree.Turns, len(left), dropped)
	}
}

// checkPlayable plays a tree without time by the rules of spec/replay.md §2.6 and
// §2.8, round after round, and fails when a turn is never reached.
func checkPlayable(t *testing.T, tree *Tree) {
	t.Helper()
	over := map[*Turn]bool{}
	opened := map[*Stream]int{tree.Root(): 1}
	finished := func(s *Stream) bool { return over[s.Turns[len(s.Turns)-1]] }
	may := func(turn *Turn) bool {
		if over[turn] || opened[turn.Stream] == 0 || turn.Index > 0 && !over[turn.Stream.Turns[turn.Index-1]] {
			return false
		}
		for _, g := range turn.Gates {
			if !over[g] {
				return false
			}
		}
		for _, b := range turn.Joins {
			for _, s := range b.Streams {
				if !finished(s) {
					return false
				}
			}
		}
		return true
	}
	for moved := true; moved; {
		moved = false
		for _, s := range tree.Streams {
			for _, turn := range s.Turns {
				if !may(turn) {
					continue
				}
				moved, over[turn] = true, true
				for _, branches := range [][]*Branch{turn.SpawnOnIssue, turn.SpawnOnReturn} {
					for _, b := range branches {
						for _, child := range b.Streams {
							opened[child]++
						}
					}
				}
			}
		}
	}
	for _, s := range tree.Streams {
		if opened[s] != 1 {
			t.Errorf("%s: %s is opened %d times", tree.Trace.ID, s.ID, opened[s])
		}
	}
	if len(over) != tree.Turns {
		t.Errorf("%s: the play stops after %d of %d turns", tree.Trace.ID, len(over), tree.Turns)
	}
}
