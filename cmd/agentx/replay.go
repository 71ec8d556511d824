package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/org/agentx-action/pkg/publish/table"
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
	if showErr := table.Result(c.out, report.Document, table.Options{HTTP: r.ShowTraceTiming, Color: isTerminal(c.out) && os.Getenv("NO_COLOR") == ""}); showErr != nil {
		err = errors.Join(err, showErr)
	}
	fmt.Fprintf(c.out, "\nartifacts: %s\n", report.Dir)
	c.report(report.Dir, report.Document)
	if v := &report.Document.Validity; err == nil && r.FailOn == "invalid" && !v.Valid() {
		return &invalidError{v.SubmissionInvalidReasons}
	}
	return err
}

// isTerminal reports whether progress can be redrawn in place.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
