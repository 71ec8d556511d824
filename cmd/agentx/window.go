package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// Bounds of the search for a window of runs.
const (
	windowRuns    = 5      // newest accepted runs that make a baseline
	windowFolders = 10_000 // folders looked at
)

// opener makes sure that a folder is the whole of a finished run, and may load it.
type opener func(dir string) (*result.Document, error)

// chooseBase finds the runs of the base: the folders that are a run's are taken as
// they are, a folder of runs stands for its newest accepted ones, so that a single
// bad run can neither freeze nor poison a baseline (spec/pitfalls.md "Baseline and
// noise"). References to a store are the same there, and from brings their runs here.
// open is called for every run that is taken, in the order of the answer. The notes say
// what was turned down. Nothing is ever written there.
func chooseBase(dirs []string, w *compare.Wanted, from *shelf, open opener) (taken []compare.Stored, notes []string, err error) {
	var folders []string
	for _, name := range dirs {
		if series, err := from.isSeries(name); err != nil {
			return nil, nil, err
		} else if series {
			folders = append(folders, name)
			continue
		}
		dir, err := from.folder(name)
		if err != nil {
			return nil, nil, err
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !compare.HoldsRun(dir) {
			folders = append(folders, dir)
			continue
		}
		doc, err := open(dir) // says what is wrong with what is no folder
		if err != nil {
			return nil, nil, asUsage(err)
		}
		taken = append(taken, compare.Stored{Where: dir, Candidate: compare.CandidateOf(doc)})
	}
	for _, dir := range folders { // the runs named decide what a repeat is
		look := window
		if store.IsRemote(dir) {
			look = from.window
		}
		in, said, err := look(dir, w, taken, open)
		if err != nil {
			return nil, nil, err
		}
		taken, notes = append(taken, in...), append(notes, said...)
	}
	return taken, notes, nil
}

// window takes the newest accepted runs below a folder.
func window(dir string, w *compare.Wanted, taken []compare.Stored, open opener) (in []compare.Stored, notes []string, err error) {
	stored, down, err := findRuns(dir)
	if err != nil {
		return nil, nil, asUsage(err)
	}
	in, more := compare.Window(stored, w, candidates(taken), windowRuns, func(where string) error {
		_, err := open(where)
		return err
	})
	down = append(down, more...)
	for i := range down {
		down[i].Where = below(dir, down[i].Where)
	}
	said := compare.Sentences(down)
	switch {
	case len(in) == 0 && len(said) == 0:
		return nil, nil, asUsage(&compare.FolderError{Dir: dir, Why: compare.NoRun})
	case len(in) == 0:
		return nil, nil, &run.UsageError{Err: fmt.Errorf("%s holds no run that can be the base: %s", dir, strings.Join(said, "; "))}
	}
	var names []string
	for _, s := range in {
		names = append(names, below(dir, s.Where))
	}
	notes = append(notes, fmt.Sprintf("Base from %s, the newest accepted first: %s.", dir, strings.Join(names, ", ")))
	for _, s := range said {
		notes = append(notes, fmt.Sprintf("Below %s, %s.", dir, s))
	}
	return in, notes, nil
}

func below(dir, path string) string {
	if name, err := filepath.Rel(dir, path); err == nil {
		return name
	}
	return path
}

// findRuns lists the runs below a folder. What cannot be read or did not finish is
// in down.
func findRuns(dir string) (found []compare.Stored, down []compare.TurnedDown, err error) {
	looked := 0
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		turnDown := func(why compare.Reason) {
			down = append(down, compare.TurnedDown{Where: path, Rejection: compare.Rejection{Reason: why}})
		}
		switch {
		case err != nil && name == ".":
			return err
		case err != nil: // a folder that cannot be read is no reason to take none
			turnDown(compare.NotWhole)
			return fs.SkipDir
		case !d.IsDir():
			return nil
		case looked >= windowFolders:
			return fmt.Errorf("%s holds more than %d folders; name the run's own", dir, windowFolders)
		}
		looked++
		if !compare.HoldsRun(path) {
			return nil
		}
		// A run's baselines, in folders below its own, are no runs of their own here.
		if _, err := os.Lstat(filepath.Join(path, result.FileManifest)); errors.Is(err, fs.ErrNotExist) {
			turnDown(compare.Unfinished)
			return fs.SkipDir
		}
		doc, err := result.Read(path)
		if err != nil {
			turnDown(compare.NotWhole)
			return fs.SkipDir
		}
		found = append(found, compare.Stored{Where: path, Candidate: compare.CandidateOf(doc)})
		return fs.SkipDir
	})
	return found, down, err
}

// asUsage makes a folder that was named wrongly a fault of the usage.
func asUsage(err error) error {
	var folder *compare.FolderError
	if errors.As(err, &folder) || errors.Is(err, fs.ErrNotExist) {
		return &run.UsageError{Err: err}
	}
	return err
}
