package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Whatever a workflow of ours uses is pinned by its SHA, with its version beside it; of
// our own action an example names the moving tag, whose release a user pins. It gives
// no input that the action does not have.
func TestWorkflows(t *testing.T) {
	text, err := os.ReadFile(actionFile)
	if err != nil {
		t.Fatal(err)
	}
	var action struct{ Inputs, Outputs map[string]any }
	if err := yaml.Load(text, &action); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"../../.github/workflows/*.yml", "../../examples/workflows/*.yml", "../../.github/actions/*/action.yml"} {
		some, err := filepath.Glob(pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, some...)
	}
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	ours := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			switch {
			case strings.HasPrefix(m[1], "org/agentx-action") && strings.HasSuffix(m[1], "@v1") && strings.Contains(file, "examples"):
				ours++
			case !pinned.MatchString(m[1]) || !regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`).MatchString(m[2]):
				t.Errorf("%s: %s%s: want a SHA and its version", file, m[1], m[2])
			}
		}
		var w struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					With map[string]any
				}
			}
		}
		if err := yaml.Load(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, job := range w.Jobs {
			for _, s := range job.Steps {
				if s.Uses != "org/agentx-action@v1" {
					continue
				}
				for name := range s.With {
					if _, ok := action.Inputs[name]; !ok {
						t.Errorf("%s: the action has no input %s", file, name)
					}
				}
			}
		}
	}
	if ours < 6 {
		t.Errorf("the examples use the action %d times", ours)
	}
}
