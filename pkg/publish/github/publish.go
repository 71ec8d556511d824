package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/org/agentx-action/pkg/publish/table"
)

// Publish tells GitHub what there is to tell: job summary and annotations first, since
// they can't be refused, then the pull request's comment and the check run. The error
// joins everything that was refused, each a *Refused; the outcome is right in any case.
func Publish(ctx context.Context, o Options, c Content) (Outcome, error) {
	o, c = withoutSecrets(o, c)
	out := Outcome{Standing: StandingOf(&c), Comment: Skipped}
	whole, err := newBody(&o, &c)
	if err != nil {
		return out, err
	}
	o.summarise(whole, annotations(&c, out.Standing))
	if o.Token == "" || o.Comments == CommentOff && o.CheckRun == "" {
		return out, nil
	}
	budget := o.Budget
	if budget <= 0 {
		budget = defaultBudget
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	gh, err := newClient(&o)
	if err != nil {
		out.refuse(&o, &Refused{What: comment, Why: err.Error(), ToDo: "correct the setting", Err: err})
	} else {
		gh.retry = retry{fork: o.Event.Fork && o.Event.Name != "workflow_run"}
		gh.log = o.logf
		if o.Comments != CommentOff {
			gh.comment(ctx, &o, &c, &out)
		}
		if o.CheckRun != "" && o.Event.HeadSHA != "" {
			gh.checked(ctx, &o, &c, &out)
		}
	}
	o.tell(out.Refused)
	return out, out.err()
}

// comment brings the pull request's comment up to date.
func (c *client) comment(ctx context.Context, o *Options, content *Content, out *Outcome) {
	n, head, err := c.pullRequest(ctx, o)
	if err != nil {
		out.Comment = NotSent
		out.refuse(o, err)
		return
	}
	if out.PullRequest = n; n == 0 {
		return
	}
	at := *o
	if head != o.Event.HeadSHA {
		at.moved = head
	}
	b, err := newBody(&at, content)
	if err != nil {
		out.refuse(o, err)
		return
	}
	s := &sticky{client: c, number: n, mode: o.Comments, login: o.Login, body: b}
	p, err := s.sync(ctx)
	out.Comment, out.CommentURL, out.Duplicates, out.Shed = p.change, p.url, p.duplicates, b.shed
	if err != nil {
		out.refuse(o, err)
	}
	if p.change == Kept {
		o.keep(b.marker.run, p)
	}
}

// checked makes the check run.
func (c *client) checked(ctx context.Context, o *Options, content *Content, out *Outcome) {
	b, err := newBody(o, content)
	if err != nil {
		out.refuse(o, err)
		return
	}
	if out.CheckRunURL, err = c.check(ctx, o, b, content); err != nil {
		out.refuse(o, err)
	}
}

// refuse keeps an error as a *Refused, without secrets that GitHub's answer repeats.
func (o *Outcome) refuse(by *Options, err error) {
	var r *Refused
	if !errors.As(err, &r) {
		r = &Refused{What: comment, Why: err.Error(), ToDo: "publish it later with agentx publish", Err: err}
	}
	r.Why = table.Plain(by.hide(r.Why), sentenceWidth)
	if r.Err != nil && by.hide(r.Err.Error()) != r.Err.Error() {
		r.Err = errors.New(by.hide(r.Err.Error()))
	}
	o.Refused = append(o.Refused, r)
}

func (o *Outcome) err() error {
	list := make([]error, len(o.Refused))
	for i, r := range o.Refused {
		list[i] = r
	}
	return errors.Join(list...)
}

// Planned is what Publish would do.
type Planned struct {
	Standing    Standing
	PullRequest int    // 0: there is none, or it has to be asked for
	Body        string // the comment, marker first
	Shed        []string
	Summary     string
	Annotations []Annotation
	Steps       []string // in words, in their order
}

// Plan is what Publish would do, found without a network. What depends on the comments
// that are there is said in words.
func Plan(o Options, c Content) (Planned, error) {
	o, c = withoutSecrets(o, c)
	p := Planned{Standing: StandingOf(&c)}
	whole, err := newBody(&o, &c)
	if err != nil {
		return p, err
	}
	p.Summary, p.Annotations = whole.text(), annotations(&c, p.Standing)
	whole.fit(MaxBody)
	p.Body, p.Shed = whole.String(), whole.shed
	step := func(format string, args ...any) { p.Steps = append(p.Steps, fmt.Sprintf(format, args...)) }
	step("job summary: %d bytes, with %d annotations", len(p.Summary), len(p.Annotations))
	at := cmp.Or(o.ServerURL, defaultServer) + "/" + o.Repository
	p.PullRequest = o.PullRequest
	if p.PullRequest == 0 {
		p.PullRequest = o.Event.PullRequest
	}
	switch {
	case o.Comments == CommentOff:
		step("no comment: it is switched off")
	case p.PullRequest > 0:
		step("comment on %s/pull/%d: create it, or update the one there%s", at, p.PullRequest, anew(o.Comments))
	case o.Event.Find:
		step("comment on the pull request of %s whose head is %s, which GitHub is asked for", at, table.Plain(o.Event.HeadSHA, nameWidth))
	default:
		step("no comment: the event %q has no pull request", table.Plain(o.Event.Name, nameWidth))
	}
	if o.CheckRun != "" && o.Event.HeadSHA == "" {
		step("no check run: the event %q names no commit", table.Plain(o.Event.Name, nameWidth))
	} else if o.CheckRun != "" {
		step("check run %q on %s: %s", table.Plain(o.CheckRun, nameWidth), table.Plain(o.Event.HeadSHA, nameWidth), p.Standing.Conclusion(c.Claimed))
	}
	if o.Token == "" {
		step("nothing is sent: there is no token")
	}
	return p, nil
}

func anew(c Comments) string {
	if c == CommentSticky {
		return ", anew when the verdict got worse than it says"
	}
	return ""
}
