package openai

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Content is the JSON value that makes up most of a request: the messages of a
// chat or the prompt of a completion. It is read once, from the start, and
// never after Do has returned.
type Content interface {
	io.Reader
	// Len is the length of the whole value in bytes, known before it is read.
	Len() int64
}

// requestBody is a small head, the content and a small tail, read in one go.
// It is neither replayable nor seekable, so that net/http never sends a request
// twice on its own (decisions.md 17).
type requestBody struct {
	head, tail string
	content    Content
	left       int64 // bytes of content still to come
	empty      int   // reads of the content that brought nothing
	length     int64 // of the whole body

	begun, eof atomic.Bool
	closed     chan struct{}
	once       sync.Once
	err        atomic.Pointer[error] // why the content failed
}

func newRequestBody(head string, content Content, tail string) *requestBody {
	left := content.Len()
	return &requestBody{
		head: head, content: content, tail: tail, left: left,
		length: int64(len(head)) + left + int64(len(tail)), closed: make(chan struct{}),
	}
}

// again returns a body for another try, nil if this one was touched. net/http
// writes the header before it reads a body of a type that it doesn't know, so a
// request of which nothing was written has an untouched body.
func (b *requestBody) again() *requestBody {
	if b.begun.Load() {
		return nil
	}
	return newRequestBody(b.head, b.content, b.tail)
}

// Read fills p as far as it can: small pieces of content must not become small
// writes to the socket.
func (b *requestBody) Read(p []byte) (n int, err error) {
	b.begun.Store(true)
	for n < len(p) && err == nil && !b.exhausted() {
		var m int
		m, err = b.readPiece(p[n:])
		n += m
	}
	if err != nil {
		why := err // err itself must not escape: Read allocates nothing
		b.err.Store(&why)
		return n, err
	}
	if b.exhausted() {
		b.eof.Store(true)
		if n == 0 {
			return 0, io.EOF
		}
	}
	return n, nil
}

func (b *requestBody) exhausted() bool {
	return b.head == "" && b.left == 0 && b.tail == ""
}

func (b *requestBody) readPiece(p []byte) (n int, err error) {
	switch {
	case b.head != "":
		n = copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	case b.left > 0:
		return b.readContent(p)
	default:
		n = copy(p, b.tail)
		b.tail = b.tail[n:]
		return n, nil
	}
}

func (b *requestBody) readContent(p []byte) (n int, err error) {
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err = b.content.Read(p)
	b.left -= int64(n)
	switch {
	case err == io.EOF && b.left > 0:
		return n, fmt.Errorf("the content ended %d bytes before the length it had said", b.left)
	case err == io.EOF:
		return n, nil
	case err != nil:
		return n, fmt.Errorf("reading the content: %w", err)
	case n == 0:
		if b.empty++; b.empty > 100 {
			return 0, fmt.Errorf("reading the content: %w", io.ErrNoProgress)
		}
	case b.left == 0:
		var more [1]byte
		if extra, _ := b.content.Read(more[:]); extra > 0 {
			return n, errors.New("the content is longer than it had said")
		}
	}
	return n, nil
}

// Close tells that net/http will not read any more.
func (b *requestBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// consumed reports whether the whole body was handed over.
func (b *requestBody) consumed() bool { return b.eof.Load() }

// failed is why the content could not be read, nil if it could.
func (b *requestBody) failed() error {
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}
