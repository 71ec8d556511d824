package replay

import (
	"fmt"

	"github.com/org/agentx-action/pkg/result/record"
)

// lane is one of the concurrency slots: it holds one live tree.
type lane struct {
	play    *play
	sampler *sampler
	used    int // requests of warm-up step B
}

// draw takes the next trace that can be played. It tries each trace at most
// twice, so that a corpus without a playable one ends in an error.
func (r *run) draw(l int) (*script, error) {
	s := r.lanes[l].sampler
	var last error
	for range 2 * len(r.shelf.traces) {
		i := s.next()
		sc, err := r.shelf.take(i)
		if err == nil && !r.banned[sc.trace.ID] {
			if ahead := s.peek(); ahead >= 0 {
				r.shelf.prepare(ahead)
			}
			return sc, nil
		}
		if err != nil {
			last = err
		}
	}
	return nil, fmt.Errorf("no trace can be played: %w", last)
}

// recycle starts the next trace on a lane from its first turn (spec/replay.md §4.1).
func (r *run) recycle(l int, at record.Stamp) error {
	sc, err := r.draw(l)
	if err != nil {
		return err
	}
	p := r.newPlay(l, sc)
	p.whole = r.phase == profiling
	p.report.Start, p.idleSince = at, at
	r.agenda.arm(p, p.streams[0], at)
	return nil
}

// close reports a tree that is over, or that the run cut off.
func (r *run) close(p *play, at record.Stamp, why record.TreeEnd) {
	r.agenda.clear(p)
	p.report.Why = why
	p.report.EnteredAtS = p.originS
	if why != record.TreeCut {
		p.report.End = at
	}
	p.report.SkippedNs = int64(p.skip+r.agenda.skip) - p.report.SkippedNs
	if p.whole && why == record.TreeDrained {
		p.report.Whole = true
		p.report.RecordedNs = int64(recordedTime(p.tree, r.delay)) - p.report.SkippedNs
	}
	r.sink.Tree(p.report)
	r.lanes[p.lane].play = nil
}
