package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	Dirs []string `arg:"" optional:"" name:"dir" help:"HEAD and BASE: folders of two runs; BASE may be a folder of runs, whose newest accepted five are taken. With --aa: the repeats."`

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
}

// regressionError says that the head is worse, where that was asked to fail.
type regressionError struct{ summary string }

func (e *regressionError) Error() string { return "regression: " + e.summary }

// Run is called by the parser.
func (c *compareCmd) Run(to *console) error {
	if c.AA {
		return c.measureFloor(to)
	}
	heads, bases, err := c.sides()
	if err != nil {
		return &run.UsageError{Err: err}
	}
	if bases, err = expand(bases); err != nil {
		return err
	}
	o, err := c.options(heads, bases)
	if err != nil {
		return err
	}
	comparison, err := compareSides(to.out, heads, bases, o, c.Output)
	if err != nil {
		return err
	}
	return outcome(comparison, c.FailOn == "regression")
}

// compareSides compares the runs in two lists of folders, shows what changed and
// writes it: to output, or beside the head's first result when that is empty.
func compareSides(out io.Writer, heads, bases []string, o compare.Options, output string) (*compare.Comparison, error) {
	head, err := loadRuns(heads)
	if err != nil {
		return nil, err
	}
	base, err := loadRuns(bases)
	if err != nil {
		return nil, err
	}
	comparison, err := compare.Compare(head, base, o)
	if err != nil {
		return nil, err
	}
	if err := table.Comparison(out, comparison, table.Options{Color: inColor(out)}); err != nil {
		return comparison, err
	}
	name, err := writeComparison(comparison, heads[0], output)
	if err == nil {
		fmt.Fprintf(out, "\ncomparison: %s\n", name)
	}
	return comparison, err
}

// withFloor are the options of a comparison with a noise floor, if one is named.
func withFloor(name string) (o compare.Options, err error) {
	o.CreatedAt = time.Now()
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

// sides takes HEAD BASE, or --head and --base.
func (c *compareCmd) sides() (head, base []string, err error) {
	switch {
	case len(c.Dirs) == 2 && len(c.Head)+len(c.Base) == 0:
		return c.Dirs[:1], c.Dirs[1:], nil
	case len(c.Dirs) == 0 && len(c.Head) > 0 && len(c.Base) > 0:
		return c.Head, c.Base, nil
	}
	return nil, nil, errors.New("give two folders, HEAD BASE, or --head DIR and --base DIR, each once or more")
}

func (c *compareCmd) options(heads, bases []string) (compare.Options, error) {
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
	if o.HeadFixed, err = readAll(orBaselines(c.HeadFixed, heads[0])); err != nil {
		return o, err
	}
	o.BaseFixed, err = readAll(orBaselines(c.BaseFixed, bases[0]))
	return o, err
}

// orBaselines are the fixed-length runs that were named, or those in the folder
// of a run.
func orBaselines(named []string, dir string) []string {
	if len(named) > 0 {
		return named
	}
	return baselineDirs(dir)
}

func readAll(dirs []string) (out []*result.Document, err error) {
	for _, dir := range dirs {
		d, err := result.Read(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		out = append(out, d)
	}
	return out, nil
}

func loadRuns(dirs []string) (out []*compare.Run, err error) {
	for _, dir := range dirs {
		r, err := compare.Load(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// writeComparison puts the comparison into a file. Inside a finished run's folder the
// manifest is renewed, because it lists every file; one that does not fit the
// folder is left alone, so that nothing altered gets its blessing.
func writeComparison(comparison *compare.Comparison, headDir, output string) (string, error) {
	text, err := comparison.Encode()
	if err != nil {
		return "", err
	}
	if output != "" {
		return output, writeFile(output, text)
	}
	name := filepath.Join(headDir, result.FileComparison)
	_, err = os.Lstat(filepath.Join(headDir, result.FileManifest))
	finished := !errors.Is(err, fs.ErrNotExist)
	if finished {
		if err := result.Verify(headDir); err != nil {
			return "", fmt.Errorf("%s is not as its run left it, so nothing is added to it (-o FILE writes elsewhere): %w", headDir, err)
		}
	}
	if err := result.WriteFile(headDir, result.FileComparison, text); err != nil || !finished {
		return name, err
	}
	return name, result.WriteManifest(headDir, comparison.Head.Runs[0].RunID)
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
