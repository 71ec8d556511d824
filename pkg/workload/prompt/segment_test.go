package prompt

import (
	"slices"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// said is a segment of the reference: what it says, id by id.
type said struct {
	role Role
	ids  []int32
	tail int
}

// same reports whether a segment stands unchanged in the next turn. A tail never
// does: each turn has its own.
func same(a, b said) bool {
	return a.role == b.role && a.tail == 0 && b.tail == 0 && slices.Equal(a.ids, b.ids)
}

// reference lays a stream out by the words of spec/replay.md §3.4, §3.5 and
// decisions.md 7.
func reference(tr *trace.Trace, s *tree.Stream) (turns [][]said, resets []bool) {
	bs := tr.BlockSize
	ids := make([][]int32, len(s.Turns))
	for k, turn := range s.Turns {
		all := tr.Blocks.IDs(nil, turn.Request.Path)
		ids[k] = all[:min(len(all), turn.Request.In/bs)]
	}
	lcp := make([]int, len(ids))
	for k := 1; k < len(ids); k++ {
		for lcp[k] < len(ids[k]) && lcp[k] < len(ids[k-1]) && ids[k][lcp[k]] == ids[k-1][lcp[k]] {
			lcp[k]++
		}
	}
	up := func(n int) int { return (n + bs - 1) / bs }

	var buffer []said
	for k, turn := range s.Turns {
		cur, tail := ids[k], turn.Request.In-bs*len(ids[k])
		if k == 0 {
			system := min(up(s.ToolTokens+s.SystemTokens), len(cur))
			if system > 0 {
				buffer = append(buffer, said{RoleSystem, cur[:system], 0})
			}
			if system < len(cur) || tail > 0 {
				buffer = append(buffer, said{RoleUser, cur[system:], tail})
			}
			turns, resets = append(turns, slices.Clone(buffer)), append(resets, false)
			continue
		}
		before := buffer
		var kept []said
		at, users := 0, 0
		for _, seg := range before {
			if at >= lcp[k] {
				break
			}
			n := min(len(seg.ids), lcp[k]-at)
			kept = append(kept, said{seg.role, seg.ids[:n], 0})
			if seg.role == RoleUser {
				users++
			}
			at += n
		}
		fresh := cur[lcp[k]:]
		if len(before) > 0 && before[0].role == RoleSystem && lcp[k] < len(before[0].ids) {
			kept, fresh, users = nil, cur, 0 // no system message any more
		}
		assistant := 0
		if users > 0 {
			assistant = min(up(s.Turns[k-1].Request.Out), len(fresh))
			for j := k + 1; j < len(ids) && lcp[j] > lcp[k]; j++ {
				assistant = min(assistant, lcp[j]-lcp[k]-1)
			}
			if assistant == len(fresh) && tail == 0 && assistant > 0 {
				assistant--
			}
		}
		buffer = kept
		if assistant > 0 {
			buffer = append(buffer, said{RoleAssistant, fresh[:assistant], 0})
		}
		if len(fresh) > assistant || tail > 0 {
			buffer = append(buffer, said{RoleUser, fresh[assistant:], tail})
		}
		grown := len(buffer) >= len(before) && slices.EqualFunc(buffer[:len(before)], before, same)
		turns, resets = append(turns, slices.Clone(buffer)), append(resets, !grown)
	}
	return turns, resets
}

// checkPlan compares a stream's plan with the reference, and checks decisions.md 7
// on it: no later cut falls into an assistant's text or behind its end.
func checkPlan(t *testing.T, tr *trace.Trace, s *tree.Stream) {
	t.Helper()
	plan := NewPlan(tr, s)
	turns, resets := reference(tr, s)
	var before []Segment
	for k := range s.Turns {
		segs, tail, reset := plan.Segments([]Segment{{RoleNone, 99}}, k)
		if segs[0] != (Segment{RoleNone, 99}) {
			t.Fatalf("%s turn %d: Segments changed what it was to append to", s.ID, k)
		}
		segs = segs[1:]
		var want []Segment
		end, wantTail := int32(0), 0
		for _, w := range turns[k] {
			end += int32(len(w.ids))
			want = append(want, Segment{w.role, end})
			wantTail += w.tail
		}
		if !slices.Equal(segs, want) || tail != wantTail || reset != resets[k] {
			t.Fatalf("%s turn %d: %v, tail %d, reset %v; want %v, %d, %v", s.ID, k, segs, tail, reset, want, wantTail, resets[k])
		}
		if got := int(end)*tr.BlockSize + tail; got != s.Turns[k].Request.In {
			t.Fatalf("%s turn %d: %d tokens; recorded were %d", s.ID, k, got, s.Turns[k].Request.In)
		}
		if k > 0 {
			a, b := s.Turns[k-1].Request, s.Turns[k].Request
			cut := int32(tr.Blocks.CommonPrefix(tr.Blocks.Prefix(a.Path, a.Whole), tr.Blocks.Prefix(b.Path, b.Whole)))
			start := int32(0)
			for _, seg := range before {
				if seg.Role == RoleAssistant && start < cut && cut <= seg.End {
					t.Fatalf("%s turn %d: cut at block %d, in the assistant's [%d,%d)", s.ID, k, cut, start, seg.End)
				}
				start = seg.End
			}
			if back := cut < int32(a.Whole); back != plan.PullBack(k) {
				t.Fatalf("%s turn %d: PullBack %v", s.ID, k, plan.PullBack(k))
			}
		}
		before = segs
	}
}

func TestSegmentsEqualReference(t *testing.T) {
	for seed := range uint64(2000) {
		tr := randomTrace(t, seed)
		checkPlan(t, tr, stream(tr))
	}
}

func TestSampleSegmentsEqualReference(t *testing.T) {
	for _, tr := range sampleTrees(t) {
		for _, s := range tr.Streams {
			checkPlan(t, tr.Trace, s)
		}
	}
}

func span(from, to int) []int {
	var ids []int
	for id := from; id <= to; id++ {
		ids = append(ids, id)
	}
	return ids
}

// Each step of spec/replay.md §3.5 on a small stream, written out.
func TestSegments(t *testing.T) {
	const s, u, a = RoleSystem, RoleUser, RoleAssistant
	for _, c := range []struct {
		name         string
		tool, system int
		turns        []req
		want         []Segment // of the last turn
		reset        bool
	}{
		{"the first turn is the user's", 0, 0, []req{{ids: span(1, 4)}}, []Segment{{u, 4}}, false},
		{"behind the system's, rounded up", 10, 7, []req{{ids: span(1, 4)}}, []Segment{{s, 2}, {u, 4}}, false},
		{"or all is the system's", 64, 0, []req{{ids: span(1, 4)}}, []Segment{{s, 4}}, false},
		{"the answer is rounded up to blocks", 0, 0, []req{{ids: span(1, 4), out: 17}, {ids: span(1, 9)}}, []Segment{{u, 4}, {a, 6}, {u, 9}}, false},
		{"an answer of all new blocks leaves one to the user", 0, 0, []req{{ids: span(1, 4), out: 500}, {ids: span(1, 9)}}, []Segment{{u, 4}, {a, 8}, {u, 9}}, false},
		{"but not when a tail is the user's", 0, 0, []req{{ids: span(1, 4), out: 500}, {ids: span(1, 9), tail: 3}}, []Segment{{u, 4}, {a, 9}, {u, 9}}, false},
		{"one new block is the user's", 0, 0, []req{{ids: span(1, 4), out: 500}, {ids: span(1, 5)}}, []Segment{{u, 4}, {u, 5}}, false},
		{"no output, no answer", 0, 0, []req{{ids: span(1, 4)}, {ids: span(1, 9)}}, []Segment{{u, 4}, {u, 9}}, false},
		{"no user before, no answer", 64, 0, []req{{ids: span(1, 4), out: 16}, {ids: span(1, 9)}}, []Segment{{s, 4}, {u, 9}}, false},
		{"nothing new", 0, 0, []req{{ids: span(1, 4), out: 16}, {ids: span(1, 4)}}, []Segment{{u, 4}}, false},
		{"a tail vanishes", 0, 0, []req{{ids: span(1, 4), tail: 5, out: 16}, {ids: span(1, 9)}}, []Segment{{u, 4}, {a, 5}, {u, 9}}, true},
		{"a pull-back slices", 0, 0, []req{{ids: span(1, 4), out: 16}, {ids: append(span(1, 2), 9, 10, 11)}}, []Segment{{u, 2}, {a, 3}, {u, 5}}, true},
		{"a pull-back to a boundary drops what follows", 0, 0,
			[]req{{ids: span(1, 4), out: 16}, {ids: span(1, 9), out: 16}, {ids: append(span(1, 4), 20, 21)}}, []Segment{{u, 4}, {a, 5}, {u, 6}}, true},
		{"the answer ends before a later cut", 0, 0,
			[]req{{ids: span(1, 4), out: 80}, {ids: span(1, 12)}, {ids: append(span(1, 8), 20)}}, []Segment{{u, 4}, {a, 7}, {u, 8}, {u, 9}}, true},
		{"a cut into the system leaves no system", 32, 0, []req{{ids: span(1, 4), out: 16}, {ids: append(span(1, 1), 20, 21)}}, []Segment{{u, 3}}, true},
		{"even when nothing is new", 32, 0, []req{{ids: span(1, 4), out: 16}, {ids: span(1, 1)}}, []Segment{{u, 1}}, true},
		{"a cut behind the system keeps it", 32, 0, []req{{ids: span(1, 4), out: 16}, {ids: append(span(1, 2), 20, 21)}}, []Segment{{s, 2}, {u, 4}}, true},
		{"without ids all is new", 0, 0, []req{{ids: span(1, 4), out: 16}, {tail: 70}}, []Segment{{u, 0}}, true},
		{"the partial block's id does not count", 0, 0,
			[]req{{ids: span(1, 4), tail: 5, partial: true}, {ids: append(span(1, 4), 1_000_000, 8)}}, []Segment{{u, 4}, {u, 6}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := record(t, "T", c.tool, c.system, c.turns...)
			k := len(c.turns) - 1
			segs, tail, reset := NewPlan(tr, stream(tr)).Segments(nil, k)
			if !slices.Equal(segs, c.want) || reset != c.reset || tail != c.turns[k].tail {
				t.Errorf("%v, tail %d, reset %v; want %v, %d, %v", segs, tail, reset, c.want, c.turns[k].tail, c.reset)
			}
		})
	}
}
