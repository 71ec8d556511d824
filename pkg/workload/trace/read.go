package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxValueBytes bounds any single JSON value that is read whole: one list of
// block ids, one string. A million-token prompt needs about 100 KB.
const MaxValueBytes = 32 << 20

// MaxRequests bounds the requests of one trace, markers included.
const MaxRequests = 1 << 20

// maxMembers bounds the members of one object, whose names the decoder keeps.
const maxMembers = 1 << 12

// Reader reads the traces of one stream, one object after the other: a JSON
// file holds one, a JSON-lines file many.
type Reader struct {
	File  string // for messages
	Basis Basis  // of inner subagent times; "" is BasisAuto

	dec    *jsontext.Decoder
	lost   bool  // the stream cannot be read on
	limit  int64 // MaxValueBytes, but in tests
	names  map[string]string
	lists  map[string][]string
	idBufs [2][]int32
	flip   int
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader, file string) *Reader {
	d := &Reader{File: file, limit: MaxValueBytes, names: map[string]string{}, lists: map[string][]string{}}
	d.dec = jsontext.NewDecoder(&guard{r: r, reader: d})
	return d
}

// ReadFile reads a file that holds exactly one trace.
func ReadFile(path string, basis Basis) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := NewReader(f, path)
	r.Basis = basis
	t, err := r.Next()
	if err == io.EOF {
		return nil, &Error{File: path, Reason: "the file is empty"}
	}
	if err != nil {
		return nil, err
	}
	if _, err := r.Next(); err != io.EOF {
		return nil, &Error{File: path, Reason: "something follows the trace", Err: err,
			Remedy: "a file with several traces is read as a corpus"}
	}
	return t, nil
}

// Next reads one trace. It returns io.EOF at the end, an error that wraps
// ErrNotTrace for a value that is none, and an *Error for a bad trace. After an
// error the next call goes on behind the bad value, or returns io.EOF where the
// stream cannot be read on.
func (d *Reader) Next() (*Trace, error) {
	if d.lost {
		return nil, io.EOF
	}
	start := d.dec.InputOffset()
	t, err := d.next()
	if err != nil && (d.drain(0) != nil || d.dec.InputOffset() == start) {
		d.lost = true
	}
	return t, err
}

func (d *Reader) next() (*Trace, error) {
	switch d.dec.PeekKind() {
	case '{':
	case 0:
		_, err := d.dec.ReadToken()
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, d.fail(nil, top, "", err)
	default:
		if err := d.skip(); err != nil {
			return nil, d.fail(nil, top, "", err)
		}
		return nil, &Error{File: d.File, Reason: "the value is no object", Err: ErrNotTrace}
	}
	t := &Trace{File: d.File, Blocks: &Blocks{}}
	p := &parse{Reader: d, t: t, builder: NewBuilder(t.Blocks), block: -1}
	if err := p.trace(); err != nil {
		return nil, err
	}
	return t, nil
}

// skip reads over the next value. Its size is bounded too, because the decoder
// keeps the member names of every object it is in.
func (d *Reader) skip() error {
	depth := d.dec.StackDepth()
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	return d.drain(depth)
}

// drain reads on until no more than depth objects and lists are open.
func (d *Reader) drain(depth int) error {
	start := d.dec.InputOffset()
	for d.dec.StackDepth() > depth {
		if _, err := d.dec.ReadToken(); err != nil {
			return err
		}
		if d.dec.InputOffset()-start > d.limit {
			return errTooLarge
		}
	}
	return nil
}

// fail turns a decoder's error into one of ours.
func (d *Reader) fail(t *Trace, at place, field string, err error) error {
	var ours *Error
	if errors.As(err, &ours) {
		return err
	}
	e := &Error{File: d.File, Err: err}
	if t != nil {
		e.Trace = t.ID
	}
	e.Where = at.field(field)
	e.Reason = "wrong type or value"
	var syntax *jsontext.SyntacticError
	var file *fs.PathError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason = fmt.Sprintf("cut off at byte %d", d.dec.InputOffset())
		e.Remedy = "the file is incomplete: fetch it again"
	case errors.As(err, &syntax):
		e.Reason = fmt.Sprintf("no valid JSON at byte %d", syntax.ByteOffset)
	case errors.As(err, &file):
		e.Reason = "the file cannot be read"
	case errors.Is(err, errTooLarge):
		e.Reason, e.Err = fmt.Sprintf("one value is larger than %d bytes", d.limit), nil
	}
	return e
}

var errTooLarge = errors.New("value too large")

// guard stops a value that grows without end before it fills the memory: the
// decoder keeps the value it is reading, and its offset moves only behind it.
type guard struct {
	r      io.Reader
	reader *Reader
	read   int64
}

func (g *guard) Read(p []byte) (int, error) {
	if g.read-g.reader.dec.InputOffset() > g.reader.limit {
		return 0, errTooLarge
	}
	n, err := g.r.Read(p)
	g.read += int64(n)
	return n, err
}
