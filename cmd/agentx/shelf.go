package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/publish/store"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/run"
)

// shelf brings runs that lie in a store onto this machine. The zero value reads with
// the default credentials.
type shelf struct {
	ctx     context.Context
	options store.Options
	within  time.Duration // for one look through a branch, fetching included; as long as it takes when 0

	local map[string]*store.Local // by store
	found map[string]store.Base   // by series: the runs that were taken last
}

// shelf is the one of a verb.
func (c *console) shelf(f *s3Flags) *shelf {
	c.will.bequeath(runsFolder()) // which may lie in GitHub's workspace
	return &shelf{ctx: c.ctx, options: f.s3Options()}
}

// errNoRunYet is a branch of which nothing is kept.
var errNoRunYet = errors.New("holds no finished run")

// unaskedWithin is how long a job waits for a base that nobody named: a store that hangs
// would hold it for minutes before anything is measured.
const unaskedWithin = time.Minute

// baseShelf is the one that a run's base comes from.
func (r *runCmd) baseShelf(c *console) *shelf {
	s := c.shelf(&r.s3Flags)
	if r.unasked {
		s.within = unaskedWithin
	}
	return s
}

// runsFolder is where runs that were fetched lie: runs in $AGENTX_CACHE, or else in
// agentx/runs of the user's cache.
func runsFolder() string {
	if dir := os.Getenv("AGENTX_CACHE"); dir != "" {
		return filepath.Join(dir, "runs")
	}
	cache, err := os.UserCacheDir()
	if err != nil { // no home, as a service's user may have
		cache = os.TempDir()
	}
	return filepath.Join(cache, "agentx", "runs")
}

// open takes a reference apart and opens its store.
func (s *shelf) open(ref string) (store.Reference, *store.Local, error) {
	r, err := store.ParseReference(ref)
	if err != nil {
		return r, nil, &run.UsageError{Err: err}
	}
	if l := s.local[r.Store]; l != nil {
		return r, l, nil
	}
	from, err := store.Open(s.context(), r.Store, s.options)
	if err != nil {
		return r, nil, &run.UsageError{Err: err}
	}
	if s.local == nil {
		s.local = map[string]*store.Local{}
	}
	l := &store.Local{Store: from, Dir: runsFolder()}
	s.local[r.Store] = l
	return r, l, nil
}

func (s *shelf) context() context.Context {
	if s.ctx == nil {
		return context.Background()
	}
	return s.ctx
}

// isSeries reports whether a reference names the runs of a branch, and not one of them.
// What is no reference is neither.
func (s *shelf) isSeries(ref string) (bool, error) {
	if !store.IsRemote(ref) {
		return false, nil
	}
	r, _, err := s.open(ref)
	return err == nil && r.Key == nil, err
}

// one is the run that a reference names, and its store.
func (s *shelf) one(ref string) (key store.Key, local *store.Local, err error) {
	r, local, err := s.open(ref)
	if err != nil {
		return key, nil, err
	}
	if r.Key == nil {
		return key, nil, &run.UsageError{Err: fmt.Errorf("%s names the runs of a branch; name one of them", ref)}
	}
	return *r.Key, local, nil
}

// folder is the folder of a run: the one that is named, or where the run of a store
// was fetched to.
func (s *shelf) folder(name string) (string, error) {
	if !store.IsRemote(name) {
		return name, nil
	}
	key, local, err := s.one(name)
	if err != nil {
		return "", err
	}
	dir, err := local.Folder(s.context(), key)
	if errors.Is(err, store.ErrNotFound) {
		err = &run.UsageError{Err: err}
	}
	return dir, err
}

// folders is folder of several.
func (s *shelf) folders(names []string) (dirs []string, err error) {
	for _, name := range names {
		dir, err := s.folder(name)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// window takes the newest accepted runs of a branch in a store. When the store cannot
// be read after a run, those that were taken before it do: hours on GPUs are not to
// end without a comparison because a token has expired.
func (s *shelf) window(ref string, w *compare.Wanted, taken []compare.Stored, open opener) (in []compare.Stored, notes []string, err error) {
	r, local, err := s.open(ref)
	if err != nil {
		return nil, nil, err
	}
	side, load := candidates(taken), func(dir string) error { _, err := open(dir); return err }
	b, err := s.look(local, r.Series, w, side, load)
	if before, ok := s.found[ref]; err != nil && ok {
		notes = append(notes, fmt.Sprintf("The store could not be read after the run (%v); the base's runs are those fetched before it.", err))
		b, err = before.Again(w, side, windowRuns, load), nil
	}
	if err != nil {
		return nil, nil, err
	}
	said := b.Notes(ref)
	switch {
	case len(b.Runs) > 0:
	case len(said) == 0:
		return nil, nil, &run.UsageError{Err: fmt.Errorf("%s %w", ref, errNoRunYet)}
	default:
		return nil, nil, &run.UsageError{Err: fmt.Errorf("%s holds no run that can be the base: %s", ref, strings.Join(compare.Sentences(b.Down), "; "))}
	}
	if s.found == nil {
		s.found = map[string]store.Base{}
	}
	s.found[ref] = b
	return b.Runs, append(notes, said...), nil
}

// look is a window over a branch, within the time that there is for it.
func (s *shelf) look(local *store.Local, of store.Series, w *compare.Wanted, side []compare.Candidate, load func(dir string) error) (store.Base, error) {
	ctx := s.context()
	if s.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.within)
		defer cancel()
	}
	b, err := local.Window(ctx, of, w, side, windowRuns, load)
	if err != nil && ctx.Err() != nil && s.context().Err() == nil {
		err = fmt.Errorf("looking through %s/%s took longer than %v, which is all that a base nobody named gets; name it with --compare-branch or --compare-with, and it is waited for", local.Store, of, s.within)
	}
	return b, err
}

func candidates(taken []compare.Stored) (out []compare.Candidate) {
	for _, t := range taken {
		out = append(out, t.Candidate)
	}
	return out
}
