package github

import (
	"context"
	"errors"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v62/github"
)

// What is refused, in words.
const (
	comment  = "comment"
	checkRun = "check run"
	finding  = "search for the pull request"
)

const (
	perPage = 100
	// maxPages bounds the search; GitHub allows 2,500 comments on an issue.
	maxPages = 100
)

// sticky keeps one comment of ours on a pull request.
type sticky struct {
	*client
	number int
	mode   Comments
	login  string // whose comments are ours; found when first needed
	body   *body

	tried *tried // a comment that may have been made although no answer came
}

type tried struct{ escalated bool }

// posted is what became of it.
type posted struct {
	change     Change
	url        string
	duplicates int
	newer      run // whose result stands there; only with Kept
}

// sync brings the pull request's comment up to date. What may have happened without an
// answer is looked for again before it is repeated.
func (s *sticky) sync(ctx context.Context) (posted, error) {
	s.body.fit(MaxBody)
	for {
		var p posted
		err := s.retry.do(ctx, comment, func() (err error) {
			p, err = s.once(ctx)
			return err
		})
		var long *tooLong
		if errors.As(err, &long) {
			if s.body.shedOne() {
				continue
			}
			err = s.retry.refusal(comment, long.err)
		}
		if err != nil {
			p.change = NotSent
		}
		return p, err
	}
}

// once looks for our comments and makes the one that should be there.
func (s *sticky) once(ctx context.Context) (posted, error) {
	ours, err := s.find(ctx)
	if err != nil {
		return posted{}, err
	}
	text := s.body.String()
	if len(ours) == 0 {
		return s.create(ctx, text, false)
	}
	for _, c := range ours {
		if s.body.marker.run.before(c.run) { // that one measured a newer state of the pull request
			return posted{change: Kept, url: c.GetHTMLURL(), newer: c.run}, nil
		}
	}
	current, older := ours[len(ours)-1], ours[:len(ours)-1]
	p := posted{url: current.GetHTMLURL(), change: Unchanged}
	if s.tried != nil && equal(current.GetBody(), text) { // it was made after all
		p.change = Created
		if s.tried.escalated {
			p.change = Escalated
		}
	} else if s.mode == CommentSticky && s.body.marker.standing.gravity() > current.standing.gravity() {
		if p, err = s.create(ctx, text, true); err != nil {
			return p, err
		}
		older = append(older, current)
	} else if !equal(current.GetBody(), text) {
		edited, _, err := s.Issues.EditComment(ctx, s.owner, s.repo, current.GetID(), &gh.IssueComment{Body: &text})
		if status(err) == http.StatusNotFound { // removed since it was found
			return s.create(ctx, text, false)
		}
		if err != nil {
			return p, sized(err)
		}
		p.change, p.url = Updated, edited.GetHTMLURL()
	}
	p.duplicates = s.retire(ctx, older, p)
	return p, nil
}

func (s *sticky) create(ctx context.Context, text string, escalated bool) (posted, error) {
	s.tried = &tried{escalated: escalated}
	made, _, err := s.Issues.CreateComment(ctx, s.owner, s.repo, s.number, &gh.IssueComment{Body: &text})
	if err != nil {
		if status(err) != 0 && status(err) < 500 { // an answer: it was not made
			s.tried = nil
		}
		return posted{}, sized(err)
	}
	p := posted{change: Created, url: made.GetHTMLURL()}
	if escalated {
		p.change = Escalated
	}
	return p, nil
}

// retire points from older comments of ours to the current one, and removes those that
// say nothing of their own: two jobs may have made one each at the same moment. What
// fails here is put right the next time.
func (s *sticky) retire(ctx context.Context, older []found, p posted) (removed int) {
	for _, old := range older {
		var err error
		if old.standing.gravity() < s.body.marker.standing.gravity() {
			err = s.retry.do(ctx, comment, func() error { return s.point(ctx, old, p.url) })
		} else {
			err = s.retry.do(ctx, comment, func() error {
				_, err := s.Issues.DeleteComment(ctx, s.owner, s.repo, old.GetID())
				if status(err) == http.StatusNotFound {
					return nil
				}
				return err
			})
			if err == nil {
				removed++
			}
		}
		if err != nil {
			s.log("an older comment stays as it was: %v", err)
		}
	}
	return removed
}

// point makes an older comment say where the newer one is. What it said stays, folded.
func (s *sticky) point(ctx context.Context, old found, to string) error {
	m := old.marker
	m.superseded = max(commentID(to), 1)
	line := m.String() + "\n_A newer result with a worse verdict: " + link("see it", to) + "._\n"
	text := line + "\n<details><summary>The older result</summary>\n\n" + strings.TrimSpace(old.rest) + "\n\n</details>\n"
	if length(text) > MaxBody {
		text = line
	}
	_, _, err := s.Issues.EditComment(ctx, s.owner, s.repo, old.GetID(), &gh.IssueComment{Body: &text})
	return err
}

// found is a comment of ours with what its marker says.
type found struct {
	*gh.IssueComment
	marker
	rest string
}

// find looks for our comments of this workflow and cell over all pages, the oldest
// first. A foreign one that carries our marker is none of ours.
func (s *sticky) find(ctx context.Context) ([]found, error) {
	var marked []found
	opts := &gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: perPage, Page: 1}}
	for range maxPages {
		var list []*gh.IssueComment
		var res *gh.Response
		err := s.retry.do(ctx, comment, func() (err error) {
			list, res, err = s.Issues.ListComments(ctx, s.owner, s.repo, s.number, opts)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			m, rest, ok := readMarker(c.GetBody())
			if ok && m.superseded == 0 && m.same(&s.body.marker) {
				marked = append(marked, found{c, m, rest})
			}
		}
		if res.NextPage == 0 {
			break
		}
		opts.Page = res.NextPage
	}
	if len(marked) == 0 {
		return nil, nil
	}
	if s.login == "" {
		s.login = s.whoAmI(ctx)
	}
	var ours []found
	for _, c := range marked {
		if strings.EqualFold(c.GetUser().GetLogin(), s.login) {
			ours = append(ours, c)
		}
	}
	if n := len(marked) - len(ours); n > 0 {
		s.log("%d comments of others carry our marker and are left alone; ours are by %s", n, s.login)
	}
	return ours, nil
}
