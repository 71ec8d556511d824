package main

import (
	"strings"
	"testing"
)

// What will be missing at the end is told before the run, and in annotations; the run
// goes on all the same.
func TestActionWarnsBeforehand(t *testing.T) {
	t.Parallel()
	h := newActionHost(t, "pull")
	h.inputs["github-token"], h.inputs["store"], h.inputs["concurrency"] = "", "s3://bucket/p", "1,2"
	h.extra = []string{"AWS_EC2_METADATA_DISABLED=true"}
	s := h.run("agentx", "action")
	s.want(t, exitRefused, "::warning::The result can't be uploaded as things are", "there are no credentials; set AWS_ACCESS_KEY_ID", "::warning::The pull request is told nothing, since there is no token: give github-token")
	before, after, _ := strings.Cut(s.log, "measuring for")
	if !strings.Contains(before, "can't be uploaded") || !strings.Contains(after, "was not uploaded") {
		t.Errorf("told too late:\n%s", s.log)
	}
	measured, refused := strings.Index(s.summary, "AgentX ·"), strings.Index(s.summary, "### Not uploaded")
	if measured < 0 || refused < measured || !strings.Contains(s.summary[refused:], "there are no credentials") {
		t.Errorf("the summary:\n%s", s.summary)
	}
	if n := strings.Count(s.log, "since there is no token"); n != 1 || s.outputs["result-path"] == "" {
		t.Errorf("told %d times, outputs %v", n, s.outputs)
	}
	h.on("fork")
	h.inputs["concurrency"] = "2"
	if s := h.run("agentx", "action"); s.code != exitDone || strings.Contains(s.log, "::warning::The") {
		t.Errorf("a fork's job, which uploads and tells nothing, is warned (%d):\n%s", s.code, s.log)
	}
}
