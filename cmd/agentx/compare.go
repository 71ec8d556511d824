package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// compareCmd judges what changed between two sides.
type compareCmd struct {
	Dirs []string `arg:"" optional:"" name:"dir" help:"HEAD and BASE: folders of two runs; BASE may be a folder of runs, whose newest accepted five are taken. Either may lie in a store: s3://bucket/prefix/v1/owner/repo/cell/branch, or that with a run's name. With --aa: the repeats."`

	Head []string `help:"Folder of a run of the head; give it again for repeats." placeholder:"DIR"`
	Base []string `help:"Folder of a run of the base; give it again for repeats." placeholder:"DIR"`

	Axis          []string `help:"Key of the identity that is under test and may differ. Default: engine_image, engine_version." placeholder:"KEY"`
	AllowMismatch []string `help:"Compare although this key of the identity differs, and say so in every output." placeholder:"KEY"`
	Threshold     []string `help:"Relative change from which a gated figure counts, e.g. ttft_p90=0.1; absolute for error_rate." placeholder:"METRIC=X"`
	Floor         string   `help:"Noise floor of the runner pool, as --aa writes it." placeholder:"FILE"`
	HeadFixed     []string `help:"Folder of a fixed-length run of the head." placeholder:"DIR"`
	BaseFixed     []string `help:"Folder of a fixed-length run of the base." placeholder:"DIR"`

	AA   bool   `name:"aa" help:"Measure the noise floor from repeats of the same thing instead."`
	Pool string `help:"Name of the runner pool that the noise floor speaks of." default:"unnamed"`

	Output string `short:"o" help:"File to write; default: comparison.json in the first folder of the head, or floor.json here with --aa." placeholder:"FILE"`
	FailOn string `help:"End with exit code 4 on a regression." enum:"regression,never" default:"never"`

	s3Flags
}

// regressionError says that the head is worse, where that was asked to fail.
type regressionError struct{ summary string }

func (e *regressionError) Error() string { return "regression: " + e.summary }

// Run is called by the parser.
func (c *compareCmd) Run(to *console) error {
	if c.AA {
		return c.measureFloor(to)
	}
	heads, bases, err := c.named()
	if err != nil {
		return &run.UsageError{Err: err}
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	from := to.shelf(&c.s3Flags)
	if heads, err = from.folders(heads); err != nil {
		return err
	}
	var s sides
	if s.head, err = loadRuns(heads); err != nil {
		return err
	}
	if err := s.chooseBase(bases, &o, from); err != nil {
		return err
	}
	if err := s.fixed(c.HeadFixed, c.BaseFixed, &o); err != nil {
		return err
	}
	to.will.bequeath(cmp.Or(c.Output, s.head[0].Where))
	comparison, err := s.compare(to.out, o, c.Output)
	if err != nil {
		return err
	}
	return outcome(comparison, c.FailOn == "regression")
}

// sides are the runs that are compared, and what is to be said of their choice.
type sides struct {
	head, base []*compare.Run
	notes      []string
}

// chooseBase loads the base's runs: those named, and of a folder of runs the newest
// that are a baseline for the head.
func (s *sides) chooseBase(dirs []string, o *compare.Options, from *shelf) error {
	w := &compare.Wanted{Identity: s.head[0].Doc.Identity, MayDiffer: o.MayDiffer()}
	for _, r := range s.head {
		w.RunIDs = append(w.RunIDs, r.Doc.RunID)
	}
	_, notes, err := chooseBase(dirs, w, from, func(dir string) (*result.Document, error) {
		r, err := compare.Load(dir)
		if err != nil {
			return nil, err
		}
		s.base = append(s.base, r)
		return r.Doc, nil
	})
	s.notes = append(s.notes, notes...)
	return err
}

// fixed finds the fixed-length runs of both sides: those named, or those in the
// folder of a side's first run.
func (s *sides) fixed(head, base []string, o *compare.Options) error {
	for _, side := range []struct {
		named []string
		run   *compare.Run
		to    *[]*result.Document
	}{{head, s.head[0], &o.HeadFixed}, {base, s.base[0], &o.BaseFixed}} {
		dirs, named := side.named, len(side.named) > 0
		read := compare.Check
		if !named { // the run's manifest lists them too, and fits
			dirs, read = result.Baselines(side.run.Where), result.Read
		}
		for _, dir := range dirs {
			d, err := read(dir)
			switch {
			case err == nil && d.Mode == result.ModeFixed:
				*side.to = append(*side.to, d)
			case err == nil:
				return &run.UsageError{Err: fmt.Errorf("%s is no fixed-length run; --head-fixed and --base-fixed take those", dir)}
			case named:
				return asUsage(err)
			default: // a baseline that was cut off is no reason to compare nothing
				s.notes = append(s.notes, fmt.Sprintf("The fixed-length run in %s is left out: %v.", dir, err))
			}
		}
	}
	return nil
}

// compare shows what changed and writes it: to output, or beside the head's first
// result when that is empty.
func (s *sides) compare(out io.Writer, o compare.Options, output string) (*compare.Comparison, error) {
	o.CreatedAt = time.Now()
	comparison, err := compare.Compare(s.head, s.base, o)
	if err != nil {
		return nil, err
	}
	comparison.Notes = append(s.notes, comparison.Notes...)
	if err := table.Comparison(out, comparison, table.Options{Color: inColor(out)}); err != nil {
		return comparison, err
	}
	name, err := writeComparison(comparison, s.head[0].Where, output)
	if err == nil {
		fmt.Fprintf(out, "\ncomparison: %s\n", name)
	}
	return comparison, err
}

// withFloor are the options of a comparison with a noise floor, if one is named.
func withFloor(name string) (o compare.Options, err error) {
	if name != "" {
		o.Floor, err = compare.LoadFloor(name)
	}
	return o, err
}

// outcome is what a comparison means for the exit code.
func outcome(c *compare.Comparison, failOnRegression bool) error {
	switch {
	case c.Failed() != "":
		return errors.New(c.Summary)
	case c.Verdict == compare.Refused:
		return &run.UsageError{Err: errors.New(c.Summary)}
	case c.Verdict == compare.Regression && failOnRegression:
		return &regressionError{c.Summary}
	}
	return nil
}

// named takes HEAD BASE, or --head and --base.
func (c *compareCmd) named() (head, base []string, err error) {
	switch {
	case len(c.Dirs) == 2 && len(c.Head)+len(c.Base) == 0:
		return c.Dirs[:1], c.Dirs[1:], nil
	case len(c.Dirs) == 0 && len(c.Head) > 0 && len(c.Base) > 0:
		return c.Head, c.Base, nil
	}
	return nil, nil, errors.New("give two folders, HEAD BASE, or --head DIR and --base DIR, each once or more")
}

func (c *compareCmd) options() (compare.Options, error) {
	o, err := withFloor(c.Floor)
	if err != nil {
		return o, err
	}
	o.AllowMismatch, o.Thresholds = c.AllowMismatch, map[string]float64{}
	if len(c.Axis) > 0 {
		o.Axis = c.Axis
	}
	for _, t := range c.Threshold {
		key, text, _ := strings.Cut(t, "=")
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0) || !compare.Gates(key) {
			return o, &run.UsageError{Err: fmt.Errorf("--threshold %s: want METRIC=X with a gated metric and X not below 0", t)}
		}
		o.Thresholds[key] = v
	}
	return o, nil
}

func loadRuns(dirs []string) (out []*compare.Run, err error) {
	for _, dir := range dirs {
		r, err := compare.Load(dir)
		if err != nil {
			return nil, asUsage(err)
		}
		out = append(out, r)
	}
	return out, nil
}

// writeComparison puts the comparison into a file. In the head's folder it goes
// into the manifest too, which lists every file; the others' entries stay, so that
// nothing altered gets its blessing.
func writeComparison(comparison *compare.Comparison, headDir, output string) (string, error) {
	text, err := comparison.Encode()
	if err != nil {
		return "", err
	}
	if output != "" {
		return output, writeFile(output, text)
	}
	name := filepath.Join(headDir, result.FileComparison)
	if err := result.WriteFile(headDir, result.FileComparison, text); err != nil {
		return name, err
	}
	return name, result.Add(headDir, result.FileComparison)
}

func writeFile(name string, text []byte) error {
	return result.WriteFile(filepath.Dir(name), filepath.Base(name), text)
}

// measureFloor writes the noise floor of the repeats.
func (c *compareCmd) measureFloor(to *console) error {
	if len(c.Head)+len(c.Base) > 0 || len(c.Dirs) == 0 {
		return &run.UsageError{Err: errors.New("--aa takes the folders of the repeats and no sides")}
	}
	runs, err := loadRuns(c.Dirs)
	if err != nil {
		return err
	}
	floor, err := compare.NewFloor(runs, c.Pool)
	if err != nil {
		return err
	}
	floor.CreatedAt = time.Now()
	text, err := floor.Encode()
	if err != nil {
		return err
	}
	name := c.Output
	if name == "" {
		name = "floor.json"
	}
	to.will.bequeath(name)
	if err := writeFile(name, text); err != nil {
		return err
	}
	fmt.Fprintf(to.out, "noise floor of %s from %d repeats\n", floor.Pool, len(floor.Runs))
	for _, g := range compare.Gated() {
		if f, ok := floor.Figures[g]; ok {
			unit := "%"
			if f.Absolute {
				unit = "points"
			}
			fmt.Fprintf(to.out, "  %-26s ±%.2f %s from run to run\n", g, 100*f.SD, unit)
		}
	}
	fmt.Fprintf(to.out, "\nfloor: %s\n", name)
	return nil
}
