package replay

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// someTraces makes random traces with everything that a tree can have: subagents
// one after the other and side by side, concurrent calls in a flat list,
// background branches, pull-backs, system blocks, calls without block ids.
func someTraces(t testing.TB, seed uint64, n int) []*trace.Trace {
	t.Helper()
	var all strings.Builder
	for i := range n {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		all.WriteString(g.trace(fmt.Sprintf("t%d", i)))
	}
	return read(t, all.String())
}

type generator struct {
	*rand.Rand
	fresh int
	agent int
}

func (g *generator) seconds(limit float64) float64 { return float64(g.IntN(int(limit*1e4))+1) / 1e4 }

func (g *generator) blocks(n int) []int {
	var ids []int
	for range n {
		g.fresh++
		ids = append(ids, g.fresh)
	}
	return ids
}

func (g *generator) trace(id string) string {
	var entries []string
	t := g.seconds(3)
	ids := g.blocks(2 + g.IntN(4))
	system := 0
	if g.IntN(2) == 0 {
		system = 64 * (1 + g.IntN(2))
	}
	base := ids[:2:2]
	for range 2 + g.IntN(8) {
		takes := g.seconds(20)
		entries = append(entries, g.request(t, ids, takes))
		switch g.IntN(5) {
		case 0: // a call beside it, with a context of its own or a piece of ours
			own := g.blocks(1 + g.IntN(3))
			if g.IntN(2) == 0 {
				own = slices.Concat(ids[:1+g.IntN(len(ids))], own)
			}
			entries = append(entries, g.request(t+g.seconds(takes), own, g.seconds(30)))
		case 1, 2:
			for range 1 + g.IntN(2) {
				entries = append(entries, g.subagent(t+g.seconds(takes+4), base))
			}
		}
		t += takes + g.seconds([]float64{2, 30, 900}[g.IntN(3)])
		if g.IntN(6) == 0 {
			ids = ids[:1+g.IntN(len(ids))]
		}
		ids = append(ids[:len(ids):len(ids)], g.blocks(g.IntN(4))...)
	}
	return fmt.Sprintf(`{"id":%q,"models":["m"],"block_size":64,"hash_id_scope":"local","system_tokens":%d,"requests":[%s]}`+"\n", id, system, strings.Join(entries, ","))
}

func (g *generator) request(t float64, ids []int, takes float64) string {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ",")
	return fmt.Sprintf(`{"t":%.4f,"type":"s","model":"m","in":%d,"out":%d,"hash_ids":[%s],"api_time":%.4f}`,
		t, 64*len(ids)+g.IntN(2)*g.IntN(64), g.IntN(200), list, takes)
}

func (g *generator) subagent(start float64, base []int) string {
	g.agent++
	ids := g.blocks(1)
	if g.IntN(2) == 0 {
		ids = slices.Concat(base[:1+g.IntN(2)], ids)
	}
	system := 64 * g.IntN(2)
	var inner []string
	t := start + g.seconds(1)
	end := t
	for range 1 + g.IntN(4) {
		takes := g.seconds(15)
		inner = append(inner, g.request(t, ids, takes))
		if g.IntN(4) == 0 {
			inner = append(inner, g.request(t+g.seconds(takes), g.blocks(2), g.seconds(9)))
		}
		end = t + takes
		t = end + g.seconds(25)
		ids = append(ids[:len(ids):len(ids)], g.blocks(1+g.IntN(2))...)
	}
	status := `"completed","duration_ms":` + fmt.Sprint(int(1000*(end-start))+g.IntN(2000))
	if g.IntN(4) == 0 {
		status = `"async_launched"`
	}
	return fmt.Sprintf(`{"t":%.4f,"type":"subagent","agent_id":"g%d","subagent_type":"x","status":%s,"system_tokens":%d,"requests":[%s]}`,
		start, g.agent, status, system, strings.Join(inner, ","))
}

// luck answers each request by a hash of what it is, and so alike in every run:
// up to most, sometimes with an error, sometimes with an overflow. Times have
// odd nanoseconds so that no two events coincide.
func luck(seed uint64, most time.Duration, errors, overflows int) func(*record.Asked) answer {
	return func(a *record.Asked) answer {
		return roll(seed, most, errors, overflows, a.TraceID, a.Pass, a.StreamID, a.Turn, a.Kind)
	}
}

func roll(seed uint64, most time.Duration, errors, overflows int, traceID string, pass int, stream string, turn int, kind record.Kind) answer {
	h := fnv.New64a()
	fmt.Fprint(h, seed, traceID, pass, stream, turn, kind)
	x := rand.New(rand.NewPCG(h.Sum64(), seed))
	out := answer{takes: time.Duration(x.Int64N(int64(most)))}
	if kind == record.KindTurn {
		switch p := x.IntN(100); {
		case p < errors:
			out.outcome = record.Failed
		case p < errors+overflows:
			out.outcome = record.Overflow
		}
	}
	return out
}
