package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/publish/github"
	"github.com/org/agentx-action/pkg/run"
)

// publishCmd tells of a run that was measured elsewhere.
type publishCmd struct {
	Dir         string `arg:"" help:"Folder of a run's artifacts, or of a job's, or a .zip of it."`
	Print       bool   `help:"Show what would be told to whom, and tell nobody."`
	PullRequest int    `help:"Number of the pull request; the event's when not given." placeholder:"N" group:"Publishing"`
	Untrusted   bool   `help:"Believe nothing of the artifacts: check every figure against its records, and draw the pages anew. Always so in a workflow_run." group:"Publishing"`
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
	dir, remove, err := unpacked(p.Dir)
	if err != nil {
		return &run.UsageError{Err: err}
	}
	defer remove()
	all, err := foundRuns(dir)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s holds no result", p.Dir)
	}
	if p.Untrusted && err == nil {
		all, err = p.examined(c, dir)
	}
	if err != nil && !p.Untrusted {
		return &run.UsageError{Err: err}
	}
	job := &publication{console: c, workplace: w, flags: &p.publishFlags, cell: p.cellOf(all)}
	job.pullRequest = p.PullRequest
	if p.Print {
		return errors.Join(err, p.show(c, job, all))
	}
	if refused := job.publish(all, err); refused != nil && err == nil {
		return &refusedError{err: refused}
	}
	return err
}

// withoutFiles is the environment without the files that a step writes to.
func withoutFiles(name string) string {
	switch name {
	case "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH":
		return ""
	}
	return os.Getenv(name)
}

// cellOf takes the cell from the result where none is given, as a run would name it.
func (p *publishCmd) cellOf(all []seen) string {
	if p.Cell != "" || len(all) == 0 {
		return p.Cell
	}
	d := all[0].Document
	words := []string{d.Engine.Name, d.Settings.Model}
	if !all[0].swept() {
		words = append(words, fmt.Sprintf("c%d", d.Settings.Concurrency))
	}
	var named []string
	for _, w := range words {
		if w != "" {
			named = append(named, w)
		}
	}
	return strings.Join(named, "-")
}

// examined refuses artifacts of strangers that are not in every figure what a run
// leaves, and draws their pages anew.
func (p *publishCmd) examined(c *console, dir string) ([]seen, error) {
	if err := plainFiles(dir); err != nil {
		return nil, fmt.Errorf("the artifacts are refused: %w", err)
	}
	all, err := foundRuns(dir)
	if err != nil {
		return nil, fmt.Errorf("the artifacts are refused: %w", err)
	}
	for _, s := range all {
		if err := examine(c, s); err != nil {
			return nil, fmt.Errorf("the artifacts are refused: %w", err)
		}
		s.Document.Command = nil // nobody is to be told to type what strangers wrote
	}
	return all, nil
}

// show says what would be told.
func (p *publishCmd) show(c *console, job *publication, all []seen) error {
	for _, s := range all {
		if p.Store != "" {
			fmt.Fprintf(c.out, "store: %s would go to %s under %s\n", s.Dir, p.Store, job.key(s))
		}
	}
	answers := answersOf(all)
	for _, s := range answers {
		o, content := job.asked(job.cellOf(s, len(answers) > 1)), job.content(s, "")
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

// unpacked is the folder of artifacts, taken out of a .zip if need be.
func unpacked(name string) (dir string, remove func(), err error) {
	if !strings.EqualFold(filepath.Ext(name), ".zip") {
		return name, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "agentx-artifact-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if err := unzip(name, dir); err != nil {
		remove()
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	return dir, remove, nil
}
