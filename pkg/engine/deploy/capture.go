package deploy

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// capture takes an engine's output. Writing to it never fails and never waits
// for more than the disk: what can't be kept is dropped, and that is said once.
//
// The file takes the first half of the limit. What follows goes to two files
// beside it, .tail and, once that is full, .tail.1, which together always hold
// the last half; close puts them behind the first. So what was captured is on
// disk whenever this process is killed.
type capture struct {
	path  string
	shown string // in place of path in what users read; "" = path
	half  int64
	note  func(string) // told once what was lost

	mu       sync.Mutex
	tail     tail
	out      *os.File // nil: no file, or none any more
	size     int64    // of out
	overflow bool     // out is the tail
	rolled   int64    // bytes that went through .tail.1
	ended    bool
}

// newCapture opens the log; without a path only the last lines are kept.
func newCapture(path string, limit int64, note func(string)) *capture {
	c := &capture{path: path, half: limit / 2, note: note}
	if path == "" {
		return c
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		c.out, err = os.Create(path)
	}
	if err != nil {
		note(fmt.Sprintf("its log is not kept: %v", err))
		c.out = nil
	}
	_ = os.Remove(c.tailName()) // of an earlier run that was killed
	_ = os.Remove(c.rolledName())
	return c
}

func (c *capture) tailName() string   { return c.path + ".tail" }
func (c *capture) rolledName() string { return c.path + ".tail.1" }

// Write takes a piece of the log. It returns no error: an engine must not end
// because its log can't be kept.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail.write(p)
	for rest := p; len(rest) > 0 && c.out != nil && !c.ended; {
		piece := rest[:min(int64(len(rest)), c.half-c.size)]
		n, err := c.out.Write(piece)
		c.size += int64(n)
		rest = rest[len(piece):]
		if err == nil && c.size >= c.half {
			err = c.roll()
		}
		if err != nil {
			c.drop(err)
		}
	}
	return len(p), nil
}

// roll goes on in the next file.
func (c *capture) roll() error {
	if err := c.out.Close(); err != nil {
		return err
	}
	if c.overflow {
		c.rolled += c.size
		if err := os.Rename(c.tailName(), c.rolledName()); err != nil {
			return err
		}
	}
	next, err := os.Create(c.tailName())
	if err != nil {
		return err
	}
	c.out, c.size, c.overflow = next, 0, true
	return nil
}

func (c *capture) drop(err error) {
	_ = c.out.Close()
	c.out = nil
	c.note(fmt.Sprintf("its log is kept no further: %v", err))
}

// close ends the log and puts its last half behind its first.
func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	c.tail.end()
	if c.path == "" {
		return
	}
	if c.out != nil {
		if err := c.out.Close(); err != nil {
			c.note(fmt.Sprintf("its log may lack its end: %v", err))
		}
	}
	if c.overflow {
		if err := c.join(); err != nil {
			c.note(fmt.Sprintf("the end of its log stays in %s: %v", c.tailName(), err))
		}
	}
}

// join appends the last half to the file and removes what held it.
func (c *capture) join() error {
	earlier := max(0, c.rolled-c.half) // went through .tail.1 and is gone
	end, err := os.Open(c.tailName())
	if err != nil {
		return err
	}
	defer end.Close()
	length, text := c.size, io.Reader(end)
	if c.rolled > 0 {
		before, err := os.Open(c.rolledName())
		if err != nil {
			return err
		}
		defer before.Close()
		length, text = length+c.half, io.MultiReader(before, end)
	}
	out, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	rest := bufio.NewReaderSize(text, longestCut)
	err = c.skip(out, rest, length, earlier)
	if err == nil {
		_, err = io.Copy(out, rest)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	_ = os.Remove(c.tailName())
	_ = os.Remove(c.rolledName())
	return nil
}

// skip leaves out the beginning of what is longer than half the limit, up to the
// next line, and says so in the log.
func (c *capture) skip(out io.Writer, text *bufio.Reader, length, earlier int64) error {
	const room = 100 // for the line that says so
	if earlier == 0 && length <= c.half {
		return nil
	}
	n, err := text.Discard(int(max(0, length-c.half+room)))
	if err != nil {
		return err
	}
	ahead, _ := text.Peek(longestCut)
	more, _ := text.Discard(bytes.IndexByte(ahead, '\n') + 1)
	_, err = fmt.Fprintf(out, "\n[agentx: %d bytes are left out here]\n", earlier+int64(n)+int64(more))
	return err
}

// longestCut is how far a cut looks for the next line.
const longestCut = 16 << 10

// evidence is what the log tells about an end.
func (c *capture) evidence() Evidence {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail.end() // last words may lack their end
	e := Evidence{Tail: slices.Clone(c.tail.last), Log: cmp.Or(c.shown, c.path)}
	e.Fatal, e.Advice = c.tail.fatal.best()
	return e
}

// lastLine of the log so far.
func (c *capture) lastLine() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tail.last) == 0 {
		return ""
	}
	text, _ := bare(c.tail.last[len(c.tail.last)-1])
	return text
}

// survived forgets lines that were not fatal.
func (c *capture) survived() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail.fatal.forget()
}
