package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/org/agentx-action/pkg/config"
)

const actionFile = "../../action.yml"

// actionCommand is the verb that GitHub's runner calls.
func actionCommand(t testing.TB) *kong.Node {
	t.Helper()
	parser, err := kong.New(&grammar{}, kong.Vars{"version": "test", "sampleSeed": "1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range commandNode(parser.Model, verbAction).Children {
		if n.Name == "run" {
			return n
		}
	}
	t.Fatal("action has no step")
	return nil
}

// outputs of the Action with what they are, in their order.
func actionOutputs() [][2]string {
	list := [][2]string{
		{"verdict", "The answer in one word or few: failed, regression, invalid, changed for the worse, many requests failed, changed, not compared, not enough data, no change seen, improvement."},
		{"submission-valid", "Whether the run counts by the rules of its scenario: true or false; empty without one."},
		{"trusted", "Whether the figures can be relied on: true or false."},
		{"result-path", "result.json, relative to the workspace. With several concurrencies this and what follows is of the one that the verdict comes from, and the answers above are of all together."},
		{"result-url", "Where the artifacts lie in the store; empty without one."},
		{"comparison-path", "comparison.json, relative to the workspace; empty when nothing was compared."},
		{"comment-url", "The pull request's comment; empty without one."},
		{"check-run-url", "The check run; empty without one."},
	}
	for _, h := range headline {
		list = append(list, [2]string{h.name, h.help + " Empty when not measured."})
	}
	return list
}

// The Action's inputs come out of the flags, so that none of them can drift.
func TestActionFile(t *testing.T) {
	got, err := os.ReadFile(actionFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := actionOf(t)
	if *update {
		if err := os.WriteFile(actionFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("action.yml is out of date: go test ./cmd/agentx -run TestActionFile -update\n%s", diff)
	}
	var file struct {
		Inputs  map[string]struct{ Description, Default string }
		Outputs map[string]struct{ Description string }
		Runs    map[string]any
	}
	if err := yaml.Load(got, &file); err != nil {
		t.Fatal(err)
	}
	for name, in := range file.Inputs {
		if in.Description == "" {
			t.Errorf("input %s says nothing", name)
		}
		if in.Default != "" && name != "github-token" { // it would win over agentx.yaml
			t.Errorf("input %s has the default %q", name, in.Default)
		}
	}
	for _, name := range []string{"config", "engine", "image", "base-image", "model", "public-dataset", "concurrency", "benchmark-duration", "fixed-shapes", "compare-with", "fail-on", "comment", "cell", "store", "github-token"} {
		if _, ok := file.Inputs[name]; !ok {
			t.Errorf("there is no input %s", name)
		}
	}
	if file.Runs["using"] != "docker" || file.Runs["post-if"] != "always()" {
		t.Errorf("runs: %v", file.Runs)
	}
}

func actionOf(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(`# Made by go generate ./cmd/agentx. An input is a key of agentx.yaml: one that is not
# given is left to the file, and then to the default that its description names.
name: AgentX
description: Replay recorded coding-agent sessions against an LLM engine, compare with the base, and comment on the pull request.
author: The AgentX authors
branding:
  icon: activity
  color: blue

inputs:
`)
	group := ""
	for _, f := range inputs(actionCommand(t)) {
		if f.Group != nil && f.Group.Title != group {
			group = f.Group.Title
			fmt.Fprintf(&b, "  # %s\n", group)
		}
		for i, name := range append([]string{f.Name}, visibleAliases(f)...) {
			text := f.Help
			if i > 0 {
				text = "The same as " + f.Name + ". " + text
			}
			fmt.Fprintf(&b, "  %s:\n    description: %s\n", name, quoted(t, text+describedInput(f)))
			if name == "github-token" {
				b.WriteString("    default: ${{ github.token }}\n")
			}
		}
	}
	b.WriteString("\noutputs:\n")
	for _, o := range actionOutputs() {
		fmt.Fprintf(&b, "  %s:\n    description: %s\n", o[0], quoted(t, o[1]))
	}
	b.WriteString(`
runs:
  using: docker
  image: Dockerfile
  args:
    - action
  post-entrypoint: /agentx-post
  post-if: always()
`)
	return b.Bytes()
}

// describedInput says how an input is written, and what holds without it.
func describedInput(f *kong.Flag) (text string) {
	kind, _ := kindOf(f.Target.Type())
	switch {
	case strings.Contains(f.Tag.Get("config"), "list=whole"), kind == config.List && f.Tag.Sep != -1:
		text += " Several: a line each, or with commas."
	case kind == config.List:
		text += " One a line."
	case kind == config.Map:
		text += " NAME=VALUE, one a line."
	}
	value := f.Default
	switch f.Name {
	case "github-token":
		return text
	case "fail-on":
		value = "invalid with a scenario, else never"
	}
	if value != "" {
		text += " Default: " + value + "."
	}
	return text
}

// quoted is a text as a YAML scalar.
func quoted(t testing.TB, text string) string {
	t.Helper()
	out, err := yaml.Marshal(strings.ReplaceAll(text, "${", "$ {")) // the runner would take it for an expression
	if err != nil {
		t.Fatal(err)
	}
	if line := strings.TrimRight(string(out), "\n"); !strings.Contains(line, "\n") {
		return line
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(text) + `"`
}

// What a workflow gives wins over the file, and a flag over both; each kind of input is
// read as it is written in a workflow.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("agentx.yaml", []byte("concurrency: 8\nmodel: of-file\nrounds: 3\nengine-env: {A: file}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"CONCURRENCY": "2, 4\n6", "BENCHMARK-DURATION": "7.5", "MODEL": " of-input ", "ENGINE-ENV": "B=x=y\nC=1,2\n", "ARGS": "--a=1,2\n\n!--b",
		"STREAMING": "true", "PREFIX-CACHING": "false", "FIXED-CONCURRENCY": "4,8", "URL": "", "GITHUB-TOKEN": "t", "RANDOM-SEED": "5",
	} {
		t.Setenv("INPUT_"+name, value)
	}
	var g grammar
	parser, err := kong.New(&g, kong.Vars{"version": "test", "sampleSeed": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"action", "--random-seed", "9"}); err != nil {
		t.Fatal(err)
	}
	r := &g.Action.Run
	if r.Concurrency != "2,4,6" || *r.BenchmarkDuration != 7.5 || !slices.Equal(r.ModelNames, []string{"of-input"}) || r.Rounds != 3 || *r.RandomSeed != 9 {
		t.Errorf("concurrency %q, duration %v, model %q, rounds %d, seed %v", r.Concurrency, *r.BenchmarkDuration, r.ModelNames, r.Rounds, *r.RandomSeed)
	}
	if diff := cmp.Diff(map[string]string{"B": "x=y", "C": "1,2"}, r.EngineEnv); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(r.Args, []string{"--a=1,2", "!--b"}) || !slices.Equal(r.FixedConcurrency, []string{"4", "8"}) || !*r.Streaming || r.PrefixCaching || len(r.URL) > 0 {
		t.Errorf("args %q, fixed-concurrency %q, streaming %v, prefix-caching %v, url %q", r.Args, r.FixedConcurrency, *r.Streaming, r.PrefixCaching, r.URL)
	}
	// Another verb takes no notice of them.
	g = grammar{}
	if _, err := parser.Parse([]string{"run"}); err != nil || g.Run.Concurrency != "8" {
		t.Errorf("%v, concurrency %q", err, g.Run.Concurrency)
	}
	t.Setenv("INPUT_BENCHMARK-DURATION", "long")
	if _, err := parser.Parse([]string{"action"}); err == nil || !strings.Contains(err.Error(), "benchmark-duration") {
		t.Errorf("a duration of %q: %v", "long", err)
	}
}
