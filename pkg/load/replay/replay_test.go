package replay

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// engine answers every request after a fixed time.
type engine struct {
	clock record.Clock
	takes time.Duration
}

func (e *engine) Send(ctx context.Context, a *record.Asked, m Messages) record.Seen {
	seen := record.Seen{Outcome: record.OK, Sent: e.clock.Now()}
	_, _ = io.Copy(io.Discard, m)
	select {
	case <-time.After(e.takes):
	case <-ctx.Done():
		seen.Outcome = record.Censored
	}
	seen.End = e.clock.Now()
	return seen
}

// log collects what a run reports.
type log struct {
	requests []record.Record
	trees    []record.Tree
	samples  []record.Sample
}

func (l *log) Request(r record.Record) { l.requests = append(l.requests, r) }
func (l *log) Tree(t record.Tree)      { l.trees = append(l.trees, t) }
func (l *log) Sample(s record.Sample)  { l.samples = append(l.samples, s) }
func (l *log) Phase(Phase)             {}

func read(t *testing.T, jsonl string) []*trace.Trace {
	t.Helper()
	r := trace.NewReader(strings.NewReader(jsonl), "test.jsonl")
	var out []*trace.Trace
	for {
		tr, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
}

const family = `{"id":"a","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0,"type":"n","model":"m","in":128,"out":10,"hash_ids":[1,2],"api_time":10},
 {"t":12,"type":"subagent","agent_id":"x","subagent_type":"Explore","status":"completed","duration_ms":38000,"requests":[
   {"t":12,"type":"n","model":"m","in":64,"out":5,"hash_ids":[9],"api_time":20},
   {"t":40,"type":"n","model":"m","in":128,"out":5,"hash_ids":[9,10],"api_time":10}]},
 {"t":60,"type":"n","model":"m","in":192,"out":10,"hash_ids":[1,2,3],"api_time":5},
 {"t":66,"type":"subagent","agent_id":"b","subagent_type":"Plan","status":"async_launched","requests":[
   {"t":66,"type":"n","model":"m","in":64,"out":5,"hash_ids":[20],"api_time":400},
   {"t":900,"type":"n","model":"m","in":128,"out":5,"hash_ids":[20,21],"api_time":10}]},
 {"t":100,"type":"n","model":"m","in":256,"out":10,"hash_ids":[1,2,3,4],"api_time":5},
 {"t":5000,"type":"n","model":"m","in":320,"out":10,"hash_ids":[1,2,3,4,5],"api_time":5}]}`

func TestSystemCapTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := record.NewClock()
		l := &log{}
		out, err := Run(t.Context(), Config{
			Concurrency: 1, RunID: "r", Models: []string{"m"}, Duration: 100 * time.Second, SystemIdleCap: 10 * time.Second,
			FailedThreshold: -1,
		}, Workload{Traces: read(t, family), Maker: prompt.NewMaker(1)}, &engine{clock, 3 * time.Second}, l, clock)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.requests {
			t.Log(r.Asked.StreamID, r.Asked.Turn, float64(r.Seen.Sent)/1e9, float64(r.Asked.Due)/1e9, r.Seen.Outcome, r.Asked.IdealEnded, r.Asked.Blocks)
		}
		t.Logf("%+v\n%+v", out, l.trees)
	})
}
