package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// sourceOf is a source of bytes in memory.
func sourceOf(text []byte) Source {
	sum := sha256.Sum256(text)
	return Source{bytes.NewReader(text), int64(len(text)), hex.EncodeToString(sum[:]), crcText(crc32.Checksum(text, castagnoli))}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crcText(sum uint32) string { return fmt.Sprintf("%08x", sum) }

// withCRC is the source with its CRC-32C. Where the manifest has none, of a version
// before it had, the source is read for it, and held against its SHA-256.
func (s Source) withCRC(ctx context.Context) (Source, error) {
	if s.CRC32C != "" {
		return s, nil
	}
	crc := crc32.New(castagnoli)
	if _, err := io.Copy(crc, s.reader(ctx)); err != nil {
		return s, err
	}
	s.CRC32C = crcText(crc.Sum32())
	return s, nil
}

// reader reads the source from its beginning, and again where it is sought back there.
// Instead of its end it gives an error where the bytes are not those of the CRC-32C, or
// of the SHA-256 where that is all that is known: a file that changed since it was
// listed does not become an object.
func (s Source) reader(ctx context.Context) io.ReadSeeker {
	c := &checked{ctx: ctx, from: io.NewSectionReader(s.Body, 0, s.Size), kind: "crc32c", want: s.CRC32C, hash: crc32.New(castagnoli)}
	if s.CRC32C == "" {
		c.kind, c.want, c.hash = "sha256", s.SHA256, sha256.New()
	}
	return c
}

// checked gives an error instead of the last bytes of what is not as it was hashed,
// so that nobody who counts them takes it for whole.
type checked struct {
	ctx        context.Context
	from       *io.SectionReader
	kind, want string
	at, hashed int64 // where it is read, and how far from the beginning it is hashed
	hash       hash.Hash
}

var errChanged = errors.New("the bytes are not those of its hash: it was changed meanwhile")

func (c *checked) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.from.Read(p)
	if c.at == c.hashed {
		_, _ = c.hash.Write(p[:n]) // never fails
		c.hashed += int64(n)
	}
	c.at += int64(n)
	switch missing := c.from.Size() - c.at; {
	case missing > 0 && err == io.EOF:
		return 0, fmt.Errorf("%w (%d bytes fewer)", errChanged, missing)
	case missing == 0 && c.at == c.hashed && (n > 0 || err == io.EOF):
		if got := hex.EncodeToString(c.hash.Sum(nil)); got != c.want {
			return 0, fmt.Errorf("%w (%s %s, want %s)", errChanged, c.kind, got, c.want)
		}
	}
	return n, err
}

// Seek lets the SDK ask for the size and send once more.
func (c *checked) Seek(offset int64, whence int) (int64, error) {
	at, err := c.from.Seek(offset, whence)
	if err != nil {
		return at, err
	}
	if c.at = at; at == 0 {
		c.hashed = 0
		c.hash.Reset()
	}
	return at, nil
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
