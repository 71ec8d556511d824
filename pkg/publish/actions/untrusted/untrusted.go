// Package untrusted keeps text of others from commanding the Actions runner.
//
// The runner reads commands out of everything that a step prints: engine logs, error
// texts and trace names could set variables, hide output or forge annotations. In goes
// such text; out comes the same text, with lines that the runner would take for
// commands between ::stop-commands::TOKEN and ::TOKEN::, where it does not
// ("Workflow commands for GitHub Actions", stopping and starting). The token is
// random and new for each line. Nothing is refused and no byte is lost.
package untrusted

import (
	"bytes"
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"unicode"
)

// Text makes text harmless that is about to be printed as whole lines.
func Text(text string) string {
	if !strings.Contains(text, "::") && !strings.Contains(text, "##[") {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		end := strings.IndexAny(text, "\r\n") + 1
		if end == 0 {
			end = len(text)
		}
		b.WriteString(guarded(text[:end]))
		text = text[end:]
	}
	return b.String()
}

// commands tells whether the runner would take a line for a command. The runner takes
// blanks off before it looks for "::", and finds its old form, "##[", anywhere.
func commands(line string) bool {
	if strings.Contains(line, "##[") {
		return true
	}
	line = strings.TrimLeftFunc(line, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	return strings.HasPrefix(line, "::")
}

func guarded(line string) string {
	if !commands(line) {
		return line
	}
	token := rand.Text()
	text, end := line, ""
	if i := strings.LastIndexAny(line, "\r\n"); i >= 0 && i == len(line)-1 {
		text, end = line[:i], line[i:]
	}
	return "::stop-commands::" + token + "\n" + text + "\n::" + token + "::" + end
}

// maxLine is how much of a line is kept back to judge it. The runner reads longer lines
// whole, so what goes on after it is part of a line already known to be harmless.
const maxLine = 64 << 10

// Writer passes on what is written to it with commands made harmless. It holds a line
// back until it ends, or is so long that nothing more can make it a command; Close
// passes on the rest. Safe for concurrent use.
func Writer(w io.Writer) io.WriteCloser { return &writer{w: w} }

type writer struct {
	w    io.Writer
	mu   sync.Mutex
	line []byte
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := 0
	for done < len(p) {
		end := bytes.IndexAny(p[done:], "\r\n") + 1
		if end == 0 {
			end = len(p) - done
		}
		piece := p[done : done+end]
		w.line = append(w.line, piece...)
		done += end
		last := piece[len(piece)-1]
		if last == '\n' || last == '\r' || len(w.line) > maxLine {
			if err := w.pass(last == '\n' || last == '\r'); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// pass writes the line out. One that has not ended is ended: its next part would
// otherwise begin in the middle of what was judged.
func (w *writer) pass(ended bool) error {
	text := guarded(string(w.line))
	if !ended {
		text += "\n"
	}
	w.line = w.line[:0]
	_, err := io.WriteString(w.w, text)
	return err
}

func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) == 0 {
		return nil
	}
	text := guarded(string(w.line))
	w.line = w.line[:0]
	_, err := io.WriteString(w.w, text)
	return err
}
