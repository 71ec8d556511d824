package github

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/org/agentx-action/pkg/publish/github/githubtest"
)

// A run that began earlier and ended later leaves the newer one's comment alone, however
// grave its own result is.
func TestOlderRunKeepsComment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		told := func(run, attempt int64, c Content, want Change) {
			t.Helper()
			j.Run, j.Attempt = run, attempt
			if out := j.must(t, c, want); want == Kept && !strings.Contains(out.CommentURL, "#issuecomment-") {
				t.Errorf("the comment's address is %q", out.CommentURL)
			}
		}
		told(77, 2, unchanged(t), Created)
		before := j.CommentsOn(7)[0].Body
		told(70, 1, regressed(t), Kept)
		told(77, 1, regressed(t), Kept)
		if list := j.CommentsOn(7); len(list) != 1 || list[0].Body != before {
			t.Errorf("%+v", list)
		}
		for _, where := range []string{j.log.String(), j.summaryText(t)} {
			if !strings.Contains(where, "The comment stays as it is: it is of run 77, attempt 2, which began after run 70 that this result is of") {
				t.Errorf("the reason is not in %s", where)
			}
		}
		told(77, 2, unchanged(t), Unchanged)
		told(77, 3, unchanged(t), Updated)
		told(0, 0, unchanged(t), Updated) // by hand
		told(70, 1, unchanged(t), Updated)
		told(78, 1, regressed(t), Escalated)
		told(70, 9, unchanged(t), Kept)
	})
}

// A marker of before runs were kept, or of a run that can't be, is older than any.
func TestMarkerWithoutRun(t *testing.T) {
	for _, fields := range []string{"", " run= attempt=1", " run=x", " run=-1", " run=9223372036854775807", " run=99999999999999999999999", " run=1e9"} {
		synctest.Test(t, func(t *testing.T) {
			j := newJob(t)
			j.Run, j.Attempt = 70, 1
			j.AddComment(7, githubtest.Job, "<!-- agentx:v1 workflow=bench cell=h200 standing=failed"+fields+" -->\nx")
			j.must(t, unchanged(t), Updated)
		})
	}
}

// A result of a commit that the pull request no longer has says so on top.
func TestMovedOn(t *testing.T) {
	for head, want := range map[string]bool{"abc0001": false, "abc0002": true} {
		synctest.Test(t, func(t *testing.T) {
			j := newJob(t)
			j.AddPull(githubtest.Pull{Number: 8, State: "open", HeadSHA: head, HeadOwner: "fork", HeadBranch: "patch"})
			j.Event = Event{Name: "workflow_run", Find: true, HeadSHA: "abc0001", HeadOwner: "fork", HeadBranch: "patch"}
			j.must(t, unchanged(t), Created)
			if body := j.CommentsOn(8)[0].Body; strings.Contains(body, "**An older commit:** the pull request has moved on to abc0002") != want {
				t.Errorf("head %s:\n%.400s", head, body)
			}
		})
	}
}
