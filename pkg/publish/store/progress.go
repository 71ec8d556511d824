package store

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// lines says from time to time how far an upload is.
type lines struct {
	to    io.Writer
	bytes int64 // of the whole run
	files int

	read, sentBytes, thereBytes atomic.Int64
	sentFiles, thereFiles       atomic.Int64

	once sync.Once
	end  chan struct{}
	gone sync.WaitGroup
}

const everyLine = 10 * time.Second

func newLines(to io.Writer, every time.Duration, bytes int64, files int) *lines {
	l := &lines{to: to, bytes: bytes, files: files, end: make(chan struct{})}
	if to == nil {
		return l
	}
	if every <= 0 {
		every = everyLine
	}
	l.gone.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintln(to, l)
			case <-l.end:
				return
			}
		}
	})
	return l
}

func (l *lines) stop() {
	l.once.Do(func() { close(l.end) })
	l.gone.Wait()
}

// String counts what was read for sending. What is sent again is in it twice, so it
// ends at the whole.
func (l *lines) String() string {
	n := min(l.bytes, l.read.Load()+l.thereBytes.Load())
	return fmt.Sprintf("uploading: %s of %s, %d of %d files", size(n), size(l.bytes), l.sentFiles.Load()+l.thereFiles.Load(), l.files)
}

func size(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (l *lines) fileSent(n int64) {
	l.sentFiles.Add(1)
	l.sentBytes.Add(n)
}

func (l *lines) fileThere(n int64) {
	l.thereFiles.Add(1)
	l.thereBytes.Add(n)
}

func (l *lines) sent() (files int, bytes int64) {
	return int(l.sentFiles.Load()), l.sentBytes.Load()
}

// count is a file whose reading is counted.
func (l *lines) count(from io.ReaderAt) io.ReaderAt { return &counting{from, l} }

type counting struct {
	from io.ReaderAt
	l    *lines
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.from.ReadAt(p, at)
	c.l.read.Add(int64(n))
	return n, err
}
