package github

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v62/github"
)

// actionsBot is who writes with a job's own token.
const actionsBot = "github-actions[bot]"

// whoAmI is the login that the token's comments appear under. The token of an app, which
// a job's is, can't ask /user, but GraphQL's viewer; where neither answers it is taken
// for a job's own.
func (c *client) whoAmI(ctx context.Context) string {
	var login string
	err := c.retry.do(ctx, comment, func() error {
		user, _, err := c.Users.Get(ctx, "")
		login = user.GetLogin()
		return err
	})
	if err == nil && login != "" {
		return login
	}
	err = c.retry.do(ctx, comment, func() (err error) {
		login, err = c.viewer(ctx)
		return err
	})
	if err == nil && login != "" {
		return login
	}
	return actionsBot
}

// viewer asks GraphQL whose token it is.
func (c *client) viewer(ctx context.Context) (string, error) {
	req, err := c.NewRequest(http.MethodPost, c.graphQL, map[string]string{"query": "query { viewer { login } }"})
	if err != nil {
		return "", err
	}
	var answer struct {
		Data struct {
			Viewer struct {
				Login string `json:"login"`
			} `json:"viewer"`
		} `json:"data"`
	}
	if _, err := c.Do(ctx, req, &answer); err != nil {
		return "", err
	}
	return answer.Data.Viewer.Login, nil
}

// status of the answer that an error is made of; 0 when there was none.
func status(err error) int {
	var answer *gh.ErrorResponse
	var secondary *gh.AbuseRateLimitError
	var primary *gh.RateLimitError
	switch {
	case errors.As(err, &answer):
		return answer.Response.StatusCode
	case errors.As(err, &secondary), errors.As(err, &primary):
		return http.StatusForbidden
	}
	return 0
}

// commentID is the number at the end of a comment's address.
func commentID(address string) int64 {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	id, err := strconv.ParseInt(strings.TrimPrefix(u.Fragment, "issuecomment-"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// link is a Markdown link, or only its text where the address is none.
func link(text, to string) string {
	if at := address(to); at != "" {
		return "[" + text + "](" + at + ")"
	}
	return text
}
