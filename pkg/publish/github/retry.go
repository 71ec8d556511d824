package github

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"
)

const (
	// defaultBudget is for everything that is sent, waits included.
	defaultBudget = 2 * time.Minute
	// attempts that one call gets when GitHub itself stumbles.
	attempts = 4
	// waits is how often a rate limit is waited for.
	waits = 3
	// secondaryWait is GitHub's advice for a secondary limit that names no time.
	secondaryWait = time.Minute
)

// retry calls again what may succeed later, as long as the context's deadline allows.
type retry struct {
	fork bool // the event came from a fork, whose token may only read
}

// do calls f until it succeeds, is refused, or there is no time left. The error is a
// *Refused, or a *tooLong as it is.
func (r *retry) do(ctx context.Context, what string, f func() error) error {
	failures, limits := 0, 0
	for {
		err := f()
		if err == nil {
			return nil
		}
		var long *tooLong
		var refused *Refused
		if errors.As(err, &long) || errors.As(err, &refused) {
			return err
		}
		wait, limited, ok := again(err)
		if limited {
			limits++
		} else {
			failures++
			wait = backoff(failures)
		}
		if ctx.Err() != nil || !ok || failures >= attempts || limits > waits {
			return r.refusal(what, err)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return r.refusal(what, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return r.refusal(what, err)
		}
	}
}

// backoff is 1, 2, 4 s, up to half as long again so that jobs don't march in step.
func backoff(failures int) time.Duration {
	d := time.Second << (failures - 1)
	return d + rand.N(d/2)
}

// again tells whether a call may succeed later, and how long a limit asks to wait.
func again(err error) (wait time.Duration, limited, ok bool) {
	var secondary *gh.AbuseRateLimitError
	var primary *gh.RateLimitError
	var answer *gh.ErrorResponse
	switch {
	case errors.As(err, &secondary):
		return max(secondary.GetRetryAfter(), 0) + orDuration(secondary.RetryAfter), true, true
	case errors.As(err, &primary):
		// The second more is for clocks that differ.
		return max(time.Until(primary.Rate.Reset.Time), 0) + time.Second, true, true
	case errors.As(err, &answer):
		switch status := answer.Response.StatusCode; {
		case status == http.StatusTooManyRequests:
			return retryAfter(answer.Response), true, true
		case status >= 500:
			return 0, false, true
		}
		return 0, false, false
	}
	return 0, false, true // no answer at all
}

// orDuration is GitHub's advice where a secondary limit names no time.
func orDuration(named *time.Duration) time.Duration {
	if named == nil {
		return secondaryWait
	}
	return 0
}

func retryAfter(r *http.Response) time.Duration {
	if s, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && s >= 0 && s < 1<<20 {
		return time.Duration(s) * time.Second
	}
	return secondaryWait
}

// tooLong is GitHub's refusal of a text for its length.
type tooLong struct{ err error }

func (t *tooLong) Error() string { return t.err.Error() }
func (t *tooLong) Unwrap() error { return t.err }

// sized marks a refusal for a text's length.
func sized(err error) error {
	var answer *gh.ErrorResponse
	if !errors.As(err, &answer) || answer.Response.StatusCode != http.StatusUnprocessableEntity {
		return err
	}
	text := answer.Message
	for _, e := range answer.Errors {
		text += " " + e.Message
	}
	if strings.Contains(text, "too long") || strings.Contains(text, "maximum is") {
		return &tooLong{err}
	}
	return err
}

// refusal says in words what GitHub would not take and what to do. The words are
// GitHub's as they came: Outcome.refuse makes them harmless.
func (r *retry) refusal(what string, err error) *Refused {
	out := &Refused{What: what, Err: err, ToDo: "publish it later with agentx publish"}
	var secondary *gh.AbuseRateLimitError
	var primary *gh.RateLimitError
	var answer *gh.ErrorResponse
	switch {
	case errors.As(err, &secondary):
		out.Status, out.Why = http.StatusForbidden, "secondary rate limit: "+secondary.Message
	case errors.As(err, &primary):
		out.Status, out.Why = http.StatusForbidden, "rate limit, until "+primary.Rate.Reset.UTC().Format(time.RFC3339)
	case errors.As(err, &answer):
		out.Status = answer.Response.StatusCode
		out.Why = fmt.Sprintf("%d %s", out.Status, answer.Message)
		for _, e := range answer.Errors {
			if e.Message != "" {
				out.Why += ": " + e.Message
			}
		}
		if todo := r.toDo(what, out.Status); todo != "" {
			out.ToDo = todo
		}
	case errors.Is(err, context.DeadlineExceeded):
		out.Why = "no answer in time"
	default:
		out.Why = err.Error()
	}
	return out
}

// toDo is what helps against a status.
func (r *retry) toDo(what string, status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "the token is not valid (any more): check github-token"
	case http.StatusForbidden, http.StatusNotFound:
		permission := "pull-requests: write"
		if what == checkRun {
			permission = "checks: write"
		}
		text := "give the job `permissions: " + permission + "`"
		if r.fork {
			text += "; a fork's pull request gets a token that may only read, so publish from a workflow_run workflow"
		}
		if status == http.StatusNotFound {
			text += ", and check that the token may see the repository"
		}
		return text
	case http.StatusGone:
		return "comments are switched off or the conversation is gone; the job summary has the text"
	case http.StatusUnprocessableEntity:
		return "the job summary has the text"
	}
	return ""
}
