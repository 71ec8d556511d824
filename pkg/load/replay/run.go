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
	gone     chan struct{}        // closed when nobody listens to landed any more
	aloft    map[*flight]struct{} // in flight
	launched []*flight            // since the last account
	inFlight int
	lastSend record.Stamp
	patience time.Duration // warm-up: longest wait for answers after the last send; 0 = without limit

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
		landed: make(chan *flight, 4*cfg.Concurrency+64), gone: make(chan struct{}), aloft: map[*flight]struct{}{},
		out: Outcome{Played: map[string]int{}},
	}
	r.health.every = cfg.SampleEvery
	r.health.start(clock.Now())
	for _, s := range samplers(cfg, len(work.Traces)) {
		r.lanes = append(r.lanes, &lane{sampler: s})
	}
	defer close(r.gone)
	err := r.play(ctx)
	r.cutOff()
	return r.out, err
}

// play goes through the steps of a run.
func (r *run) play(ctx context.Context) error {
	r.enterFlights(ctx)
	for l := range r.lanes {
		if ctx.Err() != nil {
			return r.stopped(ctx, nil)
		}
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

// loop handles answers, fires what is due and waits for the next event, until
// done says that the step is over, the deadline passes, ctx ends or warm-up's
// patience does. From the deadline or the end of ctx on nothing is sent, not even
// what an answer of that very moment would let go.
func (r *run) loop(ctx context.Context, deadline record.Stamp, done func() bool) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var landed *flight
	for {
		now := r.clock.Now()
		over := ctx.Err() != nil || deadline.Seen() && now >= deadline
		if over {
			r.halt()
		}
		if err := r.landAll(landed); err != nil || over {
			return err
		}
		r.fire(now, deadline)
		r.account()
		if r.health.due(now) {
			r.sample(now)
		}
		if done() || r.impatient(now) {
			return nil
		}
		timer.Reset(max(0, r.clock.Until(r.wake(deadline))))
		landed = nil
		select {
		case landed = <-r.landed:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// landAll handles an answer, if one is given, and those that came in meanwhile.
func (r *run) landAll(f *flight) error {
	for {
		if f != nil {
			if err := r.land(f); err != nil {
				return err
			}
		}
		select {
		case f = <-r.landed:
		default:
			return nil
		}
	}
}

// impatient reports whether warm-up has waited too long for its last answers.
func (r *run) impatient(now record.Stamp) bool {
	return r.patience > 0 && r.inFlight > 0 && r.agenda.next() == nil && now >= r.lastSend.Add(r.patience)
}

// fire sends every turn whose time has come.
func (r *run) fire(now, deadline record.Stamp) {
	if r.phase == draining {
		return
	}
	for {
		r.applyCaps(now)
		p := r.agenda.next()
		if p == nil {
			return
		}
		due := r.agenda.due(p)
		if due > now || deadline.Seen() && due >= deadline {
			return
		}
		r.ripe(p, r.agenda.pop(p), due, now)
	}
}

// ripe sends a turn that is due, or holds it until gates and children let it go.
func (r *run) ripe(p *play, s *stream, due, now record.Stamp) {
	s.due = due
	if r.phase == primers {
		r.issue(p, s, due, record.KindPrimer)
		return
	}
	if p.free(s.turn()) {
		r.dispatch(p, s, due)
		return
	}
	s.state = waiting
	p.held = append(p.held, s)
	p.capFloor, r.capFloor = now, now
	p.seeJoin(s, due)
}

// dispatch sends a turn that nothing holds any more since ready.
func (r *run) dispatch(p *play, s *stream, ready record.Stamp) {
	switch lane := r.lanes[p.lane]; {
	case r.phase == profiling:
		r.issue(p, s, ready, record.KindTurn)
	case r.phase == pressure && (r.cfg.WarmupPerLane == 0 || lane.used < r.cfg.WarmupPerLane):
		lane.used++
		r.issue(p, s, ready, record.KindPressure)
	default: // the next step goes on with it
		s.idle()
		return
	}
	for _, b := range s.turn().SpawnOnIssue {
		r.spawn(p, b, ready)
	}
}

// release sends the held turns that may go now.
func (r *run) release(p *play, at record.Stamp) {
	held := p.held
	p.held = p.held[:0]
	for _, s := range held {
		switch ready := max(at, s.due); {
		case p.free(s.turn()):
			r.dispatch(p, s, ready)
		default:
			p.seeJoin(s, ready)
			p.held = append(p.held, s)
		}
	}
}

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
	r.health.saw(&f.record)
	r.count(&f.record)
	r.sink.Request(f.record)
	if a.Kind == record.KindPrimer {
		return r.primed(f, at)
	}
	abort := r.checkThreshold()
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
	if float64(t.failed)/float64(total) > r.cfg.FailedThreshold {
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

// seconds is a recorded time as a distance on the clock. Ten years are more than
// any run lasts, and their sums are no overflow.
func seconds(s float64) record.Stamp { return record.Stamp(min(s, 10*365*86400) * 1e9) }
