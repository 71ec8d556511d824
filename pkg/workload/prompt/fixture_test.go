package prompt

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// maker shares one word text among the tests.
var sharedMaker = sync.OnceValue(func() *Maker { return NewMaker(42) })

func maker(shape Shape, isl ISLMode) *Maker {
	m := *sharedMaker()
	m.Shape, m.ISL = shape, isl
	if isl == ISLWire {
		m.Overhead = Overhead{Prompt: 7, System: 4, User: 5, Assistant: 6}
	}
	return &m
}

// req is a request of a hand-made trace: its block ids, further tokens behind
// them, and its recorded output.
type req struct {
	ids       []int
	tail, out int
	partial   bool // the tail has an id too
}

const blockSize = 16 // tokens

// record makes a trace of main requests, 100 s apart, in blocks of blockSize.
func record(t testing.TB, id string, tool, system int, requests ...req) *trace.Trace {
	t.Helper()
	return recordIn(t, blockSize, id, tool, system, requests...)
}

func recordIn(t testing.TB, size int, id string, tool, system int, requests ...req) *trace.Trace {
	t.Helper()
	var list []map[string]any
	for i, r := range requests {
		ids := append([]int{}, r.ids...)
		if r.partial {
			ids = append(ids, 1_000_000+i)
		}
		list = append(list, map[string]any{
			"t": float64(100 * i), "type": "n", "model": "m", "api_time": 1.0,
			"in": size*len(r.ids) + r.tail, "out": r.out, "hash_ids": ids,
		})
	}
	raw, err := json.Marshal(map[string]any{
		"id": id, "block_size": size, "hash_id_scope": "local", "tool_tokens": tool, "system_tokens": system, "requests": list,
	})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.NewReader(strings.NewReader(string(raw)), id).Next()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// stream puts all requests into one stream in list order, whatever a tree would
// make of them.
func stream(tr *trace.Trace) *tree.Stream {
	s := &tree.Stream{ID: tr.ID, ToolTokens: tr.ToolTokens, SystemTokens: tr.SystemTokens}
	for i, e := range tr.Entries {
		s.Turns = append(s.Turns, &tree.Turn{Stream: s, Index: i, Request: e.Request})
	}
	return s
}

// randomTrace grows a context with growth, pull-backs, cuts into the system
// message, prompts without ids, and prompts that end inside a block.
func randomTrace(t testing.TB, seed uint64) *trace.Trace {
	rng := rand.New(rand.NewPCG(seed, 3))
	var requests []req
	var ids []int
	fresh := 0
	for range 2 + rng.IntN(12) {
		keep := len(ids)
		switch rng.IntN(8) {
		case 0, 1, 2:
			keep -= min(keep, rng.IntN(5))
		case 3:
			keep = rng.IntN(keep + 1)
		}
		ids = append([]int{}, ids[:keep]...)
		for range rng.IntN(7) {
			ids = append(ids, fresh)
			fresh++
		}
		if len(requests) == 0 {
			for len(ids) < 3 {
				ids = append(ids, 5000+len(ids))
			}
		}
		r := req{ids: ids, out: rng.IntN(5 * blockSize)}
		if rng.IntN(3) == 0 {
			r.tail = rng.IntN(blockSize)
			r.partial = r.tail > 0 && rng.IntN(2) == 0
		}
		if rng.IntN(12) == 0 && len(requests) > 0 {
			r.ids, r.tail, r.partial = nil, 1+rng.IntN(100), false
		}
		if len(r.ids) == 0 && r.tail == 0 {
			r.tail = 1 + rng.IntN(3)
		}
		requests = append(requests, r)
	}
	tool, system := 0, 0
	if rng.IntN(2) == 0 {
		tool, system = rng.IntN(2*blockSize), rng.IntN(blockSize)
	}
	return record(t, fmt.Sprintf("random_%d", seed), tool, system, requests...)
}

type chat struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// read reads a prompt to its end and decodes it.
func read(t testing.TB, p *Prompt) ([]chat, string) {
	t.Helper()
	raw, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	var chats []chat
	if err := json.Unmarshal(raw, &chats); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	return chats, string(raw)
}

func tokens(chats []chat) int {
	n := 0
	for _, c := range chats {
		n += words.Count(c.Content)
	}
	return n
}

// sampleTrees builds the trees of the real traces, once.
func sampleTrees(tb testing.TB) []*tree.Tree {
	tb.Helper()
	if len(builtSample) > 0 {
		return builtSample
	}
	for _, path := range tracetest.Paths(tb) {
		tr, err := trace.ReadFile(path, trace.BasisAuto)
		if err != nil {
			tb.Fatal(err)
		}
		built, err := tree.New(tr)
		if err != nil {
			tb.Fatal(err)
		}
		builtSample = append(builtSample, built)
	}
	return builtSample
}

var builtSample []*tree.Tree
