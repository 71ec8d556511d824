package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/run"
)

// verbAction is the verb that GitHub's runner calls.
const verbAction = "action"

// actionCmd is the Action: run with the workflow's inputs, and everybody told.
type actionCmd struct {
	Run  actionRunCmd  `cmd:"" default:"withargs" hidden:"" help:"The step itself."`
	Post actionPostCmd `cmd:"" help:"What is left to do after the step, cancelled or not."`
}

// actionRunCmd is the step.
type actionRunCmd struct{ runCmd }

// States that the step leaves to its post step.
const (
	stateDir       = "dir"       // of the artifacts
	stateCell      = "cell"      // of the job
	statePublished = "published" // nothing is left to tell
)

// Run is called by the parser.
func (a *actionRunCmd) Run(c *console, parsed *kong.Context) error {
	c.muzzle(a.secrets(), slices.Concat(a.Args, a.EngineCommand, a.BaseEngineCommand))
	w, err := newWorkplace(actions.New(actions.WithWriter(c.commands)))
	if err != nil {
		return c.refuse(nowhere(c), err)
	}
	a.settleGate(parsed)
	c.command = a.reproduce(c, parsed)
	w.learnHead(c, &a.publishFlags)
	w.SaveState(stateSHA, w.event.HeadSHA)
	if a.BaseSHA == "" && a.alternates() {
		a.BaseSHA, _ = dig(w.github.Event, "pull_request", "base", "sha").(string)
	}
	a.settleBase(w)
	p := a.publication(c, w)
	w.SaveState(stateDir, absolute(a.OutputArtifactDir))
	w.SaveState(stateCell, p.cell)
	w.Group("Run")
	all, err := a.job(c, parsed, w)
	w.EndGroup()
	if a.DryRun && err == nil {
		w.SaveState(statePublished, "true")
		return nil
	}
	if c.ctx.Err() != nil { // seconds are left: the post step publishes
		return errors.Join(err, c.ctx.Err())
	}
	return a.tell(p, all, err)
}

// settleGate makes a run that breaks its rules fail the job, unless somebody said
// otherwise; one without rules can't (decisions.md 31).
func (a *actionRunCmd) settleGate(parsed *kong.Context) {
	for _, p := range parsed.Path {
		if p.Flag != nil && p.Flag.Name == "fail-on" {
			return
		}
	}
	if a.Scenario != "" {
		a.FailOn = []string{onInvalid}
	}
}

// settleBase takes the branch's own history for the base where the workflow names none:
// of a pull request its base branch's, else the branch's.
func (a *actionRunCmd) settleBase(w *workplace) {
	if a.Store == "" || len(a.CompareWith) > 0 || a.alternates() || a.CompareBranch == "none" {
		return
	}
	branch := a.CompareBranch
	if branch == "" {
		if branch, _ = dig(w.github.Event, "pull_request", "base", "ref").(string); branch == "" {
			branch = strings.TrimPrefix(w.github.Ref, "refs/heads/")
		}
		if branch == w.github.Ref || w.strangers() && store.IsRemote(a.Store) {
			return // a tag has no history, and a fork's pull request no credentials
		}
	}
	owner, repo := w.github.Repo()
	of := store.Series{Owner: owner, Repo: repo, Cell: a.cell(), Ref: branch}
	if of.Validate() == nil {
		a.CompareWith, a.unasked = []string{strings.TrimRight(a.Store, "/") + "/" + of.String()}, a.CompareBranch == ""
	}
}

// reproduce is the command that measures the same on one's own machine: what the
// workflow gave, without secrets and without what only concerns publishing.
func (r *runCmd) reproduce(c *console, parsed *kong.Context) []string {
	args := []string{"run"}
	if r.file != nil {
		args = append(args, "--config", r.file.Name)
	}
	get := actions.New().GetInput
	for _, flag := range inputs(parsed.Selected()) {
		if flag.Group != nil && slices.Contains([]string{"Publishing", "Store", "Configuration"}, flag.Group.Title) || slices.Contains([]string{"fail-on", "compare-with", "floor", "output-artifact-dir"}, flag.Name) {
			continue
		}
		text := inputOf(flag, get)
		switch {
		case text == "" || strings.Contains(flag.Tag.Get("config"), "secret"):
		case flag.IsSlice(), flag.IsMap():
			for _, item := range inputList(text, flag.IsSlice() && flag.Tag.Sep != -1) {
				args = append(args, "--"+flag.Name+"="+item)
			}
		default:
			args = append(args, "--"+flag.Name+"="+strings.Join(inputList(text, false), ","))
		}
	}
	args = redactArgs(args)
	for i, arg := range args { // values, whatever their flag: engine-secret-env holds only names
		args[i] = c.secrets.Mask(arg)
	}
	return args
}

// publication is what a job tells.
func (r *runCmd) publication(c *console, w *workplace) *publication {
	return &publication{console: c, workplace: w, flags: &r.publishFlags, cell: r.cell(), reproduce: c.command}
}

// tell publishes, and settles the exit code: what was refused goes before a gate, and
// after a failure (decisions.md 31).
func (r *runCmd) tell(p *publication, all []seen, err error) error {
	var usage *run.UsageError
	p.quiet = errors.As(err, &usage) || r.DryRun // whoever wrote the configuration learns of it in the job
	refused := p.publish(all, err)
	if p.ctx.Err() == nil { // else the post step does it again: what is there is left as it is
		p.SaveState(statePublished, "true")
	}
	return unlessFailed(ended(all, err), refused)
}

// unlessFailed is what publishing means for the end of a job.
func unlessFailed(ending, refused error) error {
	if refused == nil || slices.Contains([]int{exitFailed, exitUsage}, exitCode(ending)) {
		return ending
	}
	return &refusedError{refused, ending}
}

// refusedError says that the job is done, and that somebody would not be told of it.
type refusedError struct {
	err  error
	gate error // that tripped all the same
}

func (e *refusedError) Error() string {
	text := "publishing was refused; the result itself is whole: " + e.err.Error()
	if e.gate != nil {
		text += "\n" + e.gate.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *refusedError) Unwrap() error { return e.err }

func absolute(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		return full
	}
	return name
}
