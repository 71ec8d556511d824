package github

import (
	"context"
	"errors"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"github.com/org/agentx-action/pkg/publish/table"
)

// maxCheckSummary is how long GitHub takes the summary of a check run, in characters.
const maxCheckSummary = 65535

// check makes a check run on the commit.
func (c *client) check(ctx context.Context, o *Options, b *body, content *Content) (string, error) {
	b.fit(maxCheckSummary)
	for {
		standing := b.marker.standing
		opts := gh.CreateCheckRunOptions{
			Name: o.CheckRun, HeadSHA: o.Event.HeadSHA, Status: gh.String("completed"), Conclusion: gh.String(standing.Conclusion(content.Claimed)),
			Output: &gh.CheckRunOutput{
				Title:   gh.String(table.Plain(strings.ToUpper(string(standing)), nameWidth)),
				Summary: gh.String(b.text()),
			},
		}
		if at := address(content.Provenance.RunURL); at != "" {
			opts.DetailsURL = &at
		}
		var made *gh.CheckRun
		err := c.retry.do(ctx, checkRun, func() (err error) {
			made, _, err = c.Checks.CreateCheckRun(ctx, c.owner, c.repo, opts)
			return sized(err)
		})
		var long *tooLong
		if errors.As(err, &long) {
			if b.shedOne() {
				continue
			}
			err = c.retry.refusal(checkRun, long.err)
		}
		return made.GetHTMLURL(), err
	}
}
