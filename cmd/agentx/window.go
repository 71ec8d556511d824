package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/org/agentx-action/pkg/result"
)

// Bounds of the search for a window of runs.
const (
	windowRuns    = 5      // newest accepted runs that make a baseline
	windowFolders = 10_000 // folders looked at
)

// expand replaces a folder that is no run by the newest accepted runs below it: a
// baseline that a single bad run can neither freeze nor poison
// (spec/pitfalls.md "Baseline and noise"). Nothing is ever written there.
func expand(dirs []string) (out []string, err error) {
	for _, dir := range dirs {
		if _, err := os.Lstat(filepath.Join(dir, result.FileResult)); err == nil {
			out = append(out, dir)
			continue
		}
		runs, err := window(dir, windowRuns)
		if err != nil {
			return nil, err
		}
		out = append(out, runs...)
	}
	return out, nil
}

// window finds the newest accepted runs below a folder, newest first: those whose
// manifest is there, that can be trusted, and that count where a rule set judged them.
func window(dir string, most int) ([]string, error) {
	type accepted struct {
		dir string
		at  time.Time
	}
	var found []accepted
	looked, turnedDown := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case looked >= windowFolders:
			return fmt.Errorf("%s holds more than %d folders; name the run's own", dir, windowFolders)
		}
		looked++
		if _, err := os.Lstat(filepath.Join(path, result.FileManifest)); errors.Is(err, fs.ErrNotExist) {
			return nil // no manifest, no run
		}
		doc, err := result.Read(path)
		if err != nil || result.Verify(path) != nil || !doc.Validity.Trusted || doc.Validity.SubmissionValid != nil && !doc.Validity.Valid() || doc.Mode != result.ModeAgentic {
			turnedDown++
			return fs.SkipDir
		}
		found = append(found, accepted{path, doc.StartedAt})
		return fs.SkipDir // its baselines are not runs of their own here
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s is no run and holds no accepted one (%d were turned down: not valid or not to be trusted)", dir, turnedDown)
	}
	slices.SortFunc(found, func(a, b accepted) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.dir, b.dir)) })
	var out []string
	for _, f := range found[:min(most, len(found))] {
		out = append(out, f.dir)
	}
	return out, nil
}
