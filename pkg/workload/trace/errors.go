package trace

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNotTrace is wrapped by the error for a JSON value that is no trace at all:
// it has no list "requests". A folder reader skips such a file.
var ErrNotTrace = errors.New("not a trace: no list \"requests\"")

// Error says what is wrong with a trace and where.
type Error struct {
	File   string
	Trace  string // id, when it was known
	Where  string // requests[12].requests[3].hash_ids
	Reason string
	Remedy string
	Err    error // cause, may be nil
}

func (e *Error) Error() string {
	var parts []string
	if e.File != "" {
		parts = append(parts, e.File)
	}
	for _, p := range []string{e.Trace, e.Where} {
		// A file is mostly named by its trace's id; once is enough.
		if p != "" && strings.TrimSuffix(filepath.Base(e.File), ".json") != p {
			parts = append(parts, shown(p))
		}
	}
	s := strings.Join(append(parts, e.Reason), ": ")
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// shown makes what a file brought along fit for a terminal.
func shown(s string) string {
	if printable(s) {
		return cut(s)
	}
	return cut(strconv.Quote(s))
}

func (e *Error) Unwrap() error { return e.Err }

// place is a position inside the entry list, for messages.
type place struct{ entry, inner int }

// field is the place of a field, or with an empty name the place itself.
func (p place) field(name string) string {
	at := ""
	if p.entry >= 0 {
		at = fmt.Sprintf("requests[%d]", p.entry)
	}
	if p.inner >= 0 {
		at += fmt.Sprintf(".requests[%d]", p.inner)
	}
	if at != "" && name != "" {
		at += "."
	}
	return at + name
}

var top = place{-1, -1}
