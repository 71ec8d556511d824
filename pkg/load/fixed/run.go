package fixed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/org/agentx-action/pkg/load/health"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result/record"
)

// Outcome says how a run went.
type Outcome struct {
	Phases    []replay.Phase // warmup, profiling
	Cancelled bool           // the context was cancelled
	Lost      int            // requests that never reported back; the Sink has them as censored
	Short     int            // tokens that prompts shorter than the overhead could not give up
}

// FailedError says that too many of the measured requests failed
// (spec/inferencex.md §2.3).
type FailedError struct{ Failed, Total int }

func (e *FailedError) Error() string {
	return fmt.Sprintf("%d of %d requests failed, more than %g %%; look at the engine's log and at error_summary", e.Failed, e.Total, 100*failedLimit)
}

// run is the state of one run. Only the scheduler's goroutine touches it.
type run struct {
	cfg    Config
	maker  *maker
	sender replay.Sender
	sink   replay.Sink
	clock  record.Clock

	flights context.Context // of the requests in flight
	cancel  context.CancelCauseFunc
	landed  chan *flight
	gone    chan struct{} // closed when nobody listens to landed any more
	aloft   map[*flight]struct{}
	free    []slot

	phase  record.Phase
	warm   int // warm-ups that succeeded
	tally  health.Tally
	health health.Watch
	out    Outcome
}

// slot is a place under the cap.
type slot struct {
	num   int
	since record.Stamp // free since then
}

// flight is a request on its way.
type flight struct {
	slot   slot
	record record.Record
	text   *content // set by the request's goroutine, read when it has landed
	seen   record.Seen
}

// Run sends the warm-ups and then the measured prompts. It returns an error when
// the configuration is bad, when every warm-up failed, or with too many failures.
// Cancelling ctx ends the run in order: nothing new is sent, what is in flight is
// cut off and reported.
func Run(ctx context.Context, cfg Config, sender replay.Sender, sink replay.Sink, clock record.Clock) (Outcome, error) {
	if err := cfg.Check(); err != nil {
		return Outcome{}, err
	}
	cfg = cfg.Defaults()
	cfg.Warmups = max(cfg.Warmups, 0)
	r := &run{
		cfg: cfg, maker: newMaker(cfg), sender: sender, sink: sink, clock: clock,
		landed: make(chan *flight, cfg.Concurrency), gone: make(chan struct{}), aloft: map[*flight]struct{}{},
	}
	r.flights, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer r.cancel(replay.ErrRunEnded)
	defer close(r.gone)
	r.health.Every = cfg.SampleEvery
	r.health.Start(clock.Now())
	err := r.play(ctx)
	r.sample(clock.Now())
	return r.out, err
}

func (r *run) play(ctx context.Context) error {
	w := r.cfg.Warmups
	if w > 0 && r.send(ctx, "warmup", record.PhaseWarmup, 0, w) && r.warm == 0 {
		return fmt.Errorf("all %d warm-up requests failed; look at the engine's log and at error_summary", w)
	}
	if !r.out.Cancelled {
		r.send(ctx, "profiling", record.PhaseProfiling, w, w+r.cfg.Prompts)
	}
	failed := r.tally.Failed + r.tally.Overflow
	if total := failed + r.tally.OK; float64(failed) > failedLimit*float64(total) {
		return &FailedError{failed, total}
	}
	return nil
}

// send issues the prompts [from, to) as fast as the cap allows and waits for
// their answers. It reports whether it was left in peace.
func (r *run) send(ctx context.Context, name string, phase record.Phase, from, to int) bool {
	r.phase = phase
	start := r.clock.Now()
	r.out.Phases = append(r.out.Phases, replay.Phase{Name: name, Start: start})
	p := &r.out.Phases[len(r.out.Phases)-1]
	r.sink.Phase(*p)
	r.free = r.free[:0]
	for i := range r.cfg.Concurrency {
		r.free = append(r.free, slot{r.cfg.Concurrency - 1 - i, start})
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for next := from; (next < to || len(r.aloft) > 0) && ctx.Err() == nil; {
		for ; next < to && len(r.free) > 0 && ctx.Err() == nil; next++ {
			r.issue(next)
		}
		r.wait(timer, r.health.Next(), ctx.Done())
	}
	if ctx.Err() != nil {
		r.out.Cancelled = true
		r.cutOff(timer)
	}
	p.End = r.clock.Now()
	r.sink.Phase(*p)
	return !r.out.Cancelled
}

// wait handles the next answer, or a sample that is due, or neither at the end.
func (r *run) wait(timer *time.Timer, until record.Stamp, done <-chan struct{}) {
	timer.Reset(max(0, r.clock.Until(until)))
	select {
	case f := <-r.landed:
		r.land(f)
	case <-timer.C:
	case <-done:
	}
	if now := r.clock.Now(); r.health.Due(now) {
		r.sample(now)
	}
}

// issue sends the num-th prompt on a free slot.
func (r *run) issue(num int) {
	at := len(r.free) - 1
	s := r.free[at]
	r.free = r.free[:at]
	f := &flight{slot: s}
	f.record.Asked = r.ask(num, s)
	r.aloft[f] = struct{}{}
	go r.fly(f, f.record.Asked)
}

// ask fills in what is known of a prompt before it is written.
func (r *run) ask(num int, s slot) record.Asked {
	plan, id := r.maker.plans[num], uuid.NewString()
	index := num
	if r.phase == record.PhaseProfiling {
		index -= r.cfg.Warmups
	}
	return record.Asked{
		Num: num, Phase: r.phase, Kind: record.KindFixed, Lane: s.num,
		StreamID: "fixed:" + r.cfg.Shape.String(), Turn: index,
		RequestID: uuid.NewString(), CorrelationID: id, RootCorrelationID: id,
		Model: r.cfg.Model, MaxTokens: plan.osl, RecordedIn: plan.isl, RecordedOut: plan.osl,
		Due: s.since, Ready: s.since, Issued: r.clock.Now(),
	}
}

// fly writes the prompt and sends it, in a goroutine of its own so that prompts
// that go out together do not wait for each other.
func (r *run) fly(f *flight, asked record.Asked) {
	f.text = r.maker.prompt(asked.Num)
	f.text.describe(&asked, r.cfg.Endpoint)
	f.seen = r.sender.Send(r.flights, &asked, f.text)
	select {
	case r.landed <- f:
	case <-r.gone:
	}
}

// describe says what the text holds.
func (c *content) describe(a *record.Asked, e Endpoint) {
	a.TextTokens, a.MarkTokens = c.words, c.marker
	if e == Chat {
		a.Messages = 1
	}
}

// land handles an answer.
func (r *run) land(f *flight) {
	delete(r.aloft, f)
	f.record.Seen = f.seen
	if f.seen.Outcome == record.Censored && r.flights.Err() == nil {
		f.record.Seen.Outcome = record.Failed // nobody cut it off
	}
	a := &f.record.Asked
	f.text.describe(a, r.cfg.Endpoint)
	a.Digest = f.text.digest()
	r.out.Short += max(0, f.text.words+f.text.marker+r.cfg.OverheadTokens-a.RecordedIn)
	at := f.seen.End
	if !at.Seen() {
		at = r.clock.Now()
	}
	r.free = append(r.free, slot{f.slot.num, at})
	r.health.Saw(&f.record)
	r.report(&f.record)
}

func (r *run) report(rec *record.Record) {
	r.tally.Count(rec)
	if rec.Asked.Phase == record.PhaseWarmup && rec.Seen.Outcome == record.OK {
		r.warm++
	}
	r.sink.Request(*rec)
}

// cutOff cancels what is in flight and waits for at most the drain timeout.
func (r *run) cutOff(timer *time.Timer) {
	r.cancel(replay.ErrRunEnded)
	limit := r.clock.Now().Add(r.cfg.DrainTimeout)
	for len(r.aloft) > 0 && r.clock.Now() < limit {
		r.wait(timer, min(limit, r.health.Next()), nil)
	}
	r.out.Lost = len(r.aloft)
	lost := slices.Collect(maps.Keys(r.aloft))
	slices.SortFunc(lost, func(a, b *flight) int { return cmp.Compare(a.record.Asked.Num, b.record.Asked.Num) })
	for _, f := range lost {
		f.record.Seen = record.Seen{Outcome: record.Censored, End: r.clock.Now(),
			Error: &record.Error{Code: 499, Type: "lost", Message: "the request did not end when it was cancelled"}}
		r.report(&f.record)
	}
}

// sample reports the client's state since the last sample.
func (r *run) sample(now record.Stamp) {
	s := record.Sample{Phase: r.phase, InFlight: len(r.aloft)}
	r.tally.Fill(&s)
	r.health.Fill(&s, now)
	r.sink.Sample(s)
}
