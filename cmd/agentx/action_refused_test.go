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

// An event that can't be read is told as a refused input is, and fails the step; the post
// step has nothing left to do. So is an environment that no runner makes.
func TestActionEventRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload, input, value string
		env                   string
		code                  int
		says                  string
	}{
		"an event":                 {payload: "ghs_canary {", code: exitFailed, says: "(GITHUB_EVENT_PATH)"},
		"an event of another kind": {payload: `{"pull_request": 7}`, code: exitFailed, says: "event payload"},
		"a number of the run":      {payload: "{}", env: "x", code: exitFailed, says: "GITHUB_RUN_ID"},
		"an event and an input":    {payload: "{", input: "comment", value: "maybe", code: exitUsage, says: "--comment must be one of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newActionHost(t, "pull")
			if err := os.WriteFile(h.env["GITHUB_EVENT_PATH"], []byte(c.payload), 0o600); err != nil {
				t.Fatal(err)
			}
			h.inputs["github-token"] = "ghs_canary"
			if c.input != "" {
				h.inputs[c.input] = c.value
			}
			if c.env != "" {
				h.env["GITHUB_RUN_ID"] = c.env
			}
			s := h.run("agentx", "action")
			s.want(t, c.code, "::error title=AgentX%3A no result::", c.says)
			if !strings.Contains(s.summary, "**No result:**") || s.outputs["verdict"] != "failed" {
				t.Errorf("outputs %v, summary:\n%s", s.outputs, s.summary)
			}
			post := h.run("agentx-post", "action")
			post.want(t, exitDone, "nothing is left to do\n")
			if all := s.log + s.summary + post.log; strings.Contains(all, "canary") || post.summary != "" || h.api.Count("POST ") > 0 {
				t.Errorf("a secret, or told twice, or to others:\n%s", all+post.summary)
			}
		})
	}
}

// Several faults are told in one line each, and in the places that have but one they
// don't run into each other; what is no number is in no title.
func TestActionFaultsApart(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	h.inputs["fail-on"], h.inputs["concurrency"] = "never,invalid", "abc"
	s := h.run("agentx", "action")
	s.want(t, exitUsage, "--concurrency abc: must be a whole number")
	for _, where := range []string{s.log, s.summary} {
		if !strings.Contains(where, "never stands alone; --fail-on invalid needs") || strings.Contains(where, "-cabc") {
			t.Errorf("%s", where)
		}
	}
}
