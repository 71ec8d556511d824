package replay

import (
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// land handles an answer.
func (r *run) land(f *flight) error {
	r.account() // before this answer changes what a cache could hold
	delete(r.aloft, f)
	f.record.Seen = f.seen
	seen := &f.record.Seen
	if seen.Outcome == record.Censored && r.flights.Err() == nil {
		seen.Outcome = record.Failed // nobody cut it off
	}
	a := &f.record.Asked
	a.TextTokens, a.MarkTokens, a.Messages, a.Reset = f.text.TextTokens(), f.text.MarkerTokens(), f.text.Messages(), f.text.Reset
	a.Digest = f.text.Digest()
	r.out.Short += f.text.Short
	at := seen.End
	if !at.Seen() {
		at = r.clock.Now()
	}
	p := f.play
	if seen.Outcome == record.OK || seen.FirstToken.Seen() {
		p.ideal.end(f.sent)
	}
	p.inFlight--
	r.inFlight--
	if p.inFlight == 0 {
		p.idleSince = at
	}
	if r.inFlight == 0 {
		r.idleSince = at
	}
	r.health.Saw(&f.record)
	r.tally.Count(&f.record)
	r.sink.Request(f.record)
	if a.Kind == record.KindPrimer {
		return r.primed(f, at)
	}
	abort := r.checkThreshold()
	if a.Kind == record.KindPressure {
		abort = r.checkStreak(&f.record)
	}
	if abort != nil {
		r.halt()
	}
	if err := r.advance(f, at); err != nil {
		return err
	}
	return abort
}

// advance moves the stream of an answered turn on (spec/replay.md §4.5).
func (r *run) advance(f *flight, at record.Stamp) error {
	p, s := f.play, f.stream
	outcome := f.record.Seen.Outcome
	if outcome == record.Censored { // the run is ending: this turn was not played
		s.state = ready
		return nil
	}
	s.next++
	switch {
	case outcome == record.Overflow && !f.turn.Last():
		p.stop(s)
		if s.Index == 0 {
			p.report.Why = record.TreeOverflow
		}
	case f.turn.Last():
		s.state = finished
	default:
		s.state = ready
		r.armNext(p, s, at)
	}
	for _, b := range f.turn.SpawnOnReturn {
		r.spawn(p, b, at)
	}
	r.release(p, at)
	if !p.drained() {
		return nil
	}
	why := record.TreeDrained
	if p.report.Why != "" {
		why = p.report.Why
	}
	r.close(p, at, why)
	if r.phase == draining {
		return nil
	}
	return r.recycle(p.lane, at)
}

// armNext sets the time of a stream's next turn.
func (r *run) armNext(p *play, s *stream, at record.Stamp) {
	switch r.phase {
	case pressure:
		r.agenda.arm(p, s, at)
	case profiling:
		r.agenda.arm(p, s, at+seconds(r.delay(s.turn())))
	}
}

// spawn opens the streams of a branch. A stream that the entry point had opened
// already goes on as it is.
func (r *run) spawn(p *play, b *tree.Branch, at record.Stamp) {
	for _, c := range b.Streams {
		s := p.streams[c.Index]
		if s.state != unspawned {
			continue
		}
		p.open(s)
		switch r.phase {
		case pressure:
			r.agenda.arm(p, s, at)
		case profiling:
			p.report.Children++
			r.agenda.arm(p, s, at+seconds(r.childDelay(b, c)))
		}
	}
}
