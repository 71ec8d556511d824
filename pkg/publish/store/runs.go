package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// Bounds of what is read from a store into memory, in bytes.
const (
	maxManifest = 32 << 20
	maxResult   = 64 << 20
)

// Run is a finished run in a store, as far as a baseline is chosen by it.
type Run struct {
	Key Key
	compare.Candidate
	Why compare.Reason // why there is no candidate; empty where there is
}

// Runs gives the finished runs of a series, the newest first. They are found by
// listing; each is read only when it is come to. A run without a manifest does not
// exist. One whose result cannot be read, or is not the manifest's, has a Why; an
// error is the store's and ends the sequence.
func Runs(ctx context.Context, s Store, of Series) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		keys, err := keys(ctx, s, of)
		if err != nil {
			yield(Run{}, err)
			return
		}
		for _, k := range keys {
			run, err := readRun(ctx, s, k)
			switch {
			case errors.Is(err, ErrNotFound):
				continue
			case err != nil:
				yield(Run{}, err)
				return
			}
			if !yield(run, nil) {
				return
			}
		}
	}
}

// keys lists the runs of a series, finished or not, the newest first.
func keys(ctx context.Context, s Store, of Series) (out []Key, err error) {
	if err := of.Validate(); err != nil {
		return nil, err
	}
	for o, err := range s.List(ctx, of.String(), false) {
		if err != nil {
			return nil, err
		}
		if k, err := Parse(o.Name); err == nil && o.Folder {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b Key) int {
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		return strings.Compare(b.String(), a.String())
	})
	return out, nil
}

func readRun(ctx context.Context, s Store, k Key) (Run, error) {
	m, _, err := readManifest(ctx, s, k)
	var big *tooLargeError
	if errors.Is(err, errForeign) || errors.As(err, &big) {
		return Run{Key: k, Why: compare.NotWhole}, nil
	}
	if err != nil {
		return Run{}, err
	}
	d, err := readResult(ctx, s, k, m)
	if err != nil {
		return Run{}, err
	}
	if d == nil {
		return Run{Key: k, Why: compare.NotWhole}, nil
	}
	return Run{Key: k, Candidate: compare.CandidateOf(d)}, nil
}

// errForeign marks what a store holds and no run of ours left there.
var errForeign = errors.New("not as the run left it")

func foreign(where string, err error) error {
	return fmt.Errorf("%s: %w: %s", printable(where), errForeign, printable(err.Error()))
}

// readManifest reads the manifest of a run. ErrNotFound says that the run is not
// finished.
func readManifest(ctx context.Context, s Store, k Key) (*result.Manifest, []byte, error) {
	name := k.String() + "/" + result.FileManifest
	text, err := readAll(ctx, s, name, maxManifest)
	if err != nil {
		return nil, nil, err
	}
	m, err := result.DecodeManifest(text)
	if err != nil {
		return nil, nil, foreign(s.String()+"/"+name, err)
	}
	return m, text, nil
}

// readResult reads the result.json of a finished run; nil where it is not the
// manifest's or says nothing that can be read.
func readResult(ctx context.Context, s Store, k Key, m *result.Manifest) (*result.Document, error) {
	want, ok := m.Find(result.FileResult)
	if !ok || want.Size > maxResult {
		return nil, nil
	}
	text, err := readAll(ctx, s, k.String()+"/"+result.FileResult, want.Size)
	var big *tooLargeError
	switch {
	case errors.Is(err, ErrNotFound) || errors.As(err, &big):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want.SHA256 {
		return nil, nil
	}
	d, err := result.Decode(text)
	if err != nil {
		d = nil // the run's fault, not the store's
	}
	return d, nil
}
