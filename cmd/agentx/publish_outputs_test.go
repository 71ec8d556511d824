package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/publish/github"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/validity"
	"github.com/org/agentx-action/pkg/run"
)

// A step that measured several concurrencies must not look well because the first did.
func TestOutputsOfSeveral(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name string
		all  []answer
		want map[string]string
	}{
		{"one bad among good ones", []answer{
			answered("c4", github.NoChange, &yes, true), answered("c8", github.Regressed, &yes, false), answered("c16", github.Improved, &no, true),
		}, map[string]string{"verdict": "regression", "submission-valid": "false", "trusted": "false", "result-path": "c8/result.json", "comparison-path": "c8/comparison.json"}},
		{"all good", []answer{answered("c4", github.Improved, &yes, true), answered("c8", github.NoChange, &yes, true)},
			map[string]string{"verdict": "no change seen", "submission-valid": "true", "trusted": "true", "result-path": "c8/result.json"}},
		{"equals, without a rule set", []answer{answered("c4", github.NoChange, nil, true), answered("c8", github.NoChange, nil, true)},
			map[string]string{"verdict": "no change seen", "submission-valid": "", "trusted": "true", "result-path": "c4/result.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "output")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			getenv := func(name string) string { return map[string]string{"GITHUB_OUTPUT": file}[name] }
			p := &publication{workplace: &workplace{Action: actions.New(actions.WithGetenv(getenv))}}
			var o outputs
			for _, a := range c.all {
				o.add(a)
			}
			o.set(p)
			got := outputsIn(t, file)
			for name, want := range c.want {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
		})
	}
}

func answered(dir string, s github.Standing, valid *bool, trusted bool) answer {
	d := &result.Document{Validity: validity.Verdict{SubmissionValid: valid, Trusted: trusted}}
	return answer{seen{Report: run.Report{Dir: dir, Document: d}}, github.Content{Comparison: new(compare.Comparison)}, github.Outcome{Standing: s}}
}

// outputsIn reads the file that a step writes its outputs to.
func outputsIn(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, end, ok := strings.Cut(lines.Text(), "<<")
		if !ok {
			t.Fatalf("%q begins no output", lines.Text())
		}
		var text []string
		for lines.Scan() && lines.Text() != end {
			text = append(text, lines.Text())
		}
		out[key] = strings.Join(text, "\n")
	}
	return out
}
