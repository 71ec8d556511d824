package main

import (
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

func TestCell(t *testing.T) {
	run := func(change func(*runCmd)) string {
		r := new(runCmd)
		change(r)
		return r.cell()
	}
	for want, got := range map[string]string{
		"given": run(func(r *runCmd) { r.Cell, r.Engine = "given", "vllm" }),
		"vllm-org/model-tp2-c8": run(func(r *runCmd) {
			r.Engine, r.ModelNames, r.TensorParallelSize, r.Concurrency = "vllm", []string{"org/model"}, 2, "8"
		}),
		"vllm":        run(func(r *runCmd) { r.Engine, r.Concurrency = "vllm", "4,8" }),
		"sim":         run(func(*runCmd) {}),
		"sglang":      run(func(r *runCmd) { r.Engine, r.Concurrency = "sglang", "abc" }),
		"url-c1":      run(func(r *runCmd) { r.URL, r.Concurrency = []string{"http://x"}, "1" }),
		"kept":        cellOf(&result.Document{Settings: result.Settings{Model: "m", Other: map[string]string{otherCell: "kept"}}}),
		"sglang-m-c8": cellOf(&result.Document{Engine: result.EngineFacts{Name: "sglang"}, Settings: result.Settings{Model: "m", Concurrency: 8}}),
		"m":           cellOf(&result.Document{Settings: result.Settings{Model: "m", Concurrency: 8, Other: map[string]string{"sweep": "1 of [8 4], run"}}}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The folders of a base's runs that lie in a store, or were fetched from one, are named
// by their keys.
func TestStoredCommits(t *testing.T) {
	at := func(sha string) compare.RunRef {
		return compare.RunRef{Where: "/home/x/runs/abc/v1/octo/engine/c/main/20260101T000000Z-" + sha + "-5-1"}
	}
	a, b := strings.Repeat("a", 12), strings.Repeat("b", 12)
	if got := storedCommits([]compare.RunRef{at(a), at(b), at(a), at("000000000000"), {Where: "artifacts.1"}, {}}); got != a+", "+b {
		t.Errorf("%q", got)
	}
	var many []compare.RunRef
	for _, c := range "0123456789abcdef"[1:] {
		many = append(many, at(strings.Repeat(string(c), 12)))
	}
	if got := storedCommits(many); !strings.HasSuffix(got, ", and 10 more") {
		t.Errorf("%q", got)
	}
}
