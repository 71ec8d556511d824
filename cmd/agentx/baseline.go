package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/org/agentx-action/pkg/publish/table"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// baselineDirs are the fixed-length runs in the folder of a run.
func baselineDirs(dir string) (dirs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if ok, _ := filepath.Match("fixed-*", e.Name()); ok && e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs
}

// againstFixed puts a run beside the baselines in its folder. One that cannot be
// read is left out: the run itself says what became of it.
func againstFixed(dir string, doc *result.Document) []compare.AgainstFixed {
	var fixed []*result.Document
	for _, d := range baselineDirs(dir) {
		if f, err := result.Read(d); err == nil {
			fixed = append(fixed, f)
		}
	}
	return compare.AgainstFixedRuns(doc, fixed)
}

// compareWith compares the run in a folder with the base's runs, shows what
// changed and writes it beside the result.
func (r *replayFlags) compareWith(out io.Writer, dir string) (*compare.Comparison, error) {
	head, err := compare.Load(dir)
	if err != nil {
		return nil, err
	}
	if r.CompareWith, err = expand(r.CompareWith); err != nil {
		return nil, err
	}
	base, err := loadRuns(r.CompareWith)
	if err != nil {
		return nil, err
	}
	o := compare.Options{CreatedAt: time.Now()}
	if r.Floor != "" {
		if o.Floor, err = compare.LoadFloor(r.Floor); err != nil {
			return nil, err
		}
	}
	if o.HeadFixed, err = readAll(baselineDirs(dir)); err != nil {
		return nil, err
	}
	if o.BaseFixed, err = readAll(baselineDirs(r.CompareWith[0])); err != nil {
		return nil, err
	}
	c, err := compare.Compare([]*compare.Run{head}, base, o)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(out)
	if err := table.Comparison(out, c, table.Options{Color: inColor(out)}); err != nil {
		return c, err
	}
	name, err := writeComparison(c, dir, "")
	if err == nil {
		fmt.Fprintf(out, "\ncomparison: %s\n", name)
	}
	return c, err
}

// inColor reports whether colour codes help: on a terminal whose user did not
// switch them off.
func inColor(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
