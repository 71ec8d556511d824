package deploy

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is kept in memory of a log.
const (
	tailLines   = 40
	longestLine = 2000 // bytes; the rest of a line is only in the file
)

// tail reads a log: it keeps its last lines and finds its fatal one.
type tail struct {
	last  []string
	line  []byte // not ended yet
	fatal fatalFinder
}

// write takes the next piece of the log. A carriage return ends a line as well:
// progress bars write nothing else.
func (t *tail) write(p []byte) {
	for _, c := range p {
		switch {
		case c == '\n' || c == '\r':
			t.end()
		case len(t.line) < longestLine:
			t.line = append(t.line, c)
		}
	}
}

func (t *tail) end() {
	line := printable(string(t.line))
	t.line = t.line[:0]
	if strings.TrimSpace(line) == "" {
		return
	}
	t.fatal.read(line)
	if len(t.last) == tailLines {
		t.last = append(t.last[:0], t.last[1:]...)
	}
	t.last = append(t.last, line)
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// printable is a line without what would move a terminal's cursor.
func printable(line string) string {
	if utf8.ValidString(line) && strings.IndexFunc(line, control) < 0 {
		return line
	}
	line = escapes.ReplaceAllString(strings.ToValidUTF8(line, "�"), "")
	return strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, line)
}

func control(r rune) bool { return r != '\t' && unicode.IsControl(r) }
