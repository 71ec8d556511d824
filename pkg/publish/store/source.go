package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// sourceOf is a source of bytes in memory.
func sourceOf(text []byte) Source {
	sum := sha256.Sum256(text)
	return Source{bytes.NewReader(text), int64(len(text)), hex.EncodeToString(sum[:])}
}

// reader reads the source once from its beginning. Instead of its end it gives an
// error where the bytes are not those of the hash: a file that changed since it was
// verified does not become an object.
func (s Source) reader(ctx context.Context) io.Reader {
	return &checked{from: withContext(ctx, io.NewSectionReader(s.Body, 0, s.Size)), want: s.SHA256, left: s.Size, hash: sha256.New()}
}

// checked gives an error instead of the last bytes of what is not as it was hashed,
// so that nobody who counts them takes it for whole.
type checked struct {
	from io.Reader
	want string
	left int64
	hash hash.Hash
}

var errChanged = errors.New("the bytes are not those of its hash: it was changed meanwhile")

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.hash.Write(p[:n])
	c.left -= int64(n)
	switch {
	case c.left < 0, c.left > 0 && err == io.EOF:
		return 0, fmt.Errorf("%w (%d bytes more or fewer)", errChanged, max(c.left, -c.left))
	case c.left == 0 && (n > 0 || err == io.EOF):
		if got := hex.EncodeToString(c.hash.Sum(nil)); got != c.want {
			return 0, fmt.Errorf("%w (sha256 %s, want %s)", errChanged, got, c.want)
		}
	}
	return n, err
}

// withContext ends a reader with its context.
func withContext(ctx context.Context, r io.Reader) io.Reader { return &cancellable{ctx, r} }

type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// readAll reads an object of bounded size whole.
func readAll(ctx context.Context, s Store, name string, most int64) ([]byte, error) {
	r, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(withContext(ctx, r), most+1))
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, s, err)
	}
	if int64(len(text)) > most {
		return nil, &tooLargeError{name, s.String(), most}
	}
	return text, nil
}

// tooLargeError says that an object is larger than it may be.
type tooLargeError struct {
	name, store string
	most        int64
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("%s in %s: larger than %d bytes", e.name, e.store, e.most)
}
