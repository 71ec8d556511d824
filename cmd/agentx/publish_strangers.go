package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/org/agentx-action/pkg/publish/page"
	"github.com/org/agentx-action/pkg/publish/stranger"
	"github.com/org/agentx-action/pkg/result/compare"
)

// refusedArtifacts says why artifacts of strangers are told nothing of.
type refusedArtifacts struct{ err error }

// Error is for the log alone: it repeats what stands in the artifacts.
func (r *refusedArtifacts) Error() string { return "the artifacts are refused: " + r.err.Error() }

// Unwrap gives the cause.
func (r *refusedArtifacts) Unwrap() error { return r.err }

// told is for everybody.
func (r *refusedArtifacts) told() string {
	return "the artifacts are refused: they are not in everything what a run leaves, or more than is looked at, so nothing of them is shown; what is wrong stands in the log of the job that publishes"
}

// maxAnswers bounds the concurrencies of a job of strangers: each is a comment.
const maxAnswers = 16

// examined are the runs in artifacts of strangers, rebuilt from their evidence in a
// folder of ours, which remove takes away: nothing derived is theirs, what only they can
// say is quoted, and the artifacts stay as they are.
func (p *publishCmd) examined(job *publication) (all []seen, remove func(), err error) {
	dir, remove, err := unpacked(p.Dir, stranger.Wanted()...)
	if err != nil {
		return nil, remove, &refusedArtifacts{err}
	}
	fresh, err := os.MkdirTemp("", "agentx-rebuilt-*")
	if err != nil {
		return nil, remove, err
	}
	remove = both(remove, func() { _ = os.RemoveAll(fresh) })
	if all, err = p.inTime(job, dir, fresh, rebuiltWithin); err != nil {
		return nil, remove, &refusedArtifacts{err}
	}
	if baseOf(all) == nil {
		p.compareStored(job, all)
	}
	return all, remove, nil
}

func both(a, b func()) func() { return func() { a(); b() } }

// rebuiltWithin is how long it may take to make results of artifacts of strangers.
const rebuiltWithin = 3 * time.Minute

// lastStep is how long what is being computed when the time is over may take to end.
const lastStep = 5 * time.Second

// inTime rebuilds within a time, whatever strangers made up to take longer. What does not
// end then ends with the program, and has nothing of the job's in its hands.
func (p *publishCmd) inTime(job *publication, dir, fresh string, within time.Duration) ([]seen, error) {
	ctx, cancel := context.WithTimeout(job.ctx, within)
	defer cancel()
	var log bytes.Buffer
	quiet, apart := *job.console, *job
	quiet.ctx, quiet.out, quiet.err, quiet.will = ctx, io.Discard, &log, nil
	apart.console = &quiet
	var all []seen
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		all, err = p.rebuilt(&apart, dir, fresh)
	}()
	select {
	case <-done:
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if err == nil {
			job.cell = apart.cell
			_, _ = job.err.Write(log.Bytes())
			return all, nil
		}
	case <-ctx.Done():
		select { // it ends at its next step, and leaves the folder to be removed
		case <-done:
		case <-time.After(lastStep):
		}
	}
	if err := job.ctx.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("to compute their figures takes longer than %v, which is all that strangers get", within)
}

// rebuilt are the runs in the folder, made anew and drawn.
func (p *publishCmd) rebuilt(job *publication, dir, fresh string) (all []seen, err error) {
	dirs, err := runDirs(dir)
	if err != nil {
		return nil, err
	}
	if err := stranger.Rebuild(job.ctx, dirs, dir, fresh, ruledAnew); err != nil {
		return nil, err
	}
	if all, err = foundRuns(fresh); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no result", p.Dir)
	}
	if n := len(answersOf(all)); n > maxAnswers {
		return nil, fmt.Errorf("they hold %d results; more than %d of strangers are not told", n, maxAnswers)
	}
	if job.cell == "" {
		if job.cell, err = believedCell(all[0].Document); err != nil {
			return nil, err
		}
	}
	bases, err := compareAnew(all)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := job.ctx.Err(); err != nil {
			return nil, err
		}
		if err := retell(job.console, &all[i], bases); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// retell draws a run's page, and takes for what is told of it a document in which
// everything that only the artifacts say is quoted.
func retell(c *console, s *seen, bases []string) error {
	o := page.Options{AgainstFixed: againstFixed(s.Dir, s.Document)}
	if s.comparison != nil {
		o.Comparison = s.comparison
		if s.comparison.Verdict != compare.Refused {
			o.Base = bases[0]
		}
	}
	if err := writeReport(c, s.Dir, o); err != nil {
		return err
	}
	doc, err := stranger.Document(s.Dir)
	if err != nil {
		return err
	}
	doc.Command = nil // nobody is to be told to type what strangers wrote
	s.Document = doc
	return nil
}
