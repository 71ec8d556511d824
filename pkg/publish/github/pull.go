package github

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"github.com/org/agentx-action/pkg/publish/table"
)

// pullRequest is the number of the pull request that the event is about, 0 when there
// is none, and its head where GitHub was asked for it. With forks GitHub's payload of a
// workflow_run has no number, so it is looked up by what the payload says of the head:
// its owner, branch and commit.
func (c *client) pullRequest(ctx context.Context, o *Options) (n int, head string, err error) {
	e := &o.Event
	switch {
	case o.PullRequest > 0:
		return o.PullRequest, "", nil
	case e.PullRequest > 0:
		return e.PullRequest, "", nil
	case !e.Find:
		return 0, "", nil
	}
	none := &Refused{
		What: finding,
		Why:  fmt.Sprintf("no pull request from %s has the head %s", table.Plain(e.HeadOwner+":"+e.HeadBranch, nameWidth), table.Plain(e.HeadSHA, nameWidth)),
		ToDo: "name it, if it is there: --pull-request",
	}
	if e.HeadOwner == "" || e.HeadSHA == "" {
		return 0, "", none
	}
	if e.HeadBranch != "" {
		list, err := c.pulls(ctx, func(page gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
			return c.PullRequests.List(ctx, c.owner, c.repo, &gh.PullRequestListOptions{
				State: "all", Head: e.HeadOwner + ":" + e.HeadBranch, ListOptions: page,
			})
		})
		if err != nil {
			return 0, "", err
		}
		if pr := e.choose(list); pr != nil {
			return pr.GetNumber(), pr.GetHead().GetSHA(), nil
		}
	}
	list, err := c.pulls(ctx, func(page gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		return c.PullRequests.ListPullRequestsWithCommit(ctx, c.owner, c.repo, e.HeadSHA, &page)
	})
	if err != nil {
		return 0, "", err
	}
	if pr := e.choose(list); pr != nil {
		return pr.GetNumber(), pr.GetHead().GetSHA(), nil
	}
	return 0, "", none
}

// HeadSHA asks GitHub for the commit that a pull request has at this moment, for events
// that don't say it, as a comment on one.
func HeadSHA(ctx context.Context, o Options, number int) (string, error) {
	c, err := newClient(&o)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Budget, defaultBudget))
	defer cancel()
	var pr *gh.PullRequest
	err = c.retry.do(ctx, finding, func() (err error) {
		pr, _, err = c.PullRequests.Get(ctx, c.owner, c.repo, number)
		return err
	})
	if err != nil {
		return "", err
	}
	if sha := pr.GetHead().GetSHA(); WholeCommit(sha) {
		return sha, nil
	}
	return "", fmt.Errorf("github: pull request %d has no commit at its head", number)
}

var wholeCommit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// WholeCommit tells whether a text is a commit as git writes it in full, by SHA-1 or by
// SHA-256.
func WholeCommit(text string) bool { return wholeCommit.MatchString(text) }

// maxPullPages bounds a search among pull requests.
const maxPullPages = 10

func (c *client) pulls(ctx context.Context, get func(gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error)) ([]*gh.PullRequest, error) {
	var all []*gh.PullRequest
	page := gh.ListOptions{PerPage: perPage, Page: 1}
	for range maxPullPages {
		var list []*gh.PullRequest
		var res *gh.Response
		err := c.retry.do(ctx, finding, func() (err error) {
			list, res, err = get(page)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if res.NextPage == 0 {
			break
		}
		page.Page = res.NextPage
	}
	return all, nil
}

// choose takes the pull request whose head is the event's commit, an open one first;
// then the only open one of the branch, which has moved on since: the comment says
// which commit it is of. Pull requests of other owners don't count, even with the same
// commit, or a fork could have its result shown on the pull request of another.
func (e *Event) choose(list []*gh.PullRequest) *gh.PullRequest {
	var open, closed, moved []*gh.PullRequest
	for _, pr := range list {
		head := pr.GetHead()
		if !strings.EqualFold(head.GetUser().GetLogin(), e.HeadOwner) {
			continue
		}
		switch isOpen := pr.GetState() == "open"; {
		case head.GetSHA() == e.HeadSHA && isOpen:
			open = append(open, pr)
		case head.GetSHA() == e.HeadSHA:
			closed = append(closed, pr)
		case isOpen && head.GetRef() == e.HeadBranch:
			moved = append(moved, pr)
		}
	}
	switch {
	case len(open) > 0:
		return open[0]
	case len(closed) > 0:
		return closed[0]
	case len(moved) == 1:
		return moved[0]
	}
	return nil
}
