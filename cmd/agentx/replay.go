package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// replayCmd replays against a server that is already there.
type replayCmd struct {
	replayFlags
	s3Flags
}

// Run is called by the parser.
func (r *replayCmd) Run(c *console) error {
	o, err := r.options(c)
	if err != nil {
		return err
	}
	if o.Client.URL == "" {
		o.Client.URL = "http://localhost:8000"
	}
	return r.finish(c, o, c.shelf(&r.s3Flags))
}

// seen is a result with what was made of it.
type seen struct {
	run.Report
	comparison *compare.Comparison // nil without a base, and where none could be made
	unkept     bool                // the comparison is told of and lies in no file
	gate       error               // trips an exit code although nothing failed
	base       bool                // it is of what the engine under test is held against
	repeat     bool                // of one that is there already
	uncompared string              // why a base that nobody named was none
}

// finish runs, shows what came out, and turns it into an error where asked.
func (r *replayFlags) finish(c *console, o run.Options, from *shelf) error {
	all, err := r.measure(c, o, from)
	return ended(all, err)
}

// ended is what a job comes to. What failed goes before a gate that tripped
// (decisions.md 31).
func ended(all []seen, err error) error {
	if err != nil {
		return err
	}
	var gates []error
	for _, s := range all {
		gates = append(gates, s.gate)
	}
	return errors.Join(gates...)
}

// measure runs, and shows what came out.
func (r *replayFlags) measure(c *console, o run.Options, from *shelf) (all []seen, err error) {
	against, err := r.base(c.err, &o, from)
	if err != nil {
		return nil, err
	}
	reports, err := run.Sweep(c.ctx, o)
	for _, report := range reports {
		one, shown := r.show(c, report, against)
		err = errors.Join(err, shown)
		if one.gate != nil && len(reports) > 1 {
			one.gate = fmt.Errorf("concurrency %d: %w", report.Document.Settings.Concurrency, one.gate)
		}
		all = append(all, one)
	}
	return all, err
}

// show shows one result, compares it where asked, and draws its report.
func (r *replayFlags) show(c *console, report run.Report, against *base) (one seen, err error) {
	one.Report = report
	err = r.table(c, report)
	var baseDir string
	if against != nil && against.none != "" {
		one.uncompared, against = against.none, nil
	}
	if against != nil && c.ctx.Err() == nil {
		comparison, dir, compareErr := against.compare(c.out, report.Dir)
		one.comparison = comparison
		switch {
		case comparison == nil:
			compareErr = notCompared(compareErr)
		case comparison.Verdict == compare.Refused:
			compareErr = errors.Join(compareErr, compared(comparison, false))
		default:
			baseDir = dir
			one.gate = compared(comparison, r.failsOn(onRegression))
		}
		err = errors.Join(err, compareErr)
	}
	fmt.Fprintf(c.out, "\nartifacts: %s\n", report.Dir)
	c.report(report.Dir, report.Document, baseDir)
	if one.gate == nil {
		one.gate = r.gate(&report.Document.Validity)
	}
	return one, err
}

// table shows the figures of a result and of the baselines after it.
func (r *replayFlags) table(c *console, report run.Report) error {
	show := table.Options{HTTP: r.ShowTraceTiming, Color: inColor(c.out)}
	err := table.Result(c.out, report.Document, show)
	for _, f := range report.Fixed {
		fmt.Fprintln(c.out, fixedLine(f.Document))
	}
	if fixed := againstFixed(report.Dir, report.Document); len(fixed) > 0 {
		fmt.Fprintln(c.out)
		err = errors.Join(err, table.AgainstFixed(c.out, fixed, show))
	}
	return err
}

// base reads what the run will be compared with, and has it held against the run's
// identity before anything is measured; nil without --compare-with.
func (r *replayFlags) base(notes io.Writer, o *run.Options, from *shelf) (*base, error) {
	if len(r.CompareWith) == 0 {
		if r.Floor != "" || r.failsOn(onRegression) {
			fmt.Fprintln(notes, "note: without effect: --floor and --fail-on regression, since no --compare-with is given")
		}
		return nil, nil
	}
	b, err := newBase(r.CompareWith, r.Floor, o.Dir, from)
	if err != nil && !r.unasked {
		return nil, err
	}
	if err != nil {
		b = new(base)
		b.isNone(notes, r.noneYet(err))
	}
	o.Before = func(known *result.Identity) error {
		if b.none != "" {
			return nil
		}
		err := b.fits(known)
		if err != nil && r.unasked {
			b.isNone(notes, r.noneYet(err))
			return nil
		}
		return err
	}
	return b, nil
}

// noneYet says of a base that nobody named, and of which nothing is kept, that this run is
// the first: no fault of anybody's.
func (r *replayFlags) noneYet(err error) error {
	var folder *compare.FolderError
	if errors.Is(err, errNoRunYet) || errors.As(err, &folder) && folder.Why == compare.NoRun {
		return fmt.Errorf("no run is kept yet in %s, so there is no base", r.CompareWith[0])
	}
	return err
}

// isTerminal reports whether progress can be redrawn in place.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
