package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// spreadCap bounds how far primers are spread when no system idle cap does.
const spreadCap = 10 * time.Second

// prime sends, for every stream that is entered behind its first turn, the turn
// before the entry: the engine then holds the history that the first measured
// turn extends (spec/replay.md §4.4, step A).
func (r *run) prime(ctx context.Context) error {
	r.begin("primers", primers, 0)
	r.patience = r.cfg.WarmupGrace
	start := r.clock.Now()
	var most time.Duration
	for _, l := range r.lanes {
		most = max(most, r.mostLead(l.play))
	}
	for _, l := range r.lanes {
		r.armPrimers(l.play, start.Add(most))
	}
	err := r.answered(ctx, "primers", r.loop(ctx, 0, r.quiet))
	r.end()
	return err
}

// answered makes an error of requests that warm-up did not wait for any longer.
func (r *run) answered(ctx context.Context, what string, err error) error {
	if err == nil && ctx.Err() == nil && r.inFlight > 0 {
		err = fmt.Errorf("warm-up: %d %s were not answered within %v; give --warmup-grace-period more, or look at the engine", r.inFlight, what, r.cfg.WarmupGrace)
	}
	return err
}

// lead is how long before the others' entry point a stream's primer belongs.
func (r *run) lead(p *play, s *stream) (time.Duration, bool) {
	if !s.live() || s.next == 0 {
		return 0, false
	}
	if r.cfg.Burst {
		return 0, true
	}
	limit := r.cfg.SystemIdleCap
	if limit == 0 {
		limit = spreadCap
	}
	lead := seconds(p.originS - s.Turns[s.next-1].StartS)
	return max(0, min(time.Duration(lead), limit)), true
}

func (r *run) mostLead(p *play) (most time.Duration) {
	for _, s := range p.streams {
		if lead, ok := r.lead(p, s); ok {
			most = max(most, lead)
		}
	}
	return most
}

// armPrimers sets the primers of a tree so that their leads end at entry.
func (r *run) armPrimers(p *play, entry record.Stamp) {
	for _, s := range p.streams {
		if lead, ok := r.lead(p, s); ok {
			r.agenda.arm(p, s, entry-record.Stamp(lead))
		}
	}
}

// primed handles a primer's answer. Without its root's history a lane cannot be
// measured; a child's failure costs only its first turn some hits.
func (r *run) primed(f *flight, at record.Stamp) error {
	p, s := f.play, f.stream
	s.state = ready
	switch f.record.Seen.Outcome {
	case record.OK:
	case record.Overflow:
		if s.Index != 0 {
			p.stop(s)
			break
		}
		p.dropped = true
		r.agenda.clear(p)
	default:
		if s.Index == 0 && r.phase == primers {
			return &PrimerError{StreamID: s.ID, Turn: f.turn.Index, Seen: f.record.Seen}
		}
	}
	if p.dropped && p.inFlight == 0 && r.phase == primers {
		return r.replace(p, at)
	}
	return nil
}

// replace drops a trace that the engine cannot hold and draws another for its lane.
func (r *run) replace(p *play, at record.Stamp) error {
	r.banned[p.trace.ID] = true
	r.out.Dropped = append(r.out.Dropped, p.trace.ID+": its context does not fit the engine")
	r.close(p, at, record.TreeFailed)
	if err := r.enter(p.lane); err != nil {
		return err
	}
	next := r.lanes[p.lane].play
	r.armPrimers(next, at.Add(r.mostLead(next)))
	return nil
}

// PrimerError says that a lane's first request failed.
type PrimerError struct {
	StreamID string
	Turn     int
	Seen     record.Seen
}

func (e *PrimerError) Error() string {
	why := string(e.Seen.Outcome)
	if e.Seen.Error != nil {
		why = fmt.Sprintf("%s (%s)", e.Seen.Error.Message, e.Seen.Error.Type)
	}
	return fmt.Sprintf("warm-up: the primer of %s, turn %d, failed: %s; the engine must answer before anything can be measured", e.StreamID, e.Turn, why)
}

// press lets every lane go on without delays and with one output token, by a
// number of requests or for a time, to fill the cache as far as a long run would
// (spec/replay.md §4.4, step B).
func (r *run) press(ctx context.Context) error {
	if err := r.fill(r.clock.Now()); err != nil {
		return err
	}
	r.begin("pressure", pressure, r.cfg.WarmupDuration)
	start := r.clock.Now()
	for _, l := range r.lanes {
		for _, s := range l.play.streams {
			if s.state == ready {
				r.agenda.arm(l.play, s, start)
			}
		}
	}
	var err error
	if r.cfg.WarmupDuration > 0 {
		r.patience = 0
		err = r.loop(ctx, start.Add(r.cfg.WarmupDuration), r.quiet)
		r.halt()
		r.patience, r.lastSend = r.cfg.WarmupGrace, r.clock.Now()
	}
	if err == nil {
		err = r.loop(ctx, 0, r.quiet)
	}
	err = r.answered(ctx, "requests", err)
	r.halt()
	r.end()
	return err
}

// checkStreak gives up on an engine that has stopped answering: without delays,
// its lanes would send failing requests as fast as they can.
func (r *run) checkStreak(rec *record.Record) error {
	if rec.Seen.Outcome != record.Failed {
		r.streak = 0
		return nil
	}
	if r.streak++; r.streak < max(10, 2*r.cfg.Concurrency) || r.phase != pressure {
		return nil
	}
	why := "no reason given"
	if e := rec.Seen.Error; e != nil {
		why = fmt.Sprintf("%s (%s)", e.Message, e.Type)
	}
	return fmt.Errorf("warm-up: %d requests in a row failed, the last with: %s; the engine must answer before anything can be measured", r.streak, why)
}

// quiet reports whether nothing is in flight and nothing is due to be.
func (r *run) quiet() bool { return r.inFlight == 0 && r.agenda.next() == nil }
