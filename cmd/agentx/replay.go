package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/validity"
	"github.com/org/agentx-action/pkg/run"
)

// replayCmd replays against a server that is already there.
type replayCmd struct{ replayFlags }

// Run is called by the parser.
func (r *replayCmd) Run(c *console) error {
	o, err := r.options(c)
	if err != nil {
		return err
	}
	if o.Client.URL == "" {
		o.Client.URL = "http://localhost:8000"
	}
	return r.finish(c, o)
}

// finish runs, shows what came out, and turns it into an error where asked.
func (r *replayFlags) finish(c *console, o run.Options) error {
	against, err := r.base(c.err, &o)
	if err != nil {
		return err
	}
	report, err := run.Replay(c.ctx, o)
	if report.Document == nil {
		return err
	}
	show := table.Options{HTTP: r.ShowTraceTiming, Color: inColor(c.out)}
	if showErr := table.Result(c.out, report.Document, show); showErr != nil {
		err = errors.Join(err, showErr)
	}
	for _, f := range report.Fixed {
		fmt.Fprintln(c.out, fixedLine(f.Document))
	}
	if fixed := againstFixed(report.Dir, report.Document); len(fixed) > 0 {
		fmt.Fprintln(c.out)
		err = errors.Join(err, table.AgainstFixed(c.out, fixed, show))
	}
	var baseDir string
	var comparison *compare.Comparison
	if against != nil && c.ctx.Err() == nil {
		var compareErr error
		if comparison, baseDir, compareErr = against.compare(c.out, report.Dir); comparison == nil {
			compareErr = notCompared(compareErr)
		}
		err = errors.Join(err, compareErr)
	}
	fmt.Fprintf(c.out, "\nartifacts: %s\n", report.Dir)
	c.report(report.Dir, report.Document, baseDir)
	if comparison != nil && (err == nil || comparison.Verdict == compare.Refused) {
		err = errors.Join(err, compared(comparison, r.FailOn == "regression"))
	}
	if err == nil {
		err = r.gate(&report.Document.Validity)
	}
	return err
}

// base reads what the run will be compared with, and has it held against the run's
// identity before anything is measured; nil without --compare-with.
func (r *replayFlags) base(notes io.Writer, o *run.Options) (*base, error) {
	if len(r.CompareWith) == 0 {
		if r.Floor != "" || r.FailOn == "regression" {
			fmt.Fprintln(notes, "note: without effect: --floor and --fail-on regression, since no --compare-with is given")
		}
		return nil, nil
	}
	b, err := newBase(r.CompareWith, r.Floor, o.Dir)
	if err != nil {
		return nil, err
	}
	o.Before = b.fits
	return b, nil
}

// gate fails a run that does not count, where that was asked for.
func (r *replayFlags) gate(v *validity.Verdict) error {
	switch {
	case r.FailOn == "never", r.FailOn == "regression", v.Valid() && (r.FailOn == "invalid" || v.Trusted):
		return nil
	case v.SubmissionValid == nil:
		return &invalidError{[]string{"no rule set was asked for: give --scenario"}}
	case !v.Valid():
		return &invalidError{v.SubmissionInvalidReasons}
	}
	var codes []string
	for _, f := range v.Findings {
		if f.Severity == validity.Untrusted {
			codes = append(codes, f.Code)
		}
	}
	return &invalidError{codes}
}

// isTerminal reports whether progress can be redrawn in place.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
