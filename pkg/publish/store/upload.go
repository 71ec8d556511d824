package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// UploadOptions are those of one upload. The zero value works.
type UploadOptions struct {
	Parallel int           // files at once; 4 when 0
	Progress io.Writer     // lines of what is going on; none when nil
	Every    time.Duration // between two of them; 10 seconds when 0
}

// Uploaded says what became of an upload.
type Uploaded struct {
	Key   Key
	Where string // the run's reference, as s3://bucket/prefix/v1/…

	Files, Sent      int // of the run with its manifest, and sent this time
	Bytes, SentBytes int64
	Already          bool     // the whole run was there; nothing was sent
	Notes            []string // sentences for who reads the log
}

// ConflictError says that something else lies under the key of a run. Nothing was
// changed there. It is ErrExists.
type ConflictError struct {
	Where string // the run's reference
	Name  string // the file that differs
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: another run is there already, or a part of one: %s differs from ours; nothing was overwritten; publish with another attempt or cell", e.Where, e.Name)
}

func (e *ConflictError) Unwrap() error { return ErrExists }

const (
	defaultParallel = 4
	verifiedUpTo    = 1 << 20 // bytes of a file that is hashed before anything is sent
)

// Upload puts the folder of a finished run into the store, every file under the key
// and the manifest last: before that nobody sees the run. The folder is held against
// its manifest first. What is there already with an equal hash is not sent again, so
// that an upload that was cut off goes on where it ended, and one that was complete
// changes nothing. What is there and differs is a ConflictError.
func Upload(ctx context.Context, s Store, dir string, key Key, o UploadOptions) (Uploaded, error) {
	u := &upload{store: s, dir: dir, base: key.String(), parallel: o.Parallel, done: Uploaded{Key: key, Where: s.String() + "/" + key.String()}}
	if u.parallel <= 0 {
		u.parallel = defaultParallel
	}
	if err := key.Validate(); err != nil {
		return u.done, err
	}
	m, text, err := verify(dir)
	if err != nil {
		return u.done, err
	}
	u.manifest, u.text = m, text
	u.done.Files, u.done.Bytes = len(m.Files)+1, int64(len(text))
	for _, f := range m.Files {
		u.done.Bytes += f.Size
	}
	u.lines = newLines(o.Progress, o.Every, u.done.Bytes, u.done.Files)
	defer u.lines.stop()
	err = u.run(ctx)
	if n, ok := s.(interface{ notes() []string }); ok {
		u.done.Notes = append(u.done.Notes, n.notes()...)
	}
	u.done.Sent, u.done.SentBytes = u.lines.sent()
	return u.done, err
}

// verify holds the folder against its manifest, but for the bytes of large files: they
// are held against it while they are sent, before anybody sees the run.
func verify(dir string) (*result.Manifest, []byte, error) {
	m, text, err := result.ReadManifest(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && compare.HoldsRun(dir):
		return nil, nil, &compare.FolderError{Dir: dir, Why: compare.Unfinished}
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, &compare.FolderError{Dir: dir, Why: compare.NoRun}
	case err != nil:
		return nil, nil, &compare.FolderError{Dir: dir, Why: compare.NotWhole, Err: err}
	}
	large := map[string]int64{}
	for _, f := range m.Files {
		if f.Size > verifiedUpTo {
			large[f.Path] = f.Size
		}
	}
	if _, err := result.VerifyBut(dir, func(name string) bool {
		size, ok := large[name]
		if !ok {
			return false
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil && info.Mode().IsRegular() && info.Size() == size
	}); err != nil {
		return nil, nil, &compare.FolderError{Dir: dir, Why: compare.NotWhole, Err: err}
	}
	if _, err := result.Read(dir); err != nil {
		return nil, nil, &compare.FolderError{Dir: dir, Why: compare.NotWhole, Err: err}
	}
	return m, text, nil
}

// upload is one that goes on.
type upload struct {
	store    Store
	dir      string
	base     string // the key as a path
	parallel int
	manifest *result.Manifest
	text     []byte // of the manifest
	there    map[string]int64
	lines    *lines
	done     Uploaded
}

func (u *upload) name(file string) string { return u.base + "/" + file }

func (u *upload) conflict(file string) error { return &ConflictError{u.done.Where, file} }

func (u *upload) run(ctx context.Context) error {
	if err := u.look(ctx); err != nil {
		return err
	}
	if _, finished := u.there[u.name(result.FileManifest)]; finished {
		return u.alreadyThere(ctx)
	}
	if t, ok := u.store.(tidier); ok {
		n, err := t.tidy(ctx, u.base)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // a key that may only write is enough for the rest
			u.done.Notes = append(u.done.Notes, "Parts that an upload left behind could not be looked for: "+err.Error()+".")
		case n > 0:
			u.done.Notes = append(u.done.Notes, fmt.Sprintf("An upload that was cut off had left %d unfinished parts or files; they were removed.", n))
		}
	}
	if err := u.files(ctx); err != nil {
		u.giveUp(ctx)
		return err
	}
	if err := u.allThere(ctx); err != nil {
		return err
	}
	return u.last(ctx)
}

// giveUp leaves nothing of ours behind that is no object.
func (u *upload) giveUp(ctx context.Context) {
	s, ok := u.store.(quitter)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	if err := s.quit(ctx); err != nil {
		u.done.Notes = append(u.done.Notes, "Unfinished parts may be left: "+err.Error()+".")
	}
}

// look lists what is there under the key.
func (u *upload) look(ctx context.Context) error {
	u.there = map[string]int64{}
	for o, err := range u.store.List(ctx, u.base, true) {
		if err != nil {
			return err
		}
		u.there[o.Name] = o.Size
	}
	return nil
}

// alreadyThere makes sure that the finished run there is ours.
func (u *upload) alreadyThere(ctx context.Context) error {
	if err := u.sameManifest(ctx); err != nil {
		return err
	}
	if err := u.allThere(ctx); err != nil {
		return err
	}
	u.done.Already = true
	return nil
}

func (u *upload) sameManifest(ctx context.Context) error {
	text, err := readAll(ctx, u.store, u.name(result.FileManifest), maxManifest)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, u.text) {
		return u.conflict(result.FileManifest)
	}
	return nil
}

// allThere holds a fresh listing against the manifest.
func (u *upload) allThere(ctx context.Context) error {
	if err := u.look(ctx); err != nil {
		return err
	}
	for _, f := range u.manifest.Files {
		if size, ok := u.there[u.name(f.Path)]; !ok || size != f.Size {
			return fmt.Errorf("%s: the store took %s and does not show it in its size; upload again", u.done.Where, f.Path)
		}
	}
	return nil
}

// files sends what is missing. The smallest goes first and alone: keys that are not
// accepted and what the store does not know show before gigabytes are on their way.
// Then the largest, so that none is left alone at the end.
func (u *upload) files(ctx context.Context) error {
	files := slices.Clone(u.manifest.Files)
	slices.SortStableFunc(files, func(a, b result.Entry) int { return int(min(1, max(-1, b.Size-a.Size))) })
	if len(files) == 0 {
		return nil
	}
	if err := u.file(ctx, files[len(files)-1]); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(u.parallel)
	for _, f := range files[:len(files)-1] {
		group.Go(func() error { return u.file(ctx, f) })
	}
	return group.Wait()
}

func (u *upload) file(ctx context.Context, f result.Entry) error {
	if size, ok := u.there[u.name(f.Path)]; ok {
		if size != f.Size {
			return u.conflict(f.Path)
		}
		return u.equal(ctx, f)
	}
	root, err := os.OpenRoot(u.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	file, err := root.Open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	err = u.store.Put(ctx, u.name(f.Path), Source{u.lines.count(file), f.Size, f.SHA256, f.CRC32C})
	switch {
	case errors.Is(err, ErrExists): // another uploader, or a request of ours whose answer was lost
		return u.equal(ctx, f)
	case err != nil:
		return err
	}
	u.lines.fileSent(f.Size)
	return nil
}

// equal holds an object that is there against the file.
func (u *upload) equal(ctx context.Context, f result.Entry) error {
	there, err := u.store.Head(ctx, u.name(f.Path))
	if err != nil {
		return err
	}
	sum := there.SHA256
	if sum == "" && there.Size == f.Size { // the store keeps no metadata
		if sum, err = u.hash(ctx, f); err != nil {
			return err
		}
	}
	if there.Size != f.Size || sum != f.SHA256 {
		return u.conflict(f.Path)
	}
	u.lines.fileThere(f.Size)
	return nil
}

func (u *upload) hash(ctx context.Context, f result.Entry) (string, error) {
	r, err := u.store.Get(ctx, u.name(f.Path))
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(withContext(ctx, r), f.Size+1)); err != nil {
		return "", fmt.Errorf("%s in %s: %w", u.name(f.Path), u.store, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// last writes the manifest. Who comes second finds it there.
func (u *upload) last(ctx context.Context) error {
	err := u.store.Put(ctx, u.name(result.FileManifest), sourceOf(u.text))
	switch {
	case errors.Is(err, ErrExists):
		return u.sameManifest(ctx)
	case err != nil:
		return err
	}
	u.lines.fileSent(int64(len(u.text)))
	return nil
}
