package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/result"
)

// What a run keeps of its publishing among its settings, so that whoever tells of it
// later names it alike.
const (
	otherCell = "cell"        // the point of a matrix, of a sweep without its concurrency
	otherBase = "base_commit" // of a run of the base: the commit that it was built from
)

// cell is the point of a matrix that a job is: what is compared only with itself.
func (r *runCmd) cell() string {
	if r.Cell != "" {
		return r.Cell
	}
	engine, model := r.Engine, strings.Join(r.ModelNames, "+")
	if engine == "" && model == "" {
		engine = r.driver(planInput{URL: r.URL})
	}
	concurrency := r.Concurrency
	if _, err := strconv.ParseUint(concurrency, 10, 32); err != nil { // several, or refused
		concurrency = ""
	}
	return cellName(engine, model, r.TensorParallelSize, concurrency)
}

// cellName makes a cell of what it is known by.
func cellName(engine, model string, tensorParallel int, concurrency string) string {
	var words []string
	for _, w := range []string{engine, model} {
		if w != "" {
			words = append(words, w)
		}
	}
	if tensorParallel > 1 {
		words = append(words, fmt.Sprintf("tp%d", tensorParallel))
	}
	if concurrency != "" {
		words = append(words, "c"+concurrency)
	}
	return strings.Join(words, "-")
}

// cellOf is the cell that the job itself used. Results of before it was kept are named
// by what they measured.
func cellOf(d *result.Document) string {
	if cell := d.Settings.Other[otherCell]; cell != "" {
		return cell
	}
	concurrency := strconv.Itoa(d.Settings.Concurrency)
	if d.Settings.Other["sweep"] != "" {
		concurrency = ""
	}
	return cellName(d.Engine.Name, d.Settings.Model, 0, concurrency)
}

// believableCell is what a cell out of artifacts of strangers may look like: the names
// of engines and models, and nothing that could be a sentence.
var believableCell = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@+=,-]{0,149}$`)

// believedCell is the cell in artifacts of strangers, if it is a name. Another cell's
// name it may well be: then the same pull request's comment of that cell is written
// over, and its artifacts were made by the same hands. Comments of other workflows and
// of other pull requests are out of reach, since those follow from GitHub's event; in
// the store nothing is ever overwritten, and no run of a pull request is a baseline.
func believedCell(d *result.Document) (string, error) {
	cell := cellOf(d)
	if believableCell.MatchString(cell) {
		return cell, nil
	}
	return "", fmt.Errorf("the cell %s is no name of at most 150 letters, digits and ._/:@+=,-; give --cell", strconv.QuoteToASCII(cell[:min(len(cell), 150)]))
}
