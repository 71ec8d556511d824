package docker

import (
	"bytes"
	"io"

	"github.com/moby/moby/api/pkg/stdcopy"
)

// copyLogs writes the engine's output until there is no more. A connection to the
// daemon that breaks ends it too; that the engine goes on is for watch to notice.
func (e *engine) copyLogs(logs io.Writer) {
	defer close(e.logged)
	masked := e.secrets.Redact(logs)
	w := &draining{w: masked}
	out, diag := &lines{w: w}, &lines{w: w}
	_, _ = stdcopy.StdCopy(out, diag, e.output.Reader)
	out.flush()
	diag.flush()
	_ = masked.Flush()
}

// draining goes on reading when the log can't be written any more: an engine whose
// output nobody takes would stand still.
type draining struct {
	w      io.Writer
	failed bool
}

func (d *draining) Write(p []byte) (int, error) {
	if !d.failed {
		_, err := d.w.Write(p)
		d.failed = err != nil
	}
	return len(p), nil
}

// maxLine bounds what is kept of a line without an end, in bytes.
const maxLine = 64 << 10

// lines passes on whole lines: the daemon cuts the two streams anywhere, and a line
// of one must not break into a line of the other.
type lines struct {
	w    io.Writer
	part []byte // the begin of a line
}

func (l *lines) Write(p []byte) (int, error) {
	end := bytes.LastIndexAny(p, "\n\r") + 1 // a progress bar ends its lines with \r
	if end == 0 && len(l.part)+len(p) >= maxLine {
		end = len(p)
	}
	if end > 0 {
		_, _ = l.w.Write(append(l.part, p[:end]...))
		l.part = l.part[:0]
	}
	l.part = append(l.part, p[end:]...)
	return len(p), nil
}

// flush passes on a last line without an end.
func (l *lines) flush() {
	if len(l.part) > 0 {
		_, _ = l.w.Write(l.part)
	}
	l.part = nil
}
