package run

import (
	"sync"
	"time"

	"github.com/org/agentx-action/pkg/result"
)

// seriesFlush is how much of a series a crash may cost.
const seriesFlush = 5 * time.Second

// seriesFile takes lines from several goroutines, compressed, and keeps them in
// memory until the run owns its folder. The zero value works.
type seriesFile struct {
	late lateFile

	mu      sync.Mutex
	lines   *result.LineWriter
	flushed time.Time
}

// Write takes one whole line.
func (s *seriesFile) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		lines, err := result.NewLineWriter(&s.late)
		if err != nil {
			return 0, err
		}
		s.lines, s.flushed = lines, time.Now()
	}
	n, err := s.lines.Write(line)
	if err == nil && time.Since(s.flushed) > seriesFlush {
		err, s.flushed = s.lines.Flush(), time.Now()
	}
	return n, err
}

func (s *seriesFile) open(name string) error { return s.late.open(name) }

func (s *seriesFile) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.lines != nil {
		err = s.lines.Close()
	}
	s.late.close()
	return err
}
