package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
)

// folder is a Store in a folder. What lies there are plain files, so that a folder
// of runs in it can be given wherever one is taken.
type folder struct{ dir string }

func openFolder(dir string) *folder { return &folder{dir} }

func (f *folder) String() string { return f.dir }

// root opens the folder; fs.ErrNotExist where nothing was put yet.
func (f *folder) root(ctx context.Context, name string) (*os.Root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	return os.OpenRoot(f.dir)
}

// Put writes under a temporary name and links that to the final one, which fails
// where there is a file already.
func (f *folder) Put(ctx context.Context, name string, from Source) error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	root, err := f.root(ctx, name)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(name); err == nil {
		return f.fault(name, ErrExists)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return f.fault(name, err)
	}
	for range triesOfFolder {
		err = f.create(ctx, root, name, from)
		if !errors.Is(err, fs.ErrNotExist) { // else another uploader tidied our temporary file away
			break
		}
	}
	if err != nil {
		return f.fault(name, err)
	}
	return nil
}

func (f *folder) create(ctx context.Context, root *os.Root, name string, from Source) error {
	temp := path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()[:8]+tempSuffix)
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close() // a second Close fails and changes nothing
		_ = root.Remove(temp)
	}()
	if _, err := io.Copy(file, from.reader(ctx)); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	err = root.Link(temp, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, fs.ErrNotExist):
		return err
	}
	// A file system without links, as some network and USB ones.
	if _, err := root.Lstat(name); err == nil {
		return ErrExists
	}
	return root.Rename(temp, name)
}

const tempSuffix = ".tmp"

// isTemp recognises what an upload writes before it is an object.
func isTemp(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, tempSuffix)
}

func (f *folder) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	file, _, err := f.open(ctx, name)
	return file, err
}

// Head reads the file for its hash: a folder has nowhere to keep one that could not
// disagree.
func (f *folder) Head(ctx context.Context, name string) (Object, error) {
	file, size, err := f.open(ctx, name)
	if err != nil {
		return Object{}, err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, withContext(ctx, file)); err != nil {
		return Object{}, f.fault(name, err)
	}
	return Object{Name: name, Size: size, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// open opens a file that is neither a folder nor anything that could block.
func (f *folder) open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	root, err := f.root(ctx, name)
	if err != nil {
		return nil, 0, f.fault(name, err)
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, 0, f.fault(name, err)
	case !info.Mode().IsRegular() || isTemp(name):
		return nil, 0, f.fault(name, ErrNotFound)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, 0, f.fault(name, err)
	}
	return file, info.Size(), nil
}

func (f *folder) List(ctx context.Context, in string, deep bool) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		err := f.walk(ctx, in, func(_ *os.Root, name string, d fs.DirEntry) error {
			switch {
			case name == in || isTemp(name) || d.IsDir() && deep:
				return nil
			case d.IsDir():
				if !yield(Object{Name: name, Folder: true}, nil) {
					return fs.SkipAll
				}
				return fs.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if !yield(Object{Name: name, Size: info.Size()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Object{}, f.fault(in, err))
		}
	}
}

func (f *folder) tidy(ctx context.Context, in string) (removed int, err error) {
	err = f.walk(ctx, in, func(root *os.Root, name string, d fs.DirEntry) error {
		if d.Type().IsRegular() && isTemp(name) && root.Remove(name) == nil {
			removed++
		}
		return nil
	})
	return removed, err
}

func (f *folder) walk(ctx context.Context, in string, visit func(root *os.Root, name string, d fs.DirEntry) error) error {
	root, err := f.root(ctx, in)
	if err == nil {
		defer root.Close()
		_, err = root.Lstat(in)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fs.WalkDir(root.FS(), in, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return visit(root, name, d)
	})
}

// fault names the file, and has one error for what is not there.
func (f *folder) fault(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	return fmt.Errorf("%s in %s: %w", name, f.dir, err)
}
