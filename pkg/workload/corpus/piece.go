package corpus

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const partSuffix = ".part"

// piece is what has been fetched of a file so far. One whose name holds the sum of the
// whole can be gone on with by a later process.
type piece struct {
	file   *os.File
	bytes  int64
	lasts  bool // stays when the fetching ends before its time
	before bool // has bytes that another process fetched
}

// openPiece opens the piece of a file. Only who holds the lock may share its name with
// others; only with a sum it is known what it is a part of.
func openPiece(file, sum string, locked bool) (*piece, error) {
	if !locked || sum == "" {
		f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*"+partSuffix)
		if err != nil {
			return nil, err
		}
		return &piece{file: f}, f.Chmod(0o644)
	}
	f, err := os.OpenFile(file+"."+sum+partSuffix, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	n, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &piece{file: f, bytes: n, lasts: true, before: n > 0}, nil
}

// diskError says that what came could not be kept.
type diskError struct{ error }

func (d *diskError) Unwrap() error { return d.error }

func (p *piece) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.bytes += int64(n)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		p.lasts = false // the space is needed by others
		return n, &diskError{fmt.Errorf("the disk of %s is full after %s; make room, or set AGENTX_CACHE to a folder on another disk", filepath.Dir(p.file.Name()), megabytes(p.bytes))}
	case err != nil:
		return n, &diskError{err}
	}
	return n, nil
}

// empty throws away what there is.
func (p *piece) empty() error {
	if p.bytes == 0 {
		return nil
	}
	p.bytes, p.before = 0, false
	if err := p.file.Truncate(0); err != nil {
		return &diskError{err}
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return &diskError{err}
	}
	return nil
}

// sum reads what lies on the disk.
func (p *piece) sum(ctx context.Context) (string, error) {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return "", &diskError{err}
	}
	sum, _, err := sumOf(ctx, p.file)
	return sum, err
}

// sumOf is the SHA-256 of what can be read, and its length.
func sumOf(ctx context.Context, r io.Reader) (sum string, n int64, err error) {
	h := sha256.New()
	n, err = io.Copy(h, bufio.NewReaderSize(&until{ctx, r}, 1<<20))
	if err != nil {
		return "", n, err
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// until ends reading with a context.
type until struct {
	ctx context.Context
	io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Reader.Read(p)
}

// become puts the piece in the place of the file.
func (p *piece) become(file string) error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return &diskError{err}
	}
	if err := os.Rename(p.file.Name(), file); err != nil {
		return &diskError{err}
	}
	return nil
}

// leave ends the fetching before its time.
func (p *piece) leave() {
	_ = p.file.Close()
	if !p.lasts || p.bytes == 0 {
		_ = os.Remove(p.file.Name())
	}
}

// sweepPieces removes what is left of earlier revisions of a file.
func sweepPieces(file string) {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(file)+".") && strings.HasSuffix(e.Name(), partSuffix) {
			_ = os.Remove(filepath.Join(filepath.Dir(file), e.Name()))
		}
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
