package replay

import (
	"context"
	"time"

	"github.com/org/agentx-action/pkg/load/health"
	"github.com/org/agentx-action/pkg/result/record"
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
	streak   int           // failed requests of warm-up step B without another between them
	patience time.Duration // warm-up: longest wait for answers after the last send; 0 = without limit

	idleSince, capFloor record.Stamp // of the whole system
	trees, requests     int
	tally               health.Tally
	health              health.Watch
	out                 Outcome
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
	r.health.Every = cfg.SampleEvery
	r.health.Start(clock.Now())
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
		if r.health.Due(now) {
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

// seconds is a recorded time as a distance on the clock. Ten years are more than
// any run lasts, and their sums are no overflow.
func seconds(s float64) record.Stamp { return record.Stamp(min(s, 10*365*86400) * 1e9) }
