package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/publish/github"
	"github.com/org/agentx-action/pkg/publish/stranger"
	"github.com/org/agentx-action/pkg/run"
)

// publishCmd tells of a run that was measured elsewhere.
type publishCmd struct {
	Dir         string `arg:"" help:"Folder of a run's artifacts, or of a job's, or a .zip of it."`
	Print       bool   `help:"Show what would be told to whom, and tell nobody."`
	PullRequest int    `help:"Number of the pull request; the event's when not given." placeholder:"N" group:"Publishing"`
	Untrusted   bool   `help:"Believe nothing of the artifacts: rebuild results, comparison and pages from their records, and quote what is left. Always so in a workflow_run." group:"Publishing"`
	publishFlags
}

// Run is called by the parser.
func (p *publishCmd) Run(c *console) error {
	flags := runCmd{publishFlags: p.publishFlags}
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		c.muzzle(flags.secrets(), nil)
	} else {
		c.keepSecret(flags.secrets(), nil)
	}
	getenv := os.Getenv
	if p.Print {
		getenv = withoutFiles
	}
	w, err := newWorkplace(actions.New(actions.WithWriter(c.commands), actions.WithGetenv(getenv)))
	if err != nil {
		return err
	}
	if w.event.Name == "workflow_run" {
		p.Untrusted = true // whatever ran there could write what it liked
	}
	if err := p.checkBaseSHA(); err != nil {
		return &run.UsageError{Err: err}
	}
	if err := p.storeFlags.refuse(); err != nil {
		return &run.UsageError{Err: err}
	}
	if !p.Print { // which asks nobody
		w.learnHead(c, &p.publishFlags)
	}
	job := &publication{console: c, workplace: w, flags: &p.publishFlags, cell: p.Cell, pullRequest: p.PullRequest, untrusted: p.Untrusted}
	all, remove, err := p.found(job)
	defer remove()
	if err != nil && !p.Untrusted {
		return &run.UsageError{Err: err}
	}
	if p.Print {
		return errors.Join(err, p.show(c, job, all))
	}
	refused := job.publish(all, err)
	switch {
	case err != nil || refused == nil:
		return err
	case c.ctx.Err() != nil:
		return fmt.Errorf("cancelled; publish again, and it goes on where it ended: %w", refused)
	}
	return &refusedError{err: refused}
}

// found are the results in the folder, until remove is called, and the cell that they
// are told under where none is given: the one that the job itself used.
func (p *publishCmd) found(job *publication) (all []seen, remove func(), err error) {
	if p.Untrusted {
		return p.examined(job)
	}
	dir, remove, err := unpacked(p.Dir)
	if err != nil {
		return nil, remove, err
	}
	all, err = foundRuns(dir)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s holds no result", p.Dir)
	}
	if err == nil && job.cell == "" {
		job.cell = cellOf(all[0].Document)
	}
	return all, remove, err
}

// withoutFiles is the environment without the files that a step writes to.
func withoutFiles(name string) string {
	switch name {
	case "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH":
		return ""
	}
	return os.Getenv(name)
}

// show says what would be told.
func (p *publishCmd) show(c *console, job *publication, all []seen) error {
	job.base = baseOf(all)
	for _, s := range all {
		if p.Store != "" {
			fmt.Fprintf(c.out, "store: %s would go to %s under %s\n", p.lies(job, s), p.Store, job.key(s))
		}
	}
	answers := answersOf(all)
	for _, s := range answers {
		o, content := job.asked(job.cellOf(s, len(answers) > 1)), job.content(&s, "")
		o.Actions = nil
		plan, err := github.Plan(o, content)
		if err != nil {
			return err
		}
		for _, step := range plan.Steps {
			fmt.Fprintln(c.out, "-", step)
		}
		fmt.Fprintf(c.out, "\nThe comment:\n\n%s\n", plan.Body)
	}
	return nil
}

// lies is where a result comes from: one of strangers was rebuilt elsewhere.
func (p *publishCmd) lies(job *publication, s seen) string {
	if !job.untrusted {
		return s.Dir
	}
	if name := filepath.Base(s.Dir); partOf.MatchString(name) {
		return filepath.Join(p.Dir, name) + ", rebuilt,"
	}
	return p.Dir + ", rebuilt,"
}

// unpacked is the folder of artifacts, taken out of a .zip if need be. remove may be
// called whatever the error. Of files that are wanted by name, no others are taken out.
func unpacked(name string, wanted ...string) (dir string, remove func(), err error) {
	if !strings.EqualFold(filepath.Ext(name), ".zip") {
		return name, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "agentx-artifact-*")
	remove = func() { _ = os.RemoveAll(dir) }
	if err != nil {
		return "", func() {}, err
	}
	if err := stranger.Unzip(name, dir, wanted...); err != nil {
		return "", remove, fmt.Errorf("%s: %w", name, err)
	}
	return dir, remove, nil
}
