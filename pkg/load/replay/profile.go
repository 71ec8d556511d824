package replay

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// profile is the measured part (spec/replay.md §4.5, §4.9): it goes on from the
// state that warm-up left, for the benchmark duration and the grace period.
func (r *run) profile(ctx context.Context) error {
	r.rest()
	if err := r.fill(r.clock.Now()); err != nil {
		return err
	}
	r.patience = 0
	r.begin("profiling", profiling, r.cfg.Duration)
	start := r.clock.Now()
	r.idleSince = start
	r.armAll(start)
	end := start.Add(r.cfg.Duration)

	err := r.loop(ctx, end, never)
	var abort *AbortError
	if errors.As(err, &abort) {
		r.out.Aborted, err = abort, nil
	}
	r.halt()
	if err == nil && r.out.Aborted == nil && ctx.Err() == nil {
		err = r.loop(ctx, end.Add(r.cfg.Grace), r.quiet)
	}
	r.end()
	return err
}

func never() bool { return false }

// rest takes every live stream out of the agenda and off the gates, so that a
// step can set new times for all.
func (r *run) rest() {
	for _, l := range r.lanes {
		p := l.play
		if p == nil {
			continue
		}
		r.agenda.clear(p)
		for _, s := range p.held {
			s.idle()
		}
		p.held = p.held[:0]
	}
}

// halt ends sending.
func (r *run) halt() {
	r.phase = draining
	for _, l := range r.lanes {
		if l.play != nil {
			r.agenda.clear(l.play)
		}
	}
}

// armAll sets the first turns of the measured phase (hand-off, spec/replay.md
// §4.4 step C, and §4.5): at their recorded distances from the entry points, the
// earliest of all at once. Burst starts every lane at once.
func (r *run) armAll(start record.Stamp) {
	first := r.firstOffset(r.lanes)
	for i, l := range r.lanes {
		if r.cfg.Burst {
			first = r.firstOffset(r.lanes[i : i+1])
		}
		p := l.play
		p.idleSince = start
		for _, s := range p.streams {
			if s.state == ready {
				r.agenda.arm(p, s, start+seconds(max(0, offset(p, s)-first)))
			}
		}
		if p.whole = p.atStart() && p.sent == 0; p.whole {
			p.report.Start = r.agenda.due(p)
		}
	}
}

// atStart reports whether nothing of the tree was entered past its first turn.
func (p *play) atStart() bool {
	for i, s := range p.streams {
		if s.next > 0 || i == 0 && s.state == finished {
			return false
		}
	}
	return true
}

// offset is how far a stream's next turn lies behind the tree's entry point, in
// trace seconds.
func offset(p *play, s *stream) float64 { return s.turn().StartS - p.originS }

// firstOffset is the least offset of the turns that nothing holds.
func (r *run) firstOffset(lanes []*lane) float64 {
	first := math.Inf(1)
	for _, l := range lanes {
		for _, s := range l.play.streams {
			if s.state == ready && l.play.free(s.turn()) {
				first = min(first, offset(l.play, s))
			}
		}
	}
	if math.IsInf(first, 1) {
		return 0
	}
	return first
}

// cutOff ends the run: requests still in flight are cancelled and wait for at
// most the drain timeout, and live trees are reported as cut.
func (r *run) cutOff() {
	r.halt()
	r.patience = 0
	r.cancel(ErrRunEnded)
	limit := r.cfg.DrainTimeout
	if limit == 0 {
		limit = 10 * time.Second
	}
	_ = r.loop(context.Background(), r.clock.Now().Add(limit), r.quiet)
	now := r.clock.Now()
	r.giveUp(now)
	r.sample(now)
	for _, l := range r.lanes {
		if l.play != nil {
			r.close(l.play, now, record.TreeCut)
		}
	}
}

// giveUp reports the requests that never came back as censored.
func (r *run) giveUp(now record.Stamp) {
	r.out.Lost = len(r.aloft)
	lost := slices.Collect(maps.Keys(r.aloft))
	slices.SortFunc(lost, func(a, b *flight) int { return cmp.Compare(a.record.Asked.Num, b.record.Asked.Num) })
	for _, f := range lost {
		f.record.Seen = record.Seen{Outcome: record.Censored, End: now,
			Error: &record.Error{Code: 499, Type: "lost", Message: "the request did not end when it was cancelled"}}
		r.tally.Count(&f.record)
		r.sink.Request(f.record)
	}
}

// begin and end mark a step.
func (r *run) begin(name string, s step, planned time.Duration) {
	r.phase = s
	r.out.Phases = append(r.out.Phases, Phase{Name: name, Start: r.clock.Now(), Planned: planned})
	r.sink.Phase(r.out.Phases[len(r.out.Phases)-1])
}

func (r *run) end() {
	p := &r.out.Phases[len(r.out.Phases)-1]
	p.End = r.clock.Now()
	r.sink.Phase(*p)
}
