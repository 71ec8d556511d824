package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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
		for _, with := range usesOfOurs(t, file, text) {
			for name := range with {
				if _, ok := action.Inputs[name]; !ok {
					t.Errorf("%s: the action has no input %s", file, name)
				}
			}
		}
	}
	if ours < 6 {
		t.Errorf("the examples use the action %d times", ours)
	}
}

// usesOfOurs are the inputs that a workflow gives the Action, a map a use.
func usesOfOurs(t *testing.T, file string, text []byte) (all []map[string]any) {
	t.Helper()
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
			if s.Uses == "org/agentx-action@v1" {
				all = append(all, s.With)
			}
		}
	}
	return all
}

// What the workflows of the examples and of the README give is taken: each plans its
// engines.
func TestWorkflowsPlan(t *testing.T) {
	files, err := filepath.Glob("../../examples/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	planned := 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(file) == ".md" {
			_, rest, _ := strings.Cut(string(text), "```yaml\nname:")
			snippet, _, _ := strings.Cut("name:"+rest, "```")
			text = []byte(snippet)
		}
		for _, with := range usesOfOurs(t, file, text) {
			planned++
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Setenv("HF_TOKEN", "")
				t.Setenv("INPUT_DRY-RUN", "true")
				for name, value := range with {
					text := fmt.Sprint(value)
					number := "1" // what matrices give
					for expression, by := range map[string]string{"vars.AGENTX_": "", "outputs.base-sha": strings.Repeat("b", 40), "concurrency }}": number, "parallel-size }}": number} {
						if strings.Contains(text, "${{") && strings.Contains(text, expression) {
							text = by
						}
					}
					t.Setenv("INPUT_"+strings.ToUpper(name), regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllString(text, "some/thing"))
				}
				out, errors, code := runMain("action")
				if code != exitDone || !strings.Contains(out, "# The engine is started by:") {
					t.Errorf("exit code %d: %s\n%s", code, errors, out)
				}
				if _, given := with["base-image"]; given && !strings.Contains(out, "in turn with the base") {
					t.Errorf("the base is not planned:\n%s", out)
				}
				// The parts must fit into the job, with some minutes more for each.
				if m := regexp.MustCompile(`# (\d+) parts of .*: (\S+) of measuring`).FindStringSubmatch(out); m != nil {
					parts, _ := strconv.Atoi(m[1])
					measuring, err := time.ParseDuration(m[2])
					if need := measuring + time.Duration(parts)*15*time.Minute; err != nil || need > timeoutOf(t, file) {
						t.Errorf("%v of %v, and the job has %v", need, measuring, timeoutOf(t, file))
					}
				}
			})
		}
	}
	if planned < 5 {
		t.Errorf("%d uses were planned", planned)
	}
}

// timeoutOf is the least that a workflow gives its jobs; GitHub's own where it says nothing.
func timeoutOf(t *testing.T, file string) time.Duration {
	t.Helper()
	least := 360 * time.Minute
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^    timeout-minutes: (\d+)`).FindAllStringSubmatch(string(text), -1) {
		minutes, _ := strconv.Atoi(m[1])
		least = time.Duration(minutes) * time.Minute
	}
	return least
}
