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
	if against := againstFixed(report.Dir, report.Document); len(against) > 0 {
		fmt.Fprintln(c.out)
		err = errors.Join(err, table.AgainstFixed(c.out, against, show))
	}
	var base string
	var compared *compare.Comparison
	if len(r.CompareWith) > 0 && c.ctx.Err() == nil {
		var compareErr error
		if compared, compareErr = r.compareWith(c.out, report.Dir); compareErr != nil {
			err = errors.Join(err, compareErr)
		} else {
			base = r.CompareWith[0]
		}
	}
	fmt.Fprintf(c.out, "\nartifacts: %s\n", report.Dir)
	c.report(report.Dir, report.Document, base)
	if err == nil && compared != nil {
		err = outcome(compared, r.FailOn == "regression")
	}
	if err == nil {
		err = r.gate(&report.Document.Validity)
	}
	return err
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
