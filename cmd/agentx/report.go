package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/publish/page"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// reportCmd writes the page of a run that is over.
type reportCmd struct {
	Dir     string `arg:"" help:"Folder of a run's artifacts."`
	Compare string `help:"A comparison in which this run is the head; DIR/comparison.json when that is one." type:"path" placeholder:"FILE"`
	Base    string `help:"Folder of the base's run, for pictures of both sides." type:"path" placeholder:"DIR"`
}

// Run is called by the parser.
func (r *reportCmd) Run(c *console) error {
	doc, err := result.Read(r.Dir)
	if err != nil {
		return &run.UsageError{Err: fmt.Errorf("%s is no finished run: %w", r.Dir, err)}
	}
	o := page.Options{Base: r.Base, AgainstFixed: againstFixed(r.Dir, doc)}
	if r.Compare == "" {
		o.Comparison = ownComparison(r.Dir, doc, c.err)
	} else if o.Comparison, err = readComparison(r.Compare); err != nil {
		return &run.UsageError{Err: err}
	} else if !isHead(o.Comparison, doc) {
		return &run.UsageError{Err: fmt.Errorf("%s: run %s is not in its head; give the comparison that was made with this run", r.Compare, doc.RunID)}
	}
	if err := r.checkBase(o.Comparison); err != nil {
		return &run.UsageError{Err: err}
	}
	return writeReport(c, r.Dir, o)
}

// checkBase refuses a base that the comparison on the page is not about: its
// pictures would stand beside figures of another run.
func (r *reportCmd) checkBase(c *compare.Comparison) error {
	if r.Base == "" {
		return nil
	}
	base, err := result.Read(r.Base)
	if err != nil {
		return fmt.Errorf("%s is no finished run: %w", r.Base, err)
	}
	if c == nil || holds(c.Base.Runs, base.RunID) {
		return nil
	}
	var runs []string
	for _, b := range c.Base.Runs {
		text := b.RunID
		if b.Where != "" {
			text += " (" + b.Where + ")"
		}
		runs = append(runs, text)
	}
	return fmt.Errorf("--base %s: run %s is not in the base of the comparison, which has %s; give one of those, or none", r.Base, base.RunID, strings.Join(runs, ", "))
}

// report writes the page after a run. It is not worth failing a run for, nor
// keeping one waiting that was cancelled: little time may be left (decisions.md 34).
func (c *console) report(dir string, doc *result.Document, base string) {
	if c.ctx.Err() != nil {
		fmt.Fprintf(c.err, "note: cancelled, so no report was drawn; agentx report %s does it\n", dir)
		return
	}
	if err := writeReport(c, dir, page.Options{Comparison: ownComparison(dir, doc, c.err), AgainstFixed: againstFixed(dir, doc), Base: base}); err != nil {
		fmt.Fprintln(c.err, "note: the report is not whole:", err)
	}
}

func writeReport(c *console, dir string, o page.Options) error {
	c.will.bequeath(dir)
	written, err := page.Report(dir, o)
	for _, a := range written.Absent {
		fmt.Fprintf(c.err, "no picture %s: %s\n", a.Name, a.Why)
	}
	for _, a := range written.Altered {
		fmt.Fprintf(c.err, "note: not as the run left it, which the report says: %s\n", a)
	}
	for _, n := range written.Notes {
		fmt.Fprintln(c.err, "note:", n)
	}
	if slices.Contains(written.Files, page.File) {
		fmt.Fprintf(c.out, "report: %s\n", filepath.Join(dir, page.File))
	}
	return err
}

// ownComparison reads the comparison in a run's folder. One of an earlier run in
// the same folder doesn't count.
func ownComparison(dir string, doc *result.Document, w io.Writer) *compare.Comparison {
	name := filepath.Join(dir, result.FileComparison)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c, err := readComparison(name)
	switch {
	case err != nil:
		fmt.Fprintln(w, "note:", err)
	case !isHead(c, doc):
		fmt.Fprintf(w, "note: %s is about other runs, so the report leaves it out\n", name)
	default:
		return c
	}
	return nil
}

func isHead(c *compare.Comparison, doc *result.Document) bool { return holds(c.Head.Runs, doc.RunID) }

func holds(runs []compare.RunRef, id string) bool {
	return slices.ContainsFunc(runs, func(r compare.RunRef) bool { return r.RunID == id })
}

// maxComparison bounds a comparison that is read, in bytes.
const maxComparison = 16 << 20

func readComparison(name string) (*compare.Comparison, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a plain file", name)
	}
	text, err := readBounded(name, maxComparison)
	if err != nil {
		return nil, err
	}
	c, err := compare.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}
