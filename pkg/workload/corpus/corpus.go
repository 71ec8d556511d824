package corpus

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// Options say how a corpus is read and which of its traces are kept. The zero
// Options keep all.
type Options struct {
	Basis trace.Basis // of inner subagent times; "" decides for each marker

	// MaxContextTokens drops every trace with a request whose prompt and answer
	// together are longer. 0 sets no limit.
	MaxContextTokens int

	// MaxOutputTokens is the cap on a main request's answer in that sum, for runs
	// that cap it. 0 sets none.
	MaxOutputTokens int

	// Entries keeps the first so many traces of those that the other filters
	// left. 0 keeps all.
	Entries int
}

// Corpus is a set of traces in replay order: files as given, a folder's by
// name, traces as they stand in a file.
type Corpus struct {
	Name   string // what was opened, for messages
	Traces []*trace.Trace
	Files  []File // those that hold traces

	// Digest is the SHA-256, in hexadecimal, of the list of the files' own sums:
	// each as 64 hexadecimal digits and a newline, in order. In a shell:
	// sha256sum FILES | cut -c1-64 | sha256sum. Names don't enter, filters don't either.
	Digest string

	// Revision of the public set at its source, by its commit; empty where it isn't
	// known, as of a file that was put there by hand.
	Revision string

	Selection Selection
	Notes     []string // what was passed over
}

// File is one file of a corpus.
type File struct {
	Path   string
	SHA256 string
	Bytes  int64
	Traces int // before the filters
}

// Bytes is the size of all files together.
func (c *Corpus) Bytes() int64 {
	var n int64
	for _, f := range c.Files {
		n += f.Bytes
	}
	return n
}

// Open reads traces from files and folders. Of a folder it takes the files
// *.json and *.jsonl that lie directly in it.
func Open(paths []string, o Options) (*Corpus, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	sources, err := find(paths)
	if err != nil {
		return nil, err
	}
	return load(strings.Join(paths, ", "), sources, o)
}

func (o Options) check() error {
	switch o.Basis {
	case "", trace.BasisAuto, trace.BasisAbsolute, trace.BasisRelative:
	default:
		return fmt.Errorf("unknown time basis %q; known are %q, %q and %q", o.Basis, trace.BasisAuto, trace.BasisAbsolute, trace.BasisRelative)
	}
	for name, n := range map[string]int{"the context limit": o.MaxContextTokens, "the output limit": o.MaxOutputTokens, "the number of entries": o.Entries} {
		if n < 0 {
			return fmt.Errorf("%s is %d; it must be positive, or 0 for none", name, n)
		}
	}
	return nil
}

// load reads the sources, judges the set as a whole and applies the filters.
func load(name string, sources []*source, o Options) (*Corpus, error) {
	readAll(sources, o.Basis)

	c := &Corpus{Name: name}
	bad := &BadError{}
	sums := sha256.New()
	for _, s := range sources {
		traces := c.take(s, bad)
		if traces == 0 {
			continue
		}
		f := File{Path: s.path, SHA256: hex.EncodeToString(s.sum), Bytes: s.size, Traces: traces}
		c.Files = append(c.Files, f)
		fmt.Fprintln(sums, f.SHA256)
	}
	c.Digest = hex.EncodeToString(sums.Sum(nil))
	rejectTwins(c.Traces, bad)
	if bad.Count > 0 {
		return nil, bad
	}
	if len(c.Traces) == 0 {
		return nil, nothingIn(name, c.Notes)
	}
	var err error
	c.Traces, c.Selection, err = o.selectFrom(c.Traces)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// take adds what a source gave and returns its number of traces.
func (c *Corpus) take(s *source, bad *BadError) int {
	before := len(c.Traces)
	skipped, first := 0, ""
	for _, p := range s.parts {
		c.Traces = append(c.Traces, p.traces...)
		for _, err := range p.bad {
			bad.add(err)
		}
		bad.Count += p.more
		if p.skipped > 0 {
			first = cmp.Or(first, p.name)
			skipped += p.skipped
		}
	}
	if s.err != nil {
		bad.add(s.err)
	}
	switch {
	case skipped == 0:
	case len(c.Traces) == before && skipped == 1:
		c.Notes = append(c.Notes, s.path+` is passed over: it has no list "requests"`)
	default:
		c.Notes = append(c.Notes, fmt.Sprintf(`%s: %d values without a list "requests" are passed over, the first in %s`, s.path, skipped, first))
	}
	return len(c.Traces) - before
}

// rejectTwins reports traces that share an id. Equal content under two ids is
// legal (spec/traces.md §8).
func rejectTwins(traces []*trace.Trace, bad *BadError) {
	places := make(map[string]string, len(traces))
	for _, t := range traces {
		first, taken := places[t.ID]
		if !taken {
			places[t.ID] = t.File
			continue
		}
		e := &trace.Error{File: t.File, Trace: t.ID, Where: "id", Reason: "the id is taken by the trace in " + first, Remedy: "rename or remove one of them"}
		if first == t.File {
			e.Reason = "two traces of this file have the id"
		}
		bad.add(e)
	}
}

func nothingIn(name string, notes []string) error {
	s := name + `: no trace found; give a folder with *.json or *.jsonl files of the Weka format`
	if len(notes) > 0 {
		s += " (" + strings.Join(notes[:min(3, len(notes))], "; ")
		if len(notes) > 3 {
			s += fmt.Sprintf("; and %d more", len(notes)-3)
		}
		s += ")"
	}
	return fmt.Errorf("%s", s)
}

// BadError is everything that is wrong with a corpus.
type BadError struct {
	First []error // at most 20, in file order
	Count int     // all
}

const mostBad = 20

func (e *BadError) add(err error) {
	e.Count++
	if len(e.First) < mostBad {
		e.First = append(e.First, err)
	}
}

func (e *BadError) Error() string {
	if e.Count == 1 {
		return e.First[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults in the corpus:", e.Count)
	for _, err := range e.First {
		b.WriteString("\n  " + err.Error())
	}
	if more := e.Count - len(e.First); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

// Unwrap gives the faults to errors.Is and errors.As.
func (e *BadError) Unwrap() []error { return slices.Clone(e.First) }
