package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/result/compare"
)

// maxLooked bounds how many runs of a series a window is chosen from.
const maxLooked = 200

// Local keeps runs of a store in a folder on this machine, so that one which is
// wanted again, as a baseline is before a run and after it, is fetched once.
type Local struct {
	Store Store
	Dir   string // the folder; runs lie in it by their keys, apart for each store
	Fetch FetchOptions
}

// keepFor is how long a run that nobody asked for again stays.
const keepFor = 30 * 24 * time.Hour

// Folder is where a run lies here; it is fetched if it doesn't yet. One that was
// changed here is fetched anew.
func (l *Local) Folder(ctx context.Context, k Key) (string, error) {
	dir := l.folder(k)
	if _, err := os.Lstat(dir); err == nil {
		if _, err := compare.Check(dir); err == nil {
			now := time.Now()
			_ = os.Chtimes(dir, now, now) // else it is fetched once more some day
			return dir, nil
		}
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	l.sweep(filepath.Dir(dir))
	return dir, Fetch(ctx, l.Store, k, dir, l.Fetch)
}

func (l *Local) folder(k Key) string {
	sum := sha256.Sum256([]byte(l.Store.String()))
	return filepath.Join(l.Dir, hex.EncodeToString(sum[:6]), filepath.FromSlash(k.String()))
}

// sweep removes what was not asked for in a long time, so that a runner's disk does
// not fill with the baselines of all nights.
func (l *Local) sweep(series string) {
	entries, err := os.ReadDir(series)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > keepFor {
			_ = os.RemoveAll(filepath.Join(series, e.Name()))
		}
	}
}

// Base are the runs of a store that make a baseline.
type Base struct {
	Runs []compare.Stored     // Where is the folder on this machine; the newest first
	Keys []Key                // of the same runs
	Down []compare.TurnedDown // Where is the run's name in its series
	Note string               // of a search that was given up; empty else
}

// Window takes the newest runs of a series that compare.Accept accepts, at most so
// many. open makes sure of the folder of one, and may load it. Runs that come next to
// taken ones must be repeats of them.
func (l *Local) Window(ctx context.Context, of Series, w *compare.Wanted, taken []compare.Candidate, most int, open func(dir string) error) (b Base, err error) {
	looked := 0
	for run, err := range Runs(ctx, l.Store, of) {
		switch {
		case err != nil:
			return b, err
		case looked >= maxLooked:
			b.Note = fmt.Sprintf("Only the newest %d runs of %s/%s were looked at.", maxLooked, l.Store, of)
			return b, nil
		}
		looked++
		if run.Why != "" {
			b.Down = append(b.Down, compare.TurnedDown{Where: run.Key.name(), Rejection: compare.Rejection{Reason: run.Why}})
			continue
		}
		if err := l.consider(ctx, run, w, taken, open, &b); err != nil {
			return b, err
		}
		if len(b.Runs) >= most {
			return b, nil
		}
	}
	return b, nil
}

// consider puts a run to the rule of a window, and among the runs if it is taken.
func (l *Local) consider(ctx context.Context, run Run, w *compare.Wanted, taken []compare.Candidate, open func(dir string) error, b *Base) error {
	all := append([]compare.Candidate{}, taken...)
	for _, r := range b.Runs {
		all = append(all, r.Candidate)
	}
	var failed error // of the store, which is no fault of the run
	dir := ""
	in, down := compare.Window([]compare.Stored{{Where: run.Key.name(), Candidate: run.Candidate}}, w, all, 1, func(string) error {
		var err error
		if dir, err = l.Folder(ctx, run.Key); err != nil {
			if !errors.Is(err, ErrNotFound) && !errors.Is(err, errForeign) {
				failed = err
			}
			return err
		}
		return open(dir)
	})
	if failed != nil {
		return failed
	}
	b.Down = append(b.Down, down...)
	for _, s := range in {
		b.Runs, b.Keys = append(b.Runs, compare.Stored{Where: dir, Candidate: s.Candidate}), append(b.Keys, run.Key)
	}
	return nil
}

// Again chooses among the same runs, which lie here, for another head or the same one
// of which more is known.
func (b *Base) Again(w *compare.Wanted, taken []compare.Candidate, most int, open func(dir string) error) (again Base) {
	again.Runs, again.Down = compare.Window(b.Runs, w, taken, most, open)
	for _, r := range again.Runs {
		i := slices.IndexFunc(b.Runs, func(old compare.Stored) bool { return old.Where == r.Where })
		again.Keys = append(again.Keys, b.Keys[i])
	}
	return again
}

// Notes says which runs of a series were taken and which were turned down.
func (b *Base) Notes(of string) (notes []string) {
	if len(b.Keys) > 0 {
		var names []string
		for _, k := range b.Keys {
			names = append(names, k.name())
		}
		notes = append(notes, fmt.Sprintf("Base from %s, the newest accepted first: %s.", of, strings.Join(names, ", ")))
	}
	for _, s := range compare.Sentences(b.Down) {
		notes = append(notes, fmt.Sprintf("Below %s, %s.", of, s))
	}
	if b.Note != "" {
		notes = append(notes, b.Note)
	}
	return notes
}
