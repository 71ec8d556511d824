package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/org/agentx-action/pkg/result"
)

// Bounds of a run that is fetched.
const (
	defaultMaxBytes = 16 << 30
	fetchAttempts   = 3 // of a file whose reading breaks off
)

// FetchOptions are those of Fetch. The zero value works.
type FetchOptions struct {
	Parallel int   // files at once; 4 when 0
	MaxBytes int64 // of the whole run; 16 GiB when 0
}

// Fetch downloads a finished run into a folder that is not there yet, or that holds
// this very run already. Only the files of the run's manifest are asked for, each in
// its size, and held against its hash; the folder appears when all are there. Names
// that lead out of it, a run that is too large and bytes that are not those of the
// manifest are refused: a store is not believed.
func Fetch(ctx context.Context, s Store, k Key, dir string, o FetchOptions) error {
	where := s.String() + "/" + k.String()
	m, text, err := readManifest(ctx, s, k)
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("%s: there is no finished run (no %s, which is written last): %w", where, result.FileManifest, ErrNotFound)
	case err != nil:
		return err
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	left := o.MaxBytes
	for _, f := range m.Files {
		if left -= f.Size; left < 0 {
			return foreign(where, fmt.Errorf("the run is larger than %d bytes", o.MaxBytes))
		}
	}
	if there, err := holds(dir, text); there || err != nil {
		return err
	}
	return download(ctx, s, k, m, text, dir, o.Parallel)
}

// holds reports whether the folder has the run of that manifest, whole. A folder
// that has anything else is an error.
func holds(dir string, text []byte) (bool, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	_, there, err := result.ReadManifest(dir)
	if err == nil {
		err = result.Verify(dir)
	}
	if err != nil || !bytes.Equal(there, text) {
		return false, fmt.Errorf("%s holds something else than the run to be fetched: remove it", dir)
	}
	return true, nil
}

func download(ctx context.Context, s Store, k Key, m *result.Manifest, text []byte, dir string, parallel int) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)[:min(len(filepath.Base(dir)), 100)]+".*"+tempSuffix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // it has moved, or holds nothing of worth
	root, err := os.OpenRoot(temp)
	if err != nil {
		return err
	}
	defer root.Close()
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, f := range m.Files {
		group.Go(func() error { return fetchFile(inner, s, k, root, f) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := root.WriteFile(result.FileManifest, text, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		if there, _ := holds(dir, text); there { // somebody else was faster
			return nil
		}
		return err
	}
	return nil
}

// fetchFile tries a few times: a body that breaks off is not repeated by the SDK.
func fetchFile(ctx context.Context, s Store, k Key, root *os.Root, f result.Entry) (err error) {
	if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	for range fetchAttempts {
		var final bool
		if final, err = tryFetch(ctx, s, k, root, f); err == nil || final || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// tryFetch reports as final what another attempt would not mend.
func tryFetch(ctx context.Context, s Store, k Key, root *os.Root, f result.Entry) (final bool, err error) {
	from, err := s.Get(ctx, k.String()+"/"+f.Path)
	if err != nil {
		return true, err
	}
	defer from.Close()
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return true, err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	h, crc := sha256.New(), crc32.New(castagnoli)
	n, err := io.Copy(io.MultiWriter(file, h, crc), io.LimitReader(withContext(ctx, from), f.Size+1))
	if err != nil {
		return false, err
	}
	if got := hex.EncodeToString(h.Sum(nil)); n != f.Size || got != f.SHA256 {
		return true, foreign(fmt.Sprintf("%s/%s/%s", s, k, f.Path), fmt.Errorf("not the file of the manifest (%d bytes, sha256 %s; want %d, %s)", n, got, f.Size, f.SHA256))
	}
	if got := crcText(crc.Sum32()); f.CRC32C != "" && got != f.CRC32C {
		return true, foreign(fmt.Sprintf("%s/%s/%s", s, k, f.Path), fmt.Errorf("the manifest contradicts itself: the bytes have its sha256, and crc32c %s instead of %s", got, f.CRC32C))
	}
	return false, nil
}
