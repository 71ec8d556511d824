package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// step is the part of the run that the scheduler is in.
type step uint8

const (
	idle step = iota
	primers
	pressure
	profiling
	draining // nothing new is sent
)

// run is the state of one replay. Only the scheduler's goroutine touches it.
type run struct {
	cfg    Config
	work   Workload
	sender Sender
	sink   Sink
	clock  record.Clock

	shelf  *shelf
	lanes  []*lane
	agenda agenda
	phase  step
	banned map[string]bool   // traces that warm-up dropped
	reused map[string]*reach // by trace: what stands before the marker

	flights  context.Context // of the requests in flight
	cancel   context.CancelCauseFunc
	landed   chan *flight
	launched []*flight // since the last account
	inFlight int

	idleSince, capFloor record.Stamp // of the whole system
	trees, requests     int
	tally               tally
	health              health
	out                 Outcome
}

// tally counts profiling requests for the live abort and the progress.
type tally struct {
	ok, failed, overflow, censored int
	tokensIn, tokensOut            int64
}

// Run plays the workload. It returns an error when the configuration is bad or
// warm-up failed; what ended a run early is in the Outcome. Cancelling ctx ends
// the run in order: nothing new is sent, what is in flight is cut off and
// reported.
func Run(ctx context.Context, cfg Config, work Workload, sender Sender, sink Sink, clock record.Clock) (Outcome, error) {
	if err := cfg.check(work); err != nil {
		return Outcome{}, err
	}
	r := &run{
		cfg: cfg, work: work, sender: sender, sink: sink, clock: clock,
		shelf: newShelf(work.Traces), banned: map[string]bool{}, reused: map[string]*reach{},
		landed: make(chan *flight, 4*cfg.Concurrency+64),
		out:    Outcome{Played: map[string]int{}},
	}
	r.health.every = cfg.SampleEvery
	r.health.start(clock.Now())
	for _, s := range samplers(cfg, len(work.Traces)) {
		r.lanes = append(r.lanes, &lane{sampler: s})
	}
	err := r.play(ctx)
	r.cutOff()
	return r.out, err
}

// play goes through the steps of a run.
func (r *run) play(ctx context.Context) error {
	r.enterFlights(ctx)
	for l := range r.lanes {
		if err := r.enter(l); err != nil {
			return err
		}
	}
	if err := r.prime(ctx); err != nil || ctx.Err() != nil {
		return r.stopped(ctx, err)
	}
	if r.cfg.WarmupPerLane > 0 || r.cfg.WarmupDuration > 0 {
		if err := r.press(ctx); err != nil || ctx.Err() != nil {
			return r.stopped(ctx, err)
		}
	}
	return r.stopped(ctx, r.profile(ctx))
}

func (r *run) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		r.out.Cancelled = true
	}
	return err
}

// enterFlights gives the coming requests a context of their own: it ends only
// when the run says so, so that a user's cancel can be orderly.
func (r *run) enterFlights(ctx context.Context) {
	r.flights, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
}

// loop fires what is due, waits for the next event, and handles it, until done
// says that the step is over, the deadline passes or ctx ends.
func (r *run) loop(ctx context.Context, deadline record.Stamp, done func() bool) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := r.clock.Now()
		if err := r.fire(now, deadline); err != nil {
			return err
		}
		r.account()
		if r.health.due(now) {
			r.sample(now)
		}
		if done() || ctx.Err() != nil || deadline.Seen() && now >= deadline {
			return nil
		}
		timer.Reset(max(0, r.clock.Until(r.wake(deadline))))
		select {
		case f := <-r.landed:
			if err := r.land(f); err != nil {
				return err
			}
			if err := r.landMore(); err != nil {
				return err
			}
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// landMore handles the answers that came in meanwhile, before anything is fired.
func (r *run) landMore() error {
	for {
		select {
		case f := <-r.landed:
			if err := r.land(f); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// fire sends every turn whose time has come.
func (r *run) fire(now, deadline record.Stamp) error {
	if deadline.Seen() && now >= deadline || r.phase == draining {
		return nil
	}
	for {
		r.applyCaps(now)
		p := r.agenda.next()
		if p == nil {
			return nil
		}
		due := r.agenda.due(p)
		if due > now || deadline.Seen() && due >= deadline {
			return nil
		}
		r.ripe(p, r.agenda.pop(p), due, now)
	}
}

// ripe sends a turn that is due, or holds it until gates and children let it go.
func (r *run) ripe(p *play, s *stream, due, now record.Stamp) {
	if r.phase == primers {
		r.issue(p, s, due, record.KindPrimer)
		return
	}
	turn := s.turn()
	if p.free(turn) {
		r.dispatch(p, s, due)
		return
	}
	s.state = waiting
	p.held = append(p.held, s)
	p.capFloor, r.capFloor = now, now
	if !p.joined(turn) {
		s.joinSince = due
	}
}

// dispatch sends a turn that nothing holds any more.
func (r *run) dispatch(p *play, s *stream, due record.Stamp) {
	switch r.phase {
	case pressure:
		if r.cfg.WarmupPerLane > 0 && r.lanes[p.lane].used >= r.cfg.WarmupPerLane {
			s.state, s.joinSince = ready, 0 // profiling goes on with it
			return
		}
		r.lanes[p.lane].used++
		r.issue(p, s, due, record.KindPressure)
	case profiling:
		r.issue(p, s, due, record.KindTurn)
	default:
		s.state, s.joinSince = ready, 0
		return
	}
	turn := s.turn()
	if len(turn.Joins) > 0 {
		p.report.Joins++
	}
	for _, b := range turn.SpawnOnIssue {
		r.spawn(p, b, due)
	}
}

// release sends the held turns that may go now.
func (r *run) release(p *play, at record.Stamp) {
	for i := 0; i < len(p.held); {
		s := p.held[i]
		if s.state != waiting {
			p.held = append(p.held[:i], p.held[i+1:]...)
			continue
		}
		if !p.free(s.turn()) {
			i++
			continue
		}
		p.held = append(p.held[:i], p.held[i+1:]...)
		r.dispatch(p, s, at)
	}
}

// land handles an answer.
func (r *run) land(f *flight) error {
	f.record.Seen = f.seen
	a := &f.record.Asked
	a.TextTokens, a.MarkTokens, a.Messages, a.Reset = f.text.TextTokens(), f.text.MarkerTokens(), f.text.Messages(), f.text.Reset
	a.Digest = f.text.Digest()
	r.out.Short += f.text.Short
	at := f.seen.End
	if !at.Seen() {
		at = r.clock.Now()
	}
	p := f.play
	p.ideal.end(f.sent)
	p.inFlight--
	r.inFlight--
	if p.inFlight == 0 {
		p.idleSince = at
	}
	if r.inFlight == 0 {
		r.idleSince = at
	}
	r.health.saw(&f.record)
	r.count(&f.record)
	r.sink.Request(f.record)
	if a.Kind == record.KindPrimer {
		return r.primed(f, at)
	}
	if err := r.advance(f, at); err != nil {
		return err
	}
	return r.checkThreshold()
}

// advance moves the stream of an answered turn on (spec/replay.md §4.5).
func (r *run) advance(f *flight, at record.Stamp) error {
	p, s := f.play, f.stream
	if f.seen.Outcome == record.Censored { // the run is ending: this turn was not played
		s.state = ready
		return nil
	}
	s.next++
	switch {
	case f.seen.Outcome == record.Overflow && !f.turn.Last():
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
	if p.drained() {
		why := record.TreeDrained
		if p.report.Why != "" {
			why = p.report.Why
		}
		r.close(p, at, why)
		return r.after(p.lane, at)
	}
	return nil
}

// after fills a lane whose tree is over, where the step still sends.
func (r *run) after(l int, at record.Stamp) error {
	if r.phase == draining {
		return nil
	}
	return r.recycle(l, at)
}

// armNext sets the time of a stream's next turn.
func (r *run) armNext(p *play, s *stream, at record.Stamp) {
	if r.phase == draining {
		return
	}
	d := 0.0
	if r.phase == profiling {
		d = r.delay(s.turn())
	}
	r.agenda.arm(p, s, at+seconds(d))
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
		p.report.Children++
		if r.phase == draining {
			continue
		}
		d := 0.0
		if r.phase == profiling {
			d = b.ChildDelayS(c)
		}
		r.agenda.arm(p, s, at+seconds(d))
	}
}

// count adds a profiling request to the tally.
func (r *run) count(rec *record.Record) {
	if rec.Asked.Phase != record.PhaseProfiling {
		return
	}
	switch rec.Seen.Outcome {
	case record.OK:
		r.tally.ok++
	case record.Overflow:
		r.tally.overflow++
	case record.Censored:
		r.tally.censored++
	default:
		r.tally.failed++
	}
	if u := rec.Seen.Usage; u != nil {
		if u.PromptTokens != nil {
			r.tally.tokensIn += *u.PromptTokens
		}
		if u.CompletionTokens != nil {
			r.tally.tokensOut += *u.CompletionTokens
		}
	}
}

// checkThreshold ends a run in which too many requests fail (spec/replay.md §4.10).
func (r *run) checkThreshold() error {
	t := &r.tally
	total := t.ok + t.failed + t.overflow
	if r.cfg.FailedThreshold < 0 || r.phase != profiling || total < max(r.cfg.Concurrency, 10) {
		return nil
	}
	if float64(t.failed) > r.cfg.FailedThreshold*float64(total) {
		return &AbortError{Failed: t.failed, Total: total, Threshold: r.cfg.FailedThreshold}
	}
	return nil
}

// AbortError says that the run ended itself because too many requests failed.
type AbortError struct {
	Failed, Total int
	Threshold     float64
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("failed_request_threshold: %d of %d requests failed, more than %g of them; look at the engine's log and at error_summary", e.Failed, e.Total, e.Threshold)
}

func seconds(s float64) record.Stamp { return record.Stamp(s * 1e9) }
