package result

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Bounds of a compressed file of JSON lines, in bytes: maxLines of text makes
// some 100 MB; maxWindow is what a reader keeps of it, whatever the file asks for.
const (
	maxLines  = 2 << 30
	maxWindow = 8 << 20
)

// ErrLinesFull says that a compressed file of lines has all that it may hold.
var ErrLinesFull = fmt.Errorf("the file is full (%d MiB of text); the rest was left out", maxLines>>20)

// LineWriter compresses JSON lines (zstd). Call Flush whenever the lines so far
// must survive a crash, and Close at the end. It is for one goroutine.
type LineWriter struct {
	encoder *zstd.Encoder
	written int64
}

// NewLineWriter compresses into w.
func NewLineWriter(w io.Writer) (*LineWriter, error) {
	e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	return &LineWriter{encoder: e}, nil
}

// Write takes one whole line. A line that does not fit any more is refused with
// [ErrLinesFull].
func (l *LineWriter) Write(line []byte) (int, error) {
	if l.written+int64(len(line)) > maxLines {
		return 0, ErrLinesFull
	}
	n, err := l.encoder.Write(line)
	l.written += int64(n)
	return n, err
}

// Flush hands everything written so far to the underlying writer.
func (l *LineWriter) Flush() error { return l.encoder.Flush() }

// Close ends the file; the underlying writer stays open.
func (l *LineWriter) Close() error { return l.encoder.Close() }

// OpenSeries opens the engines' metrics of a run's folder: lines of JSON for
// [record.Read], compressed or, from an earlier release, plain. An error wraps
// fs.ErrNotExist when the run has none. A file that a crash cut off reads as far
// as it goes, and ends as any file with a last line cut off.
func OpenSeries(dir string) (io.ReadCloser, error) {
	lines, err := openLines(dir, FileSeries)
	if errors.Is(err, fs.ErrNotExist) {
		return openLines(dir, FileSeriesOld)
	}
	return lines, err
}

// OpenTelemetry opens the GPUs' samples of a run's folder, as [OpenSeries] does.
func OpenTelemetry(dir string) (io.ReadCloser, error) { return openLines(dir, FileTelemetry) }

func openLines(dir, name string) (io.ReadCloser, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := OpenPlain(root, name)
	if err != nil || name == FileSeriesOld {
		return f, err
	}
	d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return &lineReader{decoder: d, file: f, name: name}, nil
}

// lineReader reads a compressed file, at most maxLines of its text.
type lineReader struct {
	decoder *zstd.Decoder
	file    *os.File
	name    string
	read    int64
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.decoder.Read(p)
	l.read += int64(n)
	switch {
	case l.read > maxLines:
		return n, fmt.Errorf("%s: more than %d MiB of text", l.name, maxLines>>20)
	case errors.Is(err, io.ErrUnexpectedEOF): // cut off
		return n, io.EOF
	case err != nil && err != io.EOF:
		return n, fmt.Errorf("%s: %w", l.name, err)
	}
	return n, err
}

func (l *lineReader) Close() error {
	l.decoder.Close()
	return l.file.Close()
}
