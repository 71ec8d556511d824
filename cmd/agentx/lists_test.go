package main

import (
	"strings"
	"testing"
)

// A command line goes into the result as typed; its secrets do not.
func TestRedactArgs(t *testing.T) {
	got := strings.Join(redactArgs([]string{
		"run", "--api-key", "canary", "--header=A:canary", "-H", "B:canary", "--engine-env", "T=canary", "--engine-env=U=canary", "--engine-env=PIN=0042", "--engine-env=V1=1", "--engine-env=A_TOKEN=1", "--engine-env", "LOG=True", "--engine-env=canary", "--engine-secret-env=HF_TOKEN", "--github-token", "canary",
		"--args=--hf-token=canary", "--args=--block-size=16", "--engine-command=--api-key=canary", "--engine-command=--api-key", "--engine-command=canary", "--engine-command=--x", "--concurrency", "8",
	}), " ")
	want := "agentx run --api-key *** --header=*** -H *** --engine-env T=*** --engine-env=U=*** --engine-env=PIN=*** --engine-env=V1=1 --engine-env=A_TOKEN=*** --engine-env LOG=True --engine-env=*** --engine-secret-env=HF_TOKEN --github-token *** --args=--hf-token=*** --args=--block-size=16 --engine-command=--api-key=*** --engine-command=--api-key --engine-command=*** --engine-command=--x --concurrency 8"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
