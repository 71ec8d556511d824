package github

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
)

// MaxBody is how long GitHub takes a comment, in characters. Counted here are UTF-16
// units, which are never fewer than GitHub counts.
const MaxBody = 65536

// length of a text as GitHub's limit counts it, or more.
func length(text string) int {
	n := 0
	for _, r := range text {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

const markerStart, markerEnd = "<!-- agentx:v1 ", " -->"

// maxMarker bounds the marker that is looked for in foreign text, in bytes.
const maxMarker = 4096

// marker is the first line of a comment, unseen: whose it is, and what it said.
type marker struct {
	workflow, cell string
	standing       Standing
	run            run   // that measured; zero where it isn't known, as in comments of before it was kept
	superseded     int64 // the comment that took its place
}

// run is a workflow run by its id, which GitHub counts upwards, and by its attempt.
type run struct{ id, attempt int64 }

// before tells whether a run is known to have begun before another.
func (r run) before(other run) bool {
	return r.id > 0 && (r.id < other.id || r.id == other.id && r.attempt < other.attempt)
}

func (r run) String() string {
	if r.attempt > 1 {
		return fmt.Sprintf("%d, attempt %d", r.id, r.attempt)
	}
	return strconv.FormatInt(r.id, 10)
}

// maxRun bounds a run's id and attempt in foreign text: far more than GitHub has
// counted to, and what every reader of numbers keeps exactly.
const maxRun = 1 << 53

// readRun is a number of a run; 0 for what is none.
func readRun(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxRun {
		return 0
	}
	return n
}

// maxName bounds the name of a workflow or cell within the marker, in bytes.
const maxName = 256

// encoded can stand in an HTML comment: neither blanks nor ">" nor "--" are in it.
func encoded(v string) string {
	if len(v) > maxName {
		v = v[:maxName]
	}
	return strings.ReplaceAll(url.QueryEscape(v), "-", "%2D")
}

func (m *marker) String() string {
	text := markerStart + "workflow=" + encoded(m.workflow) + " cell=" + encoded(m.cell) + " standing=" + encoded(string(m.standing))
	if m.run.id > 0 {
		text += fmt.Sprintf(" run=%d attempt=%d", m.run.id, m.run.attempt)
	}
	if m.superseded != 0 {
		text += " superseded=" + strconv.FormatInt(m.superseded, 10)
	}
	return text + markerEnd
}

// readMarker finds the marker in a comment's first line, and gives what follows it.
func readMarker(body string) (m marker, rest string, ok bool) {
	line, rest, _ := strings.Cut(body, "\n")
	fields, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), markerStart)
	if !ok || len(fields) > maxMarker {
		return m, "", false
	}
	if fields, ok = strings.CutSuffix(fields, markerEnd); !ok {
		return m, "", false
	}
	for field := range strings.FieldsSeq(fields) {
		key, value, _ := strings.Cut(field, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			return m, "", false
		}
		switch key {
		case "workflow":
			m.workflow = value
		case "cell":
			m.cell = value
		case "standing":
			m.standing = Standing(value)
		case "run":
			m.run.id = readRun(value)
		case "attempt":
			m.run.attempt = readRun(value)
		case "superseded":
			m.superseded, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return m, rest, true
}

// same tells whether two markers are of the same workflow and cell.
func (m *marker) same(other *marker) bool {
	return encoded(m.workflow) == encoded(other.workflow) && encoded(m.cell) == encoded(other.cell)
}

// equal tells whether two bodies say the same: GitHub may change line ends and blanks
// around them.
func equal(a, b string) bool {
	clean := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return clean(a) == clean(b)
}
