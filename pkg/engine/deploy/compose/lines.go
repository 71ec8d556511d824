package compose

import (
	"bytes"
	"io"
	"sync"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// lines gathers the output of several containers, whole lines at a time, each with
// the name of where it comes from, as docker compose writes it.
type lines struct {
	mu   sync.Mutex
	to   io.Writer
	hide deploy.Secrets
}

// longest is after how many bytes a line without an end is written anyway.
const longest = 64 << 10

// from is a writer for one source; its Close writes what has no line end.
func (l *lines) from(source string) io.WriteCloser { return &linesFrom{all: l, prefix: source + " | "} }

type linesFrom struct {
	all     *lines
	prefix  string
	pending []byte
}

func (f *linesFrom) Write(p []byte) (int, error) {
	f.pending = append(f.pending, p...)
	for {
		end := bytes.IndexByte(f.pending, '\n') + 1
		if end == 0 && len(f.pending) >= longest {
			end = longest
		}
		if end == 0 {
			return len(p), nil
		}
		if err := f.write(f.pending[:end]); err != nil {
			return 0, err
		}
		f.pending = append(f.pending[:0], f.pending[end:]...)
	}
}

func (f *linesFrom) write(line []byte) error {
	text := f.all.hide.Mask(f.prefix + string(bytes.TrimRight(line, "\r\n")) + "\n")
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	_, err := io.WriteString(f.all.to, text)
	return err
}

// Close ends the last line.
func (f *linesFrom) Close() error {
	if len(f.pending) == 0 {
		return nil
	}
	line := f.pending
	f.pending = nil
	return f.write(line)
}
