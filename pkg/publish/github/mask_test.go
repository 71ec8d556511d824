package github

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/publish/github/githubtest"
)

// leak has characters that Markdown gets backslashes for, and a plain end to look for.
const leak = "hf_a*b_Canary42"

// leaking is a result in which every text that others can set holds a secret.
func leaking(t *testing.T) Content {
	t.Helper()
	c := contents(t)["invalid"]
	c.Head.Errors[0].Message = leak
	c.Head.Settings.Other = map[string]string{leak: leak}
	c.Head.Validity.Findings[0].Text = strings.Repeat("x", sentenceWidth-len(leak)/2) + leak // cut in its middle
	c.Head.Corpus.Name, c.Head.Engine.URL = leak, "http://u:"+leak+"@h"
	c.Comparison.Summary, c.Comparison.Notes = leak, []string{leak}
	c.Provenance.Reproduce = []string{"agentx", "--args=" + leak}
	return c
}

// No secret gets out: into no channel, whole or in part, with backslashes or without,
// whether it stands in the result or in an answer of GitHub's.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []*githubtest.Failure{nil, {Status: 403, Body: `{"message":"bad token ` + leak + `"}`}} {
			j := newJob(t)
			j.Options.CheckRun, j.Options.Cell = "AgentX", leak
			j.Options.Mask = func(text string) string { return strings.ReplaceAll(text, leak, "***") }
			if f != nil {
				j.Fail("POST /repos", -1, *f)
			}
			content := leaking(t)
			out, err := j.publish(t, content)
			p, planErr := Plan(j.Options, content)
			all := fmt.Sprint(out, err, p, planErr, j.log, j.summaryText(t))
			for _, r := range out.Refused {
				all += fmt.Sprint(*r, r.Err)
			}
			for _, r := range j.Requests() {
				all += fmt.Sprint(r.Path, string(r.Body))
			}
			for _, part := range []string{"hf_", `hf\_`, "Canary42"} {
				if i := strings.Index(all, part); i >= 0 {
					t.Errorf("with %+v: …%s…", f, all[max(0, i-60):min(len(all), i+60)])
				}
			}
			if !strings.Contains(all, "***") || !strings.Contains(all, "INVALID") {
				t.Error("the text itself is gone")
			}
			if diff := cmp.Diff(leaking(t), content); diff != "" {
				t.Errorf("what was given was changed: %s", diff)
			}
		}
	})
}

// Taking out nothing changes nothing, and words that verdicts are read from stay.
func TestHiddenKeepsOurWords(t *testing.T) {
	c := regressed(t)
	same := func(text string) string { return text }
	if diff := cmp.Diff(c, hidden(reflect.ValueOf(c), same).Interface()); diff != "" {
		t.Error(diff)
	}
	_, c = withoutSecrets(Options{Mask: func(text string) string { return strings.Repeat("*", len(text)) }}, c)
	if StandingOf(&c) != Regressed || c.Head.Metrics.Request["time_to_first_token"].Count == 0 {
		t.Errorf("%s, %d requests", StandingOf(&c), c.Head.Metrics.Request["time_to_first_token"].Count)
	}
}
