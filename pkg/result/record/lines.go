package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxLine bounds one line of a file of records, in bytes, without its line
// feed. A stream of 1,000,000 chunks stays below it.
const MaxLine = 32 << 20

// ErrCut marks a last line that ends in the middle of a value, as a crash or a
// full disk leaves it. Every value before it was read.
var ErrCut = errors.New("last line is cut off; everything before it was read")

// LineError names the line of a file that could not be read.
type LineError struct {
	File string
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Writer writes one value a line. It buffers; call Flush at the end and
// whenever the lines so far must survive a crash. It is for one goroutine.
type Writer[T any] struct {
	out  *bufio.Writer
	line bytes.Buffer
	n    int
	err  error
}

// NewWriter writes lines to w.
func NewWriter[T any](w io.Writer) *Writer[T] {
	return &Writer[T]{out: bufio.NewWriterSize(w, 256<<10)}
}

// Write appends v as one line. Bytes that are no UTF-8, as an engine's error
// may hold them, become U+FFFD. A value that JSON can't hold (NaN, infinity) or
// that is longer than MaxLine is refused whole; nothing of it is written and the
// writer stays usable. An error of the underlying writer sticks.
func (w *Writer[T]) Write(v *T) error {
	if w.err != nil {
		return w.err
	}
	w.line.Reset()
	if err := json.MarshalWrite(&w.line, v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("value %d: %w", w.n+1, err)
	}
	if w.line.Len() > MaxLine {
		return fmt.Errorf("value %d: %d bytes are more than a line may have (%d)", w.n+1, w.line.Len(), MaxLine)
	}
	w.line.WriteByte('\n')
	if _, w.err = w.out.Write(w.line.Bytes()); w.err != nil {
		return w.err
	}
	w.n++
	return nil
}

// Count is the number of values written.
func (w *Writer[T]) Count() int { return w.n }

// Flush hands everything written so far to the underlying writer.
func (w *Writer[T]) Flush() error {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

// Read yields the values of r, one a line, in order. The first error is
// yielded as a *LineError and ends the sequence; it wraps ErrCut when only the
// last line is incomplete. name is the file's name in errors. Memory is bounded
// by MaxLine and one value.
func Read[T any](r io.Reader, name string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		in := bufio.NewReaderSize(r, 256<<10)
		var buf []byte
		for n := 1; ; n++ {
			line, whole, err := readLine(in, buf[:0])
			buf = line
			if err == io.EOF && len(line) == 0 {
				return
			}
			if err != nil && err != io.EOF {
				yield(nil, &LineError{name, n, err})
				return
			}
			v := new(T)
			if err := json.Unmarshal(line, v); err != nil {
				if !whole {
					err = fmt.Errorf("%w (%w)", ErrCut, err)
				}
				yield(nil, &LineError{name, n, err})
				return
			}
			if !yield(v, nil) || !whole {
				return
			}
		}
	}
}

// readLine appends the next line to buf without its line feed. whole is false
// when the input ended before a line feed.
func readLine(in *bufio.Reader, buf []byte) (line []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		if len(buf)+len(part) > MaxLine {
			return buf, false, fmt.Errorf("line is longer than %d bytes", MaxLine)
		}
		buf = append(buf, part...)
		if err == nil {
			return buf, true, nil
		}
		if err != bufio.ErrBufferFull {
			return buf, false, err
		}
	}
}
