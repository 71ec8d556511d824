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
	start := r.clock.Now()
	var most time.Duration
	for _, l := range r.lanes {
		for _, s := range l.play.streams {
			if lead, ok := r.lead(l.play, s); ok {
				most = max(most, lead)
			}
		}
	}
	for _, l := range r.lanes {
		r.armPrimers(l.play, start.Add(most), start)
	}
	var deadline record.Stamp
	if r.cfg.WarmupGrace > 0 {
		deadline = start.Add(most + r.cfg.WarmupGrace)
	}
	err := r.loop(ctx, deadline, r.quiet)
	if err == nil && ctx.Err() == nil && r.inFlight > 0 {
		err = fmt.Errorf("warm-up: %d primers were not answered within %v; give --warmup-grace-period more, or look at the engine", r.inFlight, r.cfg.WarmupGrace)
	}
	r.end()
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
	lead := time.Duration((p.originS - s.Turns[s.next-1].StartS) * 1e9)
	return max(0, min(lead, limit)), true
}

// armPrimers sets the primers of a tree so that their leads end at entry, but
// none before earliest.
func (r *run) armPrimers(p *play, entry, earliest record.Stamp) {
	for _, s := range p.streams {
		if lead, ok := r.lead(p, s); ok {
			r.agenda.arm(p, s, max(entry-record.Stamp(lead), earliest))
		}
	}
}

// primed handles a primer's answer. Without its root's history a lane cannot be
// measured; a child's failure costs only its first turn some hits.
func (r *run) primed(f *flight, at record.Stamp) error {
	p, s := f.play, f.stream
	s.state = ready
	switch f.seen.Outcome {
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
			return &PrimerError{StreamID: s.ID, Turn: f.turn.Index, Seen: f.seen}
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
	r.armPrimers(r.lanes[p.lane].play, at, at)
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
	r.begin("pressure", pressure, r.cfg.WarmupDuration)
	start := r.clock.Now()
	for _, l := range r.lanes {
		for _, s := range l.play.streams {
			if s.state == ready {
				r.agenda.arm(l.play, s, start)
			}
		}
	}
	var deadline record.Stamp
	if r.cfg.WarmupDuration > 0 {
		deadline = start.Add(r.cfg.WarmupDuration)
	}
	err := r.loop(ctx, deadline, r.quiet)
	if err == nil && ctx.Err() == nil && r.inFlight > 0 {
		err = r.settle(ctx, r.cfg.WarmupGrace)
	}
	r.phase = draining
	r.end()
	return err
}

// settle waits for what is in flight, without sending more.
func (r *run) settle(ctx context.Context, grace time.Duration) error {
	r.halt()
	var deadline record.Stamp
	if grace > 0 {
		deadline = r.clock.Now().Add(grace)
	}
	err := r.loop(ctx, deadline, r.quiet)
	if err == nil && ctx.Err() == nil && r.inFlight > 0 {
		err = fmt.Errorf("warm-up: %d requests were not answered within %v; give --warmup-grace-period more, or look at the engine", r.inFlight, grace)
	}
	return err
}

// quiet reports whether nothing is in flight and nothing is due to be.
func (r *run) quiet() bool { return r.inFlight == 0 && r.agenda.next() == nil }
