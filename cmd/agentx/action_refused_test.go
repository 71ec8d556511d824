package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the parser refuses is told as every other fault of the configuration is: an
// annotation, the summary, the verdict, nothing on the pull request; and the post step
// of the same configuration is no second failure.
func TestActionInputsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, value, file, says string }{
		"a number":        {"benchmark-duration", "ghs_canary", "", "--benchmark-duration: expected a float"},
		"one of several":  {"fail-on", "foo", "", "--fail-on must be one of"},
		"a word":          {"comment", "maybe", "", "--comment must be one of"},
		"a file":          {"config", "none.yaml", "", "--config: open none.yaml"},
		"a key of a file": {"cell", "c", "concurency: 8\n", `agentx.yaml:1:1: unknown key "concurency"; did you mean concurrency?`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newActionHost(t, "pull")
			h.inputs[c.input] = c.value
			h.inputs["github-token"] = "ghs_canary"
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(h.dir, defaultConfig), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := h.run("agentx", "action")
			s.want(t, exitUsage, "::error title=AgentX%3A no result::", c.says)
			if !strings.Contains(s.summary, "**No result:**") || s.outputs["verdict"] != "failed" {
				t.Errorf("outputs %v, summary:\n%s", s.outputs, s.summary)
			}
			if n := h.api.Count("POST "); n > 0 {
				t.Errorf("the pull request was told, in %d requests", n)
			}
			post := h.run("agentx-post", "action")
			post.want(t, exitDone, "nothing is left to do\n")
			if all := s.log + s.summary + post.log; strings.Contains(all, "canary") || post.summary != "" {
				t.Errorf("a secret, or told twice:\n%s", all+post.summary)
			}
		})
	}
}

// A post step that can't read its configuration and has something to tell says so.
func TestActionPostRefused(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	h.inputs["comment"] = "maybe"
	h.state[stateDir] = "artifacts"
	h.run("agentx-post", "action").want(t, exitUsage, "::error::What the step measured was not published: --comment must be one of")
}
