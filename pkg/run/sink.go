package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// sink writes what a replay reports as JSON lines, in a goroutine of its own, so
// that no disk delays a request.
type sink struct {
	events   chan any
	done     chan struct{}
	requests lines[record.Record]
	trees    lines[record.Tree]
	samples  lines[record.Sample]
	progress *progress
	scraper  *scraper
	phases   []replay.Phase       // that have begun
	begun    func([]replay.Phase) // takes them at the beginning of each; nil for nobody
	ok       int
	failed   int
	censored int
	err      error
}

// lines is one file of JSON lines.
type lines[T any] struct {
	file *os.File
	*record.Writer[T]
}

func open[T any](dir, name string) (lines[T], error) {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return lines[T]{}, err
	}
	return lines[T]{f, record.NewWriter[T](f)}, nil
}

func (l lines[T]) close() error {
	if l.file == nil {
		return nil
	}
	return errors.Join(l.Flush(), l.file.Close())
}

func newSink(dir string, p *progress, s *scraper) (*sink, error) {
	k := &sink{events: make(chan any, 1<<14), done: make(chan struct{}), progress: p, scraper: s}
	var e1, e2, e3 error
	k.requests, e1 = open[record.Record](dir, result.FileRecords)
	k.trees, e2 = open[record.Tree](dir, result.FileTrees)
	k.samples, e3 = open[record.Sample](dir, result.FileSamples)
	if err := errors.Join(e1, e2, e3); err != nil {
		return nil, fmt.Errorf("the artifact folder cannot be written: %w", err)
	}
	go k.write()
	return k, nil
}

func (k *sink) Request(r record.Record) { k.events <- &r }
func (k *sink) Tree(t record.Tree)      { k.events <- &t }
func (k *sink) Sample(s record.Sample)  { k.events <- &s }

// Phase marks the engine's counters at the borders of the phases.
func (k *sink) Phase(p replay.Phase) {
	k.scraper.phase(p)
	k.events <- p
}

func (k *sink) write() {
	defer close(k.done)
	for e := range k.events {
		switch e := e.(type) {
		case *record.Record:
			_ = e.Check() // a contradiction makes it a failed record
			k.count(e)
			k.keep(k.requests.Write(e))
		case *record.Tree:
			k.keep(k.trees.Write(e))
		case *record.Sample:
			k.keep(k.samples.Write(e))
			k.keep(errors.Join(k.requests.Flush(), k.trees.Flush(), k.samples.Flush()))
			k.progress.sample(e)
		case replay.Phase:
			k.progress.phase(e)
			if !e.End.Seen() && k.begun != nil {
				k.phases = append(k.phases, e)
				k.begun(k.phases)
			}
		}
	}
}

func (k *sink) count(r *record.Record) {
	if r.Asked.Phase != record.PhaseProfiling {
		return
	}
	switch r.Seen.Outcome {
	case record.OK:
		k.ok++
	case record.Failed:
		k.failed++
	case record.Censored:
		k.censored++
	}
}

func (k *sink) keep(err error) {
	if err != nil && k.err == nil {
		k.err = err
	}
}

// close waits until everything is on disk.
func (k *sink) close() error {
	close(k.events)
	<-k.done
	return errors.Join(k.err, k.requests.close(), k.trees.close(), k.samples.close())
}
