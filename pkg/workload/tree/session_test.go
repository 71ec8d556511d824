package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// A session is written as one line an entry, in list order:
//
//	<t> <blocks> [api=<s>|-] [out=<n>] [model=<m>] [in=<n>]
//	sub <agent> <t> <duration s>|- [async]
//	> <t> <blocks> …                        of the subagent above
//
// Blocks are ranges ("1-3,9") or "-" for none. Defaults: api=1, out=100,
// model=m, in=64 a block (10 without).
func session(t testing.TB, text string) *trace.Trace {
	t.Helper()
	return sessionWith(t, nil, text)
}

// sessionWith sets fields of the trace object beside.
func sessionWith(t testing.TB, top map[string]any, text string) *trace.Trace {
	t.Helper()
	object := map[string]any{"id": "T", "block_size": 64, "hash_id_scope": "local"}
	maps.Copy(object, top)
	var requests []map[string]any
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "sub":
			marker := map[string]any{"type": "subagent", "agent_id": fields[1], "t": number(t, fields[2]), "status": "completed", "requests": []any{}}
			if fields[3] != "-" {
				marker["duration_ms"] = number(t, fields[3]) * 1000
			}
			if slices.Contains(fields, "async") {
				marker["status"] = "async_launched"
			}
			requests = append(requests, marker)
		case fields[0] == ">":
			marker := requests[len(requests)-1]
			marker["requests"] = append(marker["requests"].([]any), request(t, fields[1:]))
		default:
			requests = append(requests, request(t, fields))
		}
	}
	object["requests"] = requests
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	r := trace.NewReader(strings.NewReader(string(raw)), "T.json")
	r.Basis = trace.BasisAbsolute
	tr, err := r.Next()
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return tr
}

func request(t testing.TB, fields []string) map[string]any {
	t.Helper()
	ids := []int{}
	for part := range strings.SplitSeq(fields[1], ",") {
		from, to, isRange := strings.Cut(part, "-")
		switch {
		case part == "-":
		case isRange:
			for id := int(number(t, from)); id <= int(number(t, to)); id++ {
				ids = append(ids, id)
			}
		default:
			ids = append(ids, int(number(t, from)))
		}
	}
	r := map[string]any{"type": "n", "t": number(t, fields[0]), "hash_ids": ids, "in": max(10, 64*len(ids)), "out": 100, "model": "m", "api_time": 1.0}
	for _, f := range fields[2:] {
		key, value, _ := strings.Cut(f, "=")
		switch {
		case key == "api" && value == "-":
			delete(r, "api_time")
		case key == "api":
			r["api_time"] = number(t, value)
		case key == "model":
			r["model"] = value
		default:
			r[key] = number(t, value)
		}
	}
	return r
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustTree(t testing.TB, tr *trace.Trace) *Tree {
	t.Helper()
	tree, err := New(tr)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// dump writes a tree as text: a line a stream with its turns' list indices, how
// it is spawned and joined, then which turns have which gates.
func dump(tree *Tree) string {
	var b strings.Builder
	for _, s := range tree.Streams {
		thinkS := 0.0
		for _, turn := range s.Turns {
			thinkS += turn.DelayS
		}
		fmt.Fprintf(&b, "%s: turns %s", s.ID, ranges(s.Turns))
		if s.Branch != nil {
			fmt.Fprintf(&b, "; %s", spawned(s))
		}
		fmt.Fprintf(&b, "; think %s s", seconds(thinkS))
		if s.ToolTokens+s.SystemTokens > 0 {
			fmt.Fprintf(&b, "; system %d+%d", s.ToolTokens, s.SystemTokens)
		}
		b.WriteByte('\n')
	}
	for _, s := range tree.Streams {
		for i := 0; i < len(s.Turns); {
			first := i
			for i < len(s.Turns) && slices.Equal(s.Turns[i].Gates, s.Turns[first].Gates) {
				i++
			}
			if gates := s.Turns[first].Gates; len(gates) > 0 {
				b.WriteString(name(s.Turns[first]))
				if i-1 > first {
					fmt.Fprintf(&b, "-%d", i-1)
				}
				b.WriteString(" waits for")
				for _, g := range gates {
					b.WriteString(" " + name(g))
				}
				b.WriteByte('\n')
			}
		}
	}
	for _, d := range tree.Dropped {
		fmt.Fprintf(&b, "dropped %s (%d requests): %s\n", d.What, d.Requests, d.Reason)
	}
	return b.String()
}

func spawned(s *Stream) string {
	when := "on return"
	if slices.Contains(s.Branch.Spawn.SpawnOnIssue, s.Branch) {
		when = "on issue"
	}
	join := "background"
	if s.Branch.Join != nil {
		join = "joined by " + name(s.Branch.Join)
	}
	return fmt.Sprintf("%s spawned by %s %s +%s s, %s", s.Branch.ID, name(s.Branch.Spawn), when, seconds(s.Branch.ChildDelayS(s)), join)
}

// name is the stream without the trace's id, and the turn.
func name(t *Turn) string {
	_, child, _ := strings.Cut(t.Stream.ID, "::")
	return fmt.Sprintf("%s#%d", child, t.Index)
}

func ranges(turns []*Turn) string {
	var parts []string
	for i := 0; i < len(turns); {
		j := i
		for j+1 < len(turns) && turns[j+1].List == turns[j].List+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(turns[i].List))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", turns[i].List, turns[j].List))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func seconds(s float64) string {
	return strconv.FormatFloat(math.Round(s*1000)/1000, 'f', -1, 64)
}

// streams are the first parts of the dump's lines: id and turns.
func streams(tree *Tree) string {
	var parts []string
	for _, s := range tree.Streams {
		_, child, _ := strings.Cut(s.ID, "::")
		parts = append(parts, fmt.Sprintf("%s[%s]", child, ranges(s.Turns)))
	}
	return strings.Join(parts, " ")
}

// sampleTrees builds the trees of the real traces, once.
func sampleTrees(tb testing.TB) []*Tree {
	tb.Helper()
	if len(builtSample) > 0 {
		return builtSample
	}
	for _, path := range tracetest.Paths(tb) {
		tr, err := trace.ReadFile(path, trace.BasisAuto)
		if err != nil {
			tb.Fatal(err)
		}
		builtSample = append(builtSample, mustTree(tb, tr))
	}
	return builtSample
}

var builtSample []*Tree

func readGolden(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
