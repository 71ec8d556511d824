package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// simulated is the address of a simulated engine.
func simulated(t *testing.T) string {
	t.Helper()
	engine, err := sim.New(sim.Config{Faults: sim.Faults{PrefillSlowdown: 0.05, DecodeSlowdown: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(func() { server.Close(); _ = engine.Close() })
	return server.URL
}

// Both engines are asked before the first part, and nothing is measured when one
// of them is not there or serves another model.
func TestABAsksFirst(t *testing.T) {
	up := simulated(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[{"id":"other"}]}`)) }))
	defer other.Close()
	const down = "http://127.0.0.1:1"
	for _, c := range []struct {
		head, base string
		more       []string
		code       int
		says, not  string
	}{
		{up, down, nil, exitFailed, "the base's engine (--base-url) does not answer as it must: models of http://127.0.0.1:1/v1/models: nothing listens", "the head's engine"},
		{down, up, nil, exitFailed, "the head's engine (--head-url) does not answer", "the base's engine"},
		{up, down, []string{"--model", "sim"}, exitFailed, "the base's engine (--base-url) does not answer", "the head's engine ("},
		{up, other.URL, nil, exitUsage, `the head's engine serves the model "sim", the base's "other"`, "does not answer"},
		{up, up, []string{"--floor", "missing"}, exitUsage, "--floor missing", "does not answer"},
		{up, up, []string{"--compare-with", "x"}, exitUsage, "--compare-with: it compares its own two sides", "does not answer"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		var out, err bytes.Buffer
		code := Main(append([]string{"ab", "--head-url", c.head, "--base-url", c.base, "--input-file", "../../pkg/workload/corpus/sample", "--output-artifact-dir", dir}, c.more...), nil, &out, &err)
		if code != c.code || !strings.Contains(err.String(), c.says) || strings.Contains(err.String(), c.not) {
			t.Errorf("exit code %d, want %d and %q\n%s", code, c.code, c.says, &err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("something was written: %v", err)
		}
	}
}

// A part that the comparison would refuse is not measured.
func TestABSidesAreAlike(t *testing.T) {
	first := &result.Document{Identity: result.NewIdentity(map[string]string{"engine": "vllm", "engine_version": "1", "gpu_count": "8", "seed": "1"})}
	for _, c := range []struct {
		known map[string]string
		says  string
	}{
		{map[string]string{"engine": "vllm", "engine_version": "2", "seed": "1"}, ""}, // the GPUs are not known yet
		{map[string]string{"engine": "sglang", "seed": "1"}, "the two sides cannot be compared: engine is vllm there and sglang here"},
		{map[string]string{"engine": "vllm"}, "seed is 1 there and unknown here"},
	} {
		known := result.NewIdentity(c.known)
		err := like(first, &known, &compare.Options{})
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || exitCode(err) != exitUsage) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
	for address, want := range map[string]string{"http://u:p@h:1/v1?key=x": "http://h:1/v1", "h:8000": "h:8000", "http://[": "its address"} {
		if got := withoutSecrets(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

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
		"--fixed-shapes", "256:16", "--concurrency", "16", "--benchmark-duration", "3", "--benchmark-grace-period", "2", "--trace-idle-gap-cap-seconds", "0.2", "--burst-phase-starts", "--stats-interval", "0",
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

// Two command lines make two sides too: each part has an engine of its own, and the
// command is what they may differ in.
func TestABCommands(t *testing.T) {
	program, err := exec.LookPath("agentx")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"ab", "--driver", "process", "--input-file", "../../pkg/workload/corpus/sample", "--output-artifact-dir", dir, "--no-fixed",
		"--concurrency", "2", "--benchmark-duration", "1", "--benchmark-grace-period", "1", "--trace-idle-gap-cap-seconds", "0.2", "--burst-phase-starts", "--stats-interval", "0"}
	for _, side := range []string{"--engine-command", "--base-engine-command"} {
		for _, w := range []string{program, "sim", "--port", "{port}"} {
			args = append(args, side+"="+w)
		}
	}
	args = append(args, "--engine-command=--sim-set", "--engine-command=faults.decode_slowdown=0.2")
	var out, stderr bytes.Buffer
	if code := Main(args, nil, &out, &stderr); code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, &out, &stderr)
	}
	c, err := readComparison(filepath.Join(dir, "1-head", result.FileComparison))
	if err != nil || len(c.Axis) != 1 || c.Axis[0].Key != "engine_args" || len(c.Head.Runs) != 2 {
		t.Errorf("%v; %+v", err, c)
	}
	if n := strings.Count(stderr.String(), ": starting\n"); n != 4 {
		t.Errorf("%d engines were started, want 4\n%s", n, &stderr)
	}
}
