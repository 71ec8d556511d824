package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// Two engines that differ by a dial are told apart in one job, in the order ABBA.
func TestAB(t *testing.T) {
	serve := func(slowdown float64) string {
		engine, err := sim.New(sim.Config{Faults: sim.Faults{PrefillSlowdown: 0.05, DecodeSlowdown: 0.4 * slowdown}})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(engine)
		t.Cleanup(func() { server.Close(); _ = engine.Close() })
		return server.URL
	}
	dir := t.TempDir()
	var out, err bytes.Buffer
	code := Main([]string{
		"ab", "--head-url", serve(1.5), "--base-url", serve(1), "--input-file", "../../pkg/workload/corpus/sample", "--output-artifact-dir", dir,
		"--concurrency", "16", "--benchmark-duration", "3", "--benchmark-grace-period", "2", "--trace-idle-gap-cap-seconds", "0.2", "--burst-phase-starts", "--stats-interval", "0",
	}, nil, &out, &err)
	if code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, &out, &err)
	}
	for _, part := range []string{"1-head", "2-base", "3-base", "4-head"} {
		if _, err := os.Stat(filepath.Join(dir, part, "manifest.json")); err != nil {
			t.Error(err)
		}
	}
	text, readErr := os.ReadFile(filepath.Join(dir, result.FileComparison))
	if readErr != nil {
		t.Fatal(readErr)
	}
	c, decodeErr := compare.Decode(text)
	if decodeErr != nil {
		t.Fatal(decodeErr)
	}
	if len(c.Head.Runs) != 2 || len(c.Base.Runs) != 2 || c.Pairing.Pairs == 0 || c.Pairing.RootTraces < 10 {
		t.Errorf("pairing %+v", c.Pairing)
	}
	for _, f := range c.Gated {
		if f.Metric == "itl_p50" && (f.Ratio == nil || *f.Ratio < 1.2) {
			t.Errorf("ITL p50 of an engine that decodes 1.5 times slower: %+v", f)
		}
	}
	if !strings.Contains(err.String(), "prefix cache: proven empty") {
		t.Error("the cache was not reset between the parts")
	}
}
