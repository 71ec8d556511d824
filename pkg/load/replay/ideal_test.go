package replay

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
)

// said is one message as an engine gets it.
type said struct {
	role  string
	words []string
}

func decoded(t *testing.T, body string) (out []said) {
	t.Helper()
	var messages []struct{ Role, Content string }
	if err := json.Unmarshal([]byte(body), &messages); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		out = append(out, said{m.Role, strings.Split(m.Content, " ")})
	}
	return out
}

// leading is how many whole blocks of b stand at the beginning of a too, in
// messages that begin at the same places. The marker's words are no block's.
func leading(a, b []said, marker, size int) int {
	words := 0
	marked := 0
	for i, m := range b {
		if m.role == "user" {
			marked = i
			break
		}
	}
	for i, m := range b {
		if i == len(a) || a[i].role != m.role {
			break
		}
		n := 0
		for n < len(m.words) && n < len(a[i].words) && m.words[n] == a[i].words[n] {
			n++
		}
		whole := n == len(m.words) && n == len(a[i].words)
		if i == marked {
			n = max(0, n-marker)
		}
		words += n
		if !whole {
			break
		}
	}
	return words / size
}

// decisions.md 15, on the text: what an endless cache could hold for a request
// are the leading blocks that an answered request began with too.
func TestIdealIsByText(t *testing.T) {
	compared, hits, behindSystem := 0, 0, 0
	for seed := range uint64(24) {
		m := *maker
		m.Shape = []prompt.Shape{prompt.ShapeRoles, prompt.ShapeMerged, prompt.ShapeSingleUser}[seed%3]
		cfg := Config{Concurrency: 1 + int(seed%4), Seed: seed, Duration: 10 * time.Minute, StartMaxRatio: 0.5 * float64(seed%2),
			WarmupPerLane: 5 * int(seed%2), SystemIdleCap: 5 * time.Second}
		words := 12
		if seed%6 == 5 {
			cfg.Marker, words = prompt.MarkerNone, 0
		}
		p := inBubble(t, Workload{Traces: someTraces(t, seed, 1+int(seed%2)), Maker: &m}, cfg, luck(seed, 20*time.Second, 10, 3), 0)
		if p.err != nil {
			t.Fatal(p.err)
		}
		texts := map[int][]said{}
		for num, body := range p.bodies {
			texts[num] = decoded(t, body)
		}
		for _, b := range p.requests {
			ended, begun := 0, 0
			for _, a := range p.requests {
				if a.Asked.TraceID != b.Asked.TraceID || a.Asked.Num == b.Asked.Num {
					continue
				}
				n := min(leading(texts[a.Asked.Num], texts[b.Asked.Num], words, b.Asked.BlockSize), b.Asked.Blocks)
				if a.Seen.Outcome == record.OK && a.Seen.End <= b.Asked.Issued {
					ended = max(ended, n)
				}
				if a.Asked.Tree == b.Asked.Tree && a.Asked.Num < b.Asked.Num {
					begun = max(begun, n)
				}
			}
			if b.Asked.IdealEnded != ended || b.Asked.IdealBegun != max(ended, begun) {
				t.Fatalf("seed %d: request %d, %s turn %d of tree %d: %d and %d of %d blocks, by text %d and %d",
					seed, b.Asked.Num, b.Asked.StreamID, b.Asked.Turn, b.Asked.Tree, b.Asked.IdealEnded, b.Asked.IdealBegun, b.Asked.Blocks, ended, max(ended, begun))
			}
			compared++
			if ended > 0 {
				hits++
			}
			if ended > 0 && b.Asked.Turn == 0 && b.Asked.Depth == 0 {
				behindSystem++
			}
		}
	}
	t.Logf("%d requests, %d with hits, %d first turns with hits", compared, hits, behindSystem)
	if compared < 2000 || hits < 500 || behindSystem == 0 {
		t.Errorf("too little was compared")
	}
}

// The same blocks, but the earlier request ended its message one block earlier:
// behind it the text goes on elsewhere, and the engine has nothing for it.
func TestIdealEndsWhereAMessageEnded(t *testing.T) {
	const jsonl = `{"id":"a","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0,"type":"n","model":"m","in":128,"out":64,"hash_ids":[1,2],"api_time":1},
 {"t":2,"type":"n","model":"m","in":320,"out":64,"hash_ids":[1,2,3,4,5],"api_time":1},
 {"t":2.5,"type":"subagent","agent_id":"x","subagent_type":"x","status":"async_launched","requests":[
   {"t":2.5,"type":"n","model":"m","in":256,"out":5,"hash_ids":[1,2,3,4],"api_time":20}]},
 {"t":9,"type":"n","model":"m","in":384,"out":64,"hash_ids":[1,2,3,4,5,6],"api_time":1}]}`
	p := replayed(t, read(t, jsonl), Config{Duration: 20 * time.Second}, takes(100*time.Millisecond))
	got := map[string]int{}
	for _, r := range p.requests {
		if r.Asked.Pass == 0 {
			got[r.Asked.StreamID+string(rune('0'+r.Asked.Turn))] = r.Asked.IdealEnded
		}
	}
	// x says blocks 1–4 as one user message; the root said 1–2, then 3 as the assistant.
	for key, want := range map[string]int{"a0": 0, "a1": 2, "a2": 5, "a::sa:x0": 2} {
		if got[key] != want {
			t.Errorf("%s: %d, want %d", key, got[key], want)
		}
	}
}
