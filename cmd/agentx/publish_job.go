package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/publish/github"
	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// publication is what a job measured, on its way to whoever is to be told.
type publication struct {
	*console
	*workplace
	flags     *publishFlags
	cell      string
	reproduce []string
	quiet     bool // say it in the job, not in the pull request

	pullRequest int      // instead of the event's
	untrusted   bool     // the artifacts came from a job whose code others wrote
	base        *seen    // measured in the same job; nil where none was
	warned      bool     // that there is no token
	notUploaded []string // why results were not
}

// publish uploads every run, and tells GitHub of those that are an answer. Nothing
// that is refused keeps the rest from being told; the error joins it all.
func (p *publication) publish(all []seen, failed error) error {
	var errs errorList
	if failed != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(s seen) bool { return !s.written() })
	}
	p.base = baseOf(all)
	where := map[string]string{}
	for _, s := range all {
		ref, err := p.upload(s)
		errs.add(err)
		where[s.Dir] = ref
	}
	defer p.sayNotUploaded()
	answers := answersOf(all)
	var told outputs
	for i, s := range answers {
		c := p.content(&s, where[s.Dir])
		switch last := i == len(answers)-1; {
		case failed == nil || !last || s.Document.Outcome.Error != "":
		case c.Comparison == nil:
			c.NotCompared = p.why(failed)
		default: // of a point that did not come to a result
			p.Errorf("%s", p.why(failed))
			told.standings = append(told.standings, github.Failed)
		}
		outcome, err := p.tellGitHub(c, p.cellOf(s, len(answers) > 1))
		errs.add(err)
		told.add(answer{s, c, outcome})
	}
	if len(answers) > 0 {
		told.set(p)
	}
	if len(answers) == 0 && failed != nil {
		c := github.Content{Failed: p.why(failed), Provenance: p.provenance(nil, "")}
		outcome, err := p.tellGitHub(c, p.cell)
		errs.add(err)
		p.SetOutput("verdict", string(outcome.Standing))
	}
	return errs.join()
}

// why are the words of an error that are told. Those of a refusal of strangers' artifacts
// repeat what stands in them, and stay in the log.
func (p *publication) why(failed error) string {
	var refused *refusedArtifacts
	if errors.As(failed, &refused) {
		return refused.told()
	}
	return p.secrets.Mask(oneLine(failed))
}

// baseOf is the base's first run, where one was measured.
func baseOf(all []seen) *seen {
	for i := range all {
		if all[i].base {
			return &all[i]
		}
	}
	return nil
}

// answersOf leaves out repeats and the base, which are in the comparison.
func answersOf(all []seen) (answers []seen) {
	for _, s := range all {
		if !s.base && !s.repeat {
			answers = append(answers, s)
		}
	}
	return answers
}

// cellOf is the cell of one result; each concurrency of a sweep has its own.
func (p *publication) cellOf(s seen, several bool) string {
	if several {
		return p.cell + "-c" + strconv.Itoa(s.Document.Settings.Concurrency)
	}
	return p.cell
}

// content is what there is to tell of a run.
func (p *publication) content(s *seen, where string) github.Content {
	c := github.Content{Head: s.Document, Comparison: s.comparison, Claimed: p.untrusted, Provenance: p.provenance(s, where)}
	if c.Comparison == nil {
		c.AgainstFixed = againstFixed(s.Dir, s.Document)
		c.NotCompared = s.uncompared
		if c.NotCompared == "" {
			c.NotCompared = "nothing was given to compare with"
		}
		if s.Document.Outcome.Cancelled {
			c.NotCompared = "the run was cancelled"
		}
	}
	return c
}

// provenance of a result; of none at all where it is nil. A base is named only where
// there was one: measured in this job, or compared with.
func (p *publication) provenance(s *seen, where string) github.Provenance {
	v := github.Provenance{SHA: p.event.HeadSHA, RunURL: p.runURL(), ResultURL: where, Reproduce: p.reproduce}
	if measured := p.event.Measured; measured.ID == 0 && !p.untrusted {
		v.Runner = p.runner() // else it was another's
	} else {
		v.SummaryURL = p.ownURL()
	}
	switch {
	case p.base != nil:
		v.BaseSHA, v.BaseClaimed = p.baseSHA(p.base)
	case s != nil && s.comparison != nil && s.comparison.Verdict != compare.Refused:
		v.BaseSHA = storedCommits(s.comparison.Base.Runs)
	}
	return v
}

// tellGitHub writes summary, annotations, comment and check run.
func (p *publication) tellGitHub(c github.Content, cell string) (github.Outcome, error) {
	o := p.asked(cell)
	if p.strangers() && (o.Comments != github.CommentOff || o.CheckRun != "") {
		// Asking would only be refused, and hours of work would end in red.
		o.Comments, o.CheckRun = github.CommentOff, ""
		p.Noticef("A fork's pull request may not be commented on from its own workflow: see examples/workflows for the one that does it afterwards.")
	}
	if o.Token == "" && !p.warned && (o.Comments != github.CommentOff || o.CheckRun != "") && (p.event.PullRequest > 0 || p.event.Find || o.PullRequest > 0) {
		p.warned = true
		p.warn(p.workplace, "The pull request is told nothing, since there is no token: give github-token, or set GITHUB_TOKEN.")
	}
	if o.CheckRun != "" && p.event.HeadSHA == "" {
		fmt.Fprintf(p.err, "note: no check run %s: the event %s names no commit to make it at\n", o.CheckRun, p.event.Name)
	}
	outcome, err := github.Publish(p.telling(), o, c)
	if outcome.CommentURL != "" {
		fmt.Fprintf(p.out, "comment: %s, %s\n", outcome.Comment, outcome.CommentURL)
	}
	return outcome, err
}

// asked are the options of publishing, as far as they are a matter of taste.
func (p *publication) asked(cell string) github.Options {
	o := p.flags.github(p.workplace, cell)
	o.PullRequest, o.Mask = p.pullRequest, p.secrets.Mask
	if p.quiet {
		o.Comments = github.CommentOff
	}
	return o
}

// telling is the context of publishing.
func (p *publication) telling() context.Context { return p.ctx }

// upload puts a run into the store, if there is one.
func (p *publication) upload(s seen) (where string, err error) {
	f := &p.flags.storeFlags
	if f.Store == "" {
		return "", nil
	}
	if p.strangers() && store.IsRemote(f.Store) {
		fmt.Fprintln(p.err, "note: a fork's pull request has no credentials for the store: the workflow that publishes afterwards uploads the result")
		return "", nil
	}
	uploaded, err := p.put(s, f)
	if err != nil {
		if p.workplace.github.Actions {
			lies := "; it lies in " + s.Dir
			if p.untrusted {
				lies = ""
			}
			why := p.secrets.Mask(err.Error())
			p.Warningf("The result was not uploaded%s: %s", lies, why)
			p.notUploaded = append(p.notUploaded, why)
		}
		return "", fmt.Errorf("upload of %s: %w", s.Dir, err)
	}
	for _, n := range uploaded.Notes {
		fmt.Fprintln(p.out, "store:", n)
	}
	fmt.Fprintf(p.out, "store: %s\n", uploaded.Where)
	return uploaded.Where, nil
}

func (p *publication) put(s seen, f *storeFlags) (u store.Uploaded, err error) {
	if !store.IsRemote(f.Store) {
		p.will.bequeath(f.Store)
	}
	to, err := store.Open(p.telling(), f.Store, f.options())
	if err != nil {
		return u, err
	}
	return store.Upload(p.telling(), to, s.Dir, p.key(s), store.UploadOptions{Progress: p.err})
}

// sayNotUploaded adds to the job's summary what the store would not take, below what was
// measured.
func (p *publication) sayNotUploaded() {
	if len(p.notUploaded) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("### Not uploaded\n\n")
	for _, why := range p.notUploaded {
		fmt.Fprintf(&b, "- **Upload refused:** %s\n", table.Inline(why, maxWhy))
	}
	b.WriteString("\n`agentx publish` uploads it later, from the artifacts.\n")
	p.AddStepSummary(b.String())
	p.notUploaded = nil
}

// maxWhy bounds the reason of a refusal in a summary, in columns.
const maxWhy = 600

// written reports whether the run's result came to lie in its folder: one that could not
// be written is none.
func (s *seen) written() bool {
	_, err := os.Lstat(filepath.Join(s.Dir, result.FileResult))
	return err == nil
}

// key is where a run is kept. What a base measured never stands where a baseline of
// the branch is read: its commit is another.
func (p *publication) key(s seen) store.Key {
	owner, repo := p.workplace.github.Repo()
	id, attempt := p.measured()
	k := store.Key{
		Series: store.Series{Owner: owner, Repo: repo, Cell: p.cellOf(s, s.swept()), Ref: store.RefOf(p.workplace.store)},
		Time:   s.Document.StartedAt, SHA: p.event.HeadSHA, Run: strconv.FormatInt(id, 10), Attempt: int(attempt),
	}
	if s.base {
		k.Ref = "base-of-" + k.Ref
		k.SHA, _ = p.baseSHA(&s)
	}
	if owner == "" {
		k.Owner, k.Repo = "local", "local"
	}
	if id == 0 {
		k.Run = s.Document.RunID
	}
	return k
}

// swept reports whether a result is one of several concurrencies.
func (s *seen) swept() bool { return s.Document.Settings.Other["sweep"] != "" }
