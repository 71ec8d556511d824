package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/publish/page"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// refusedArtifacts says why artifacts of strangers are told nothing of.
type refusedArtifacts struct{ err error }

// Error is for the log alone: it repeats what stands in the artifacts.
func (r *refusedArtifacts) Error() string { return "the artifacts are refused: " + r.err.Error() }

// Unwrap gives the cause.
func (r *refusedArtifacts) Unwrap() error { return r.err }

// told is for everybody.
func (r *refusedArtifacts) told() string {
	return "the artifacts are refused: they are not in everything what a run leaves, so nothing of them is shown; what is wrong stands in the log of the job that publishes"
}

// examined refuses artifacts of strangers that are not in every figure what a run
// leaves. What is told of those that are is computed here, and what only they can say is
// quoted; comparison, pages and pictures are made anew.
func (p *publishCmd) examined(job *publication, dir string) (all []seen, err error) {
	defer func() {
		if err != nil {
			all, err = nil, &refusedArtifacts{err}
		}
	}()
	if err := plainFiles(dir); err != nil {
		return nil, err
	}
	if all, err = foundRuns(dir); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].comparison = nil // anybody can write one
		if err := examine(all[i].Dir); err != nil {
			return nil, err
		}
	}
	if job.cell == "" && len(all) > 0 {
		if job.cell, err = believedCell(all[0].Document); err != nil {
			return nil, err
		}
	}
	bases, err := p.compareAnew(job, all)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := retell(job.console, &all[i], bases); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// maxFaults bounds what is said of an artifact.
const maxFaults = 5

// runIDs are what a run calls itself; comparisons repeat it.
var runIDs = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// examine proves a run's folder from its records on, and takes away what can't be.
func examine(dir string) error {
	for _, dir := range append([]string{dir}, baselineDirs(dir)...) {
		problems, err := result.Check(dir)
		if err != nil {
			return err
		}
		var errs errorList
		for _, p := range problems[:min(len(problems), maxFaults)] {
			errs.add(errors.New(strings.Trim(strconv.QuoteToASCII(p.String()), `"`)))
		}
		if err := errs.join(); err != nil {
			return err
		}
	}
	doc, err := result.Read(dir)
	if err != nil {
		return err
	}
	if err := ownKeys(dir); err != nil {
		return err
	}
	if !runIDs.MatchString(doc.RunID) {
		return fmt.Errorf("%s: the run's id is %s, which no run has", result.FileResult, strconv.QuoteToASCII(doc.RunID[:min(len(doc.RunID), 80)]))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.RemoveAll(result.FolderCharts)
	for _, name := range []string{result.FileReport, result.FileComparison} {
		err = errors.Join(err, ifThere(root.Remove(name)))
	}
	if err != nil {
		return err
	}
	return result.WriteManifest(dir, doc.RunID)
}

// ownKeys are the keys of the identity that have no dot: a run adds none of that kind,
// and their names are told.
func ownKeys(dir string) error {
	facts, err := result.ReadFacts(dir)
	if err != nil {
		return err
	}
	for key := range facts.ExtraIdentity {
		if !strings.Contains(key, ".") {
			return fmt.Errorf("%s: extra_identity has the key %s, which no run adds", result.FileFacts, strconv.QuoteToASCII(key[:min(len(key), 80)]))
		}
	}
	return nil
}

func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// retell draws a run's page anew, and takes for what is told of it a document in which
// everything that only the artifacts say is quoted.
func retell(c *console, s *seen, bases []string) error {
	o := page.Options{AgainstFixed: againstFixed(s.Dir, s.Document)}
	if s.comparison != nil && !s.unkept {
		o.Comparison = s.comparison
		if s.comparison.Verdict != compare.Refused {
			o.Base = bases[0]
		}
	}
	if err := writeReport(c, s.Dir, o); err != nil {
		return err
	}
	doc, err := quotedDocument(s.Dir)
	if err != nil {
		return err
	}
	doc.Command = nil // nobody is to be told to type what strangers wrote
	s.Document = doc
	return nil
}
