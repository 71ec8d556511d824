package prompt

import (
	"maps"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

const mixed = `{"id":"T","block_size":64,"hash_id_scope":"local","models":["z"],"requests":[
	{"t":0,"type":"n","model":"main","in":10,"out":0,"api_time":1},
	{"t":2,"type":"subagent","agent_id":"a","status":"completed","duration_ms":5000,"requests":[
		{"t":2,"type":"n","model":"sub","in":10,"out":900,"api_time":1},
		{"t":4,"type":"n","model":"main","in":10,"out":1,"api_time":1}]},
	{"t":10,"type":"n","model":"third","in":10,"out":900,"api_time":1},
	{"t":20,"type":"n","model":"main","in":10,"out":7,"api_time":1}]}`

func mixedTree(t *testing.T) *tree.Tree {
	t.Helper()
	tr, err := trace.NewReader(strings.NewReader(mixed), "T").Next()
	if err != nil {
		t.Fatal(err)
	}
	built, err := tree.New(tr)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func TestModels(t *testing.T) {
	built := mixedTree(t)
	for _, c := range []struct {
		asked []string
		want  map[string]string
	}{
		{nil, map[string]string{}},
		{[]string{"A"}, map[string]string{"main": "A", "sub": "A", "third": "A"}},
		{[]string{"A", "B"}, map[string]string{"main": "A", "sub": "B", "third": "A"}},
		{[]string{"A", "B", "C", "D"}, map[string]string{"main": "A", "sub": "B", "third": "C"}},
	} {
		if got := Models(built, c.asked); !maps.Equal(got, c.want) {
			t.Errorf("asked for %v: %v; want %v", c.asked, got, c.want)
		}
	}
}

func TestMaxTokens(t *testing.T) {
	built := mixedTree(t)
	root, sub := built.Root().Turns, built.Streams[1].Turns
	for _, c := range []struct {
		name   string
		turn   *tree.Turn
		maxOSL int
		want   int
	}{
		{"0 is asked for as 1 (decisions.md 8)", root[0], 0, 1},
		{"without a cap as recorded", root[1], 0, 900},
		{"the cap", root[1], 100, 100},
		{"below the cap", root[2], 100, 7},
		{"a subagent has no cap", sub[0], 100, 900},
	} {
		if got := MaxTokens(c.turn, c.maxOSL); got != c.want {
			t.Errorf("%s: %d; want %d", c.name, got, c.want)
		}
	}
}
