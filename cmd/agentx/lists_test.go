package main

import (
	"strings"
	"testing"
)

// A command line goes into the result as typed; its secrets do not.
func TestRedactArgs(t *testing.T) {
	got := strings.Join(redactArgs([]string{
		"run", "--api-key", "canary", "--header=A:canary", "-H", "B:canary", "--engine-env", "T=canary", "--engine-env=U=canary",
		"--args=--hf-token=canary", "--args=--block-size=16", "--engine-command=--api-key=canary", "--engine-command=--api-key", "--engine-command=canary", "--engine-command=--x", "--concurrency", "8",
	}), " ")
	want := "agentx run --api-key *** --header=*** -H *** --engine-env *** --engine-env=*** --args=--hf-token=*** --args=--block-size=16 --engine-command=--api-key=*** --engine-command=--api-key --engine-command=*** --engine-command=--x --concurrency 8"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
