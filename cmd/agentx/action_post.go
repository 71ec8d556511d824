package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/engine/deploy/docker"
	"github.com/org/agentx-action/pkg/engine/deploy/process"
	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// actionPostCmd is the post step: it runs however the step itself ended.
type actionPostCmd struct{ runCmd }

// sweeping is how long leftovers may take.
const sweeping = 30 * time.Second

// Run is called by the parser. A step that was cancelled had ten seconds, one that was
// killed none: what it left is taken away, and what it measured is told
// (decisions.md 34).
func (a *actionPostCmd) Run(c *console, parsed *kong.Context) error {
	c.muzzle(a.secrets(), slices.Concat(a.Args, a.EngineCommand, a.BaseEngineCommand))
	w, err := newWorkplace(actions.New(actions.WithWriter(c.commands)))
	if err != nil {
		return c.postRefused(nowhere(c), err)
	}
	c.sweep()
	if w.Getenv("STATE_"+statePublished) == "true" {
		return nil
	}
	dir := w.Getenv("STATE_" + stateDir)
	if dir == "" { // the step never began
		fmt.Fprintln(c.out, "nothing is left to do")
		return nil
	}
	w.learnHead(c, &a.publishFlags)
	c.will.bequeath(dir)
	all, err := foundRuns(dir)
	if err != nil {
		fmt.Fprintln(c.err, "note:", err)
	}
	c.command = a.reproduce(c, parsed)
	p := a.publication(c, w)
	if cell := w.Getenv("STATE_" + stateCell); cell != "" {
		p.cell = cell
	}
	if refused := p.publish(all, errors.New("the step was cancelled, or ended before it could publish")); refused != nil {
		return &refusedError{err: refused}
	}
	return nil
}

// sweep takes away engines whose run is gone.
func (c *console) sweep() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), sweeping)
	defer cancel()
	taken, err := (&process.Driver{}).Sweep(ctx)
	more, failed := docker.Leftovers{}.Sweep(ctx)
	taken, err = append(taken, more...), errors.Join(err, failed)
	for _, line := range taken {
		fmt.Fprintln(c.out, "swept:", line)
	}
	if err != nil {
		fmt.Fprintln(c.err, "note: leftovers could not be looked for:", err)
	}
}

// partOf are the folders below a job's that hold one result each: a concurrency of a
// sweep, or a part of a job that alternates.
var partOf = regexp.MustCompile(`^(c[0-9]+|[0-9]+-(head|base))$`)

// foundRuns are the results in a job's folder, as far as they came. One whose result
// had not been summed up yet is summed up now.
func foundRuns(dir string) (all []seen, err error) {
	dirs, err := runDirs(dir)
	if err != nil {
		return nil, err
	}
	var errs errorList
	sides := map[bool]int{}
	for _, d := range dirs {
		doc, err := readOrFinish(d)
		switch {
		case err != nil:
			errs.add(fmt.Errorf("%s: no result: %w", d, err))
			continue
		case doc.Mode != result.ModeAgentic:
			continue
		}
		s := seen{base: strings.HasSuffix(d, "-"+sideBase)}
		s.Dir, s.Document = d, doc
		if strings.HasSuffix(d, "-"+sideHead) || s.base {
			s.repeat = sides[s.base] > 0
			sides[s.base]++
		}
		if c, err := readComparison(filepath.Join(d, result.FileComparison)); err == nil && isHead(c, doc) {
			s.comparison = c
		}
		all = append(all, s)
	}
	return all, errs.join()
}

// runDirs are the folders of a job's that hold a run, itself the first.
func runDirs(dir string) (dirs []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("there is no result: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && partOf.MatchString(e.Name()) {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return len(a) - len(b) })
	return slices.DeleteFunc(append([]string{dir}, dirs...), func(d string) bool { return !compare.HoldsRun(d) }), nil
}

func readOrFinish(dir string) (*result.Document, error) {
	if _, err := os.Lstat(filepath.Join(dir, result.FileManifest)); errors.Is(err, os.ErrNotExist) {
		return result.Finish(dir)
	}
	return result.Read(dir)
}
