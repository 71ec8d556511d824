package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"
)

// The theoretical hits agree with the independent oracle in each of its three senses.
func TestHitsOracle(t *testing.T) {
	files := sample(t)
	raw, err := os.ReadFile(filepath.Join(tracetest.Folder(t), "oracle.json"))
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Traces []struct {
			File     string `json:"file"`
			Instant  int    `json:"hit_blocks_instant"`
			Causal   int    `json:"hit_blocks_causal"`
			PrevTurn int    `json:"hit_blocks_prev_turn"`
		} `json:"traces"`
	}
	if err := json.Unmarshal(raw, &oracle); err != nil {
		t.Fatal(err)
	}
	if len(oracle.Traces) != len(files) {
		t.Fatalf("%d traces in the oracle, %d files", len(oracle.Traces), len(files))
	}
	for _, want := range oracle.Traces {
		tr, err := NewReader(bytes.NewReader(files[want.File]), want.File).Next()
		if err != nil {
			t.Fatal(err)
		}
		var got Hit
		for _, h := range tr.Hits() {
			got.Instant += h.Instant
			got.Causal += h.Causal
			got.PrevTurn += h.PrevTurn
		}
		if wanted := (Hit{want.Instant, want.Causal, want.PrevTurn}); got != wanted {
			t.Errorf("%s: hits %+v, the oracle says %+v", want.File, got, wanted)
		}
	}
}

// The example of spec/traces.md §10.4: at 3.5 s block 3 is still being computed.
func TestHitsExample(t *testing.T) {
	tr, err := NewReader(strings.NewReader(convertedExample), "").Next()
	if err != nil {
		t.Fatal(err)
	}
	var got []Hit
	hits := tr.Hits()
	for r := range tr.All {
		got = append(got, hits[r])
	}
	want := []Hit{{}, {}, {2, 2, 2}, {1, 0, 0}, {3, 3, 3}, {}}
	if len(got) != len(want) {
		t.Fatalf("%d hits, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("request %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// convertedExample is the result of the worked example of spec/traces.md §10.4.
const convertedExample = `{"id":"example","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0.0,"type":"s","model":"m","in":192,"out":40,"hash_ids":[0,1,2],"api_time":2.0,"ttft":0.5},
 {"t":3.0,"type":"subagent","agent_id":"subagent_001_0000aaaa","subagent_type":"Subagent","duration_ms":4000,"total_tokens":342,"tool_use_count":null,"status":"completed","models":["m"],"requests":[
  {"t":3.0,"type":"n","model":"m","in":128,"out":10,"hash_ids":[3,4],"api_time":2.0,"think_time":1.0},
  {"t":6.0,"type":"n","model":"m","in":192,"out":12,"hash_ids":[3,4,5],"api_time":1.0,"think_time":1.5}]},
 {"t":3.5,"type":"subagent","agent_id":"subagent_002_0000bbbb","subagent_type":"Subagent","duration_ms":1000,"total_tokens":139,"tool_use_count":null,"status":"completed","models":["m"],"requests":[
  {"t":3.5,"type":"n","model":"m","in":128,"out":11,"hash_ids":[3,6],"api_time":1.0,"think_time":0.0}]},
 {"t":8.0,"type":"n","model":"m","in":256,"out":50,"hash_ids":[0,1,2,7],"api_time":1.0,"think_time":1.0},
 {"t":9.5,"type":"n","model":"m","in":64,"out":5,"hash_ids":[8],"api_time":0.3,"think_time":0.5}]}`
