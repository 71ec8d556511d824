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

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// compareCmd judges what changed between two sides.
type compareCmd struct {
	Dirs []string `arg:"" optional:"" name:"dir" help:"HEAD and BASE: folders of two runs. With --aa: the repeats."`

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
	o, err := c.options()
	if err != nil {
		return err
	}
	head, err := loadRuns(heads)
	if err != nil {
		return err
	}
	base, err := loadRuns(bases)
	if err != nil {
		return err
	}
	comparison, err := compare.Compare(head, base, o)
	if err != nil {
		return err
	}
	show(to.out, comparison)
	name, err := c.write(comparison, heads[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(to.out, "\ncomparison: %s\n", name)
	switch {
	case comparison.Failed() != "":
		return errors.New(comparison.Summary)
	case comparison.Verdict == compare.Refused:
		return &run.UsageError{Err: errors.New(comparison.Summary)}
	case comparison.Verdict == compare.Regression && c.FailOn == "regression":
		return &regressionError{comparison.Summary}
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

func (c *compareCmd) options() (compare.Options, error) {
	o := compare.Options{CreatedAt: time.Now(), AllowMismatch: c.AllowMismatch, Thresholds: map[string]float64{}}
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
	var err error
	if c.Floor != "" {
		if o.Floor, err = compare.LoadFloor(c.Floor); err != nil {
			return o, err
		}
	}
	if o.HeadFixed, err = readAll(c.HeadFixed); err != nil {
		return o, err
	}
	o.BaseFixed, err = readAll(c.BaseFixed)
	return o, err
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

// write puts the comparison into a file. Inside a finished run's folder the
// manifest is renewed, because it lists every file; one that does not fit the
// folder is left alone, so that nothing altered gets its blessing.
func (c *compareCmd) write(comparison *compare.Comparison, headDir string) (string, error) {
	text, err := comparison.Encode()
	if err != nil {
		return "", err
	}
	if c.Output != "" {
		return c.Output, writeFile(c.Output, text)
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
			fmt.Fprintf(to.out, "  %-26s ±%.2f %% from run to run\n", g, 100*f.SD)
		}
	}
	fmt.Fprintf(to.out, "\nfloor: %s\n", name)
	return nil
}

// show prints a comparison in few lines.
func show(w io.Writer, c *compare.Comparison) {
	fmt.Fprintf(w, "%s: %s\n", c.Verdict, c.Summary)
	for _, m := range c.Refused {
		fmt.Fprintf(w, "  differs: %s\n    base %s\n    head %s\n", m.Key, m.Base, m.Head)
	}
	for i := range c.Gated {
		f := &c.Gated[i]
		fmt.Fprintf(w, "  %-26s %12s → %-12s %-8s %-24s %s\n", f.Metric, figureText(f.Base), figureText(f.Head), changeText(f, f.Ratio),
			"["+changeText(f, f.Low)+", "+changeText(f, f.High)+"]", f.Verdict)
	}
	for _, l := range c.Layers {
		if l.Moved {
			fmt.Fprintf(w, "  %s\n", l.Text)
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(w, "  note: %s\n", n)
	}
}

func figureText(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.4g", *v)
}

func changeText(f *compare.Finding, v *float64) string {
	switch {
	case v == nil:
		return "–"
	case f.Absolute:
		return fmt.Sprintf("%+.2f pt", 100**v)
	}
	return fmt.Sprintf("%+.1f %%", 100*(*v-1))
}
