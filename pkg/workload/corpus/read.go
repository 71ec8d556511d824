package corpus

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// MaxLineBytes bounds one line of a JSON-lines file, that is one trace.
const MaxLineBytes = 256 << 20

// maxLines bounds the lines of one file.
const maxLines = 1 << 20

// source is one file to read and what it gave.
type source struct {
	path  string
	open  func() (io.ReadCloser, error)
	parts []*part // in file order
	sum   []byte
	size  int64
	err   error // the file could not be read to its end
}

// part is what one stretch of a file gave: all of a JSON file, or one line.
type part struct {
	name    string
	traces  []*trace.Trace
	skipped int // values that are no traces
	bad     []error
	more    int // bad ones beyond those
}

// find lists the files that paths name.
func find(paths []string) ([]*source, error) {
	if len(paths) == 0 {
		return nil, errors.New("no corpus given; name a folder or files of traces")
	}
	var sources []*source
	add := func(path string) {
		sources = append(sources, &source{path: path, open: func() (io.ReadCloser, error) { return os.Open(path) }})
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s does not exist; give a folder or a file of traces", path)
		case err != nil:
			return nil, fmt.Errorf("the corpus cannot be read: %w", err)
		case !info.IsDir():
			add(path)
			continue
		}
		entries, err := os.ReadDir(path) // sorted by name
		if err != nil {
			return nil, fmt.Errorf("the corpus cannot be read: %w", err)
		}
		before := len(sources)
		for _, e := range entries {
			file := filepath.Join(path, e.Name())
			if ext := strings.ToLower(filepath.Ext(file)); ext != ".json" && ext != ".jsonl" {
				continue
			}
			if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
				continue // one that cannot even be looked at is reported on opening
			}
			add(file)
		}
		if len(sources) == before {
			return nil, fmt.Errorf("%s holds no *.json or *.jsonl file; traces must lie directly in the folder", path)
		}
	}
	return sources, nil
}

// readAll reads every source, on all cores.
func readAll(sources []*source, basis trace.Basis) {
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range sources {
		if strings.EqualFold(filepath.Ext(s.path), ".jsonl") {
			s.err = s.readLines(&work, basis)
			continue
		}
		work.Go(func() error {
			s.err = s.readWhole(basis)
			return nil
		})
	}
	_ = work.Wait() // errors stay with their source
}

// opened calls read with the file, and keeps the sum of what was read.
func (s *source) opened(read func(*bufio.Reader) error) error {
	f, err := s.open()
	if err != nil {
		return fmt.Errorf("the file cannot be read: %w; check its rights, or leave it out", err)
	}
	defer f.Close()
	sum := sha256.New()
	size := &counter{}
	err = read(bufio.NewReaderSize(io.TeeReader(f, io.MultiWriter(sum, size)), 256<<10))
	s.sum, s.size = sum.Sum(nil), size.n
	return err
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func (s *source) readWhole(basis trace.Basis) error {
	return s.opened(func(r *bufio.Reader) error {
		p := parseAll(r, s.path, basis)
		s.parts = []*part{p}
		if len(p.traces)+len(p.bad)+p.skipped == 0 {
			return &trace.Error{File: s.path, Reason: "the file is empty", Remedy: "fetch it again, or remove it"}
		}
		return nil
	})
}

// readLines reads a JSON-lines file here and gives each line to the workers.
func (s *source) readLines(work *errgroup.Group, basis trace.Basis) error {
	return s.opened(func(r *bufio.Reader) error {
		for n := 1; ; n++ {
			line, err := readLine(r)
			if err != nil && err != io.EOF {
				return fmt.Errorf("%s:%d: %w", s.path, n, err)
			}
			if len(bytes.TrimSpace(line)) > 0 {
				if len(s.parts) == maxLines {
					return fmt.Errorf("%s has more than %d lines", s.path, maxLines)
				}
				p := &part{}
				s.parts = append(s.parts, p)
				name := fmt.Sprintf("%s:%d", s.path, n)
				work.Go(func() error {
					*p = *parseAll(bytes.NewReader(line), name, basis)
					p.adviseLines()
					return nil
				})
			}
			if err == io.EOF {
				break
			}
		}
		if len(s.parts) == 0 {
			return &trace.Error{File: s.path, Reason: "the file is empty", Remedy: "fetch it again, or remove it"}
		}
		return nil
	})
}

// readLine reads up to and with the next newline, into memory of its own.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		chunk, err := r.ReadSlice('\n')
		if len(line)+len(chunk) > MaxLineBytes {
			return nil, fmt.Errorf("the line is longer than %d bytes", MaxLineBytes)
		}
		line = append(line, chunk...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// parseAll reads every trace of a stream.
func parseAll(r io.Reader, name string, basis trace.Basis) *part {
	p := &part{name: name}
	traces := trace.NewReader(r, name)
	traces.Basis = basis
	for {
		t, err := traces.Next()
		switch {
		case err == io.EOF:
			return p
		case err == nil:
			p.traces = append(p.traces, t)
		case errors.Is(err, trace.ErrNotTrace):
			p.skipped++
		case len(p.bad) < mostBad:
			p.bad = append(p.bad, err)
		default:
			p.more++
		}
	}
}

// adviseLines adds to a line that ends too early what else may be the cause.
func (p *part) adviseLines() {
	for _, err := range p.bad {
		var e *trace.Error
		if errors.As(err, &e) && errors.Is(e.Err, io.ErrUnexpectedEOF) {
			e.Remedy = "a .jsonl file holds one whole trace a line: fetch it again if it is incomplete, name it .json if its objects span lines"
		}
	}
}
