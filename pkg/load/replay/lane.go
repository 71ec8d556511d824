package replay

import (
	"errors"
	"fmt"

	"github.com/org/agentx-action/pkg/result/record"
)

// lane is one of the concurrency slots: it holds one live tree.
type lane struct {
	play    *play
	sampler *sampler
	used    int // requests of warm-up step B
}

// draw takes the next trace that can be played. It asks the sampler twice as
// often as there are traces and then tries them all in order, so that a corpus
// without a playable one ends in an error and any other does not.
func (r *run) draw(l int) (*script, error) {
	s := r.lanes[l].sampler
	n := len(r.shelf.traces)
	why := errors.New("warm-up dropped them all, their context does not fit the engine")
	for try := range 3 * n {
		i := try - 2*n
		if i < 0 {
			i = s.next()
		}
		sc, err := r.shelf.take(i)
		if err != nil {
			why = err
			continue
		}
		if r.banned[sc.trace.ID] {
			continue
		}
		if ahead := s.peek(); ahead >= 0 {
			r.shelf.prepare(ahead)
		}
		return sc, nil
	}
	return nil, fmt.Errorf("none of the %d traces can be played: %w", n, why)
}

// fresh puts the next trace on a lane, to begin with its first turn.
func (r *run) fresh(l int, at record.Stamp) (*play, error) {
	sc, err := r.draw(l)
	if err != nil {
		return nil, err
	}
	p := r.newPlay(l, sc)
	p.report.Start, p.idleSince = at, at
	return p, nil
}

// recycle starts the next trace on a lane (spec/replay.md §4.1).
func (r *run) recycle(l int, at record.Stamp) error {
	p, err := r.fresh(l, at)
	if err != nil {
		return err
	}
	p.whole = r.phase == profiling
	r.agenda.arm(p, p.streams[0], at)
	return nil
}

// fill gives a fresh tree to every lane whose own ended while nothing was sent
// (spec/replay.md §4.4, step C).
func (r *run) fill(at record.Stamp) error {
	for l := range r.lanes {
		if p := r.lanes[l].play; p != nil {
			if !p.drained() {
				continue
			}
			r.close(p, at, record.TreeDrained)
		}
		if _, err := r.fresh(l, at); err != nil {
			return err
		}
	}
	return nil
}

// close reports a tree that is over, or that the run cut off.
func (r *run) close(p *play, at record.Stamp, why record.TreeEnd) {
	r.agenda.clear(p)
	p.report.Why = why
	if why != record.TreeCut {
		p.report.End = at
	}
	p.report.SkippedNs = int64(p.skipped(r.agenda.skip))
	if p.whole && why == record.TreeDrained {
		p.report.Whole = true
		p.report.RecordedNs = int64(recordedTime(p.tree, r.delay, r.childDelay)) - p.report.SkippedNs
	}
	r.sink.Tree(p.report)
	r.lanes[p.lane].play = nil
}
