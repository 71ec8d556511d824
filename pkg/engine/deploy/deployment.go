package deploy

import (
	"context"
	"sync"
	"time"

	"github.com/org/agentx-action/pkg/engine/gpu"
)

// Deployment is an engine that is ready. [Bring] makes it, Close ends it.
type Deployment struct {
	// Name that nobody else has.
	Name string
	// URL is where it answers.
	URL string
	// MetricsURLs are its metrics pages; there is at least one.
	MetricsURLs []string
	// Facts is what was really started.
	Facts Facts
	// Model that the first completion was asked of.
	Model string
	// ProbePromptTokens is what the first completion cost of the engine's cache; 0
	// when it did not say.
	ProbePromptTokens int64
	// GPUs are those whose memory the engine took, as they were when it was ready;
	// nil where nobody was asked, or gave an answer.
	GPUs []gpu.Device
	// Foreign says who held memory of these before the start, a line each.
	Foreign []string
	// TimeToReady is from the sweep to the last step.
	TimeToReady time.Duration

	plan    Plan
	before  *gpuState // the GPUs then; nil when not known
	seen    bool      // nvidia-smi lists its processes
	say     *progress
	log     *capture
	output  *Redactor
	engine  Engine
	began   time.Time
	readyAt time.Time

	died     chan struct{}
	cause    error // set before died is closed
	stopping chan struct{}
	stop     sync.Once

	closing sync.Mutex // one Close at a time; guards what follows
	down    bool

	hurrying sync.Mutex // guards what follows
	end      time.Time  // of the Close that works
	hurry    context.CancelFunc
}

// Died is closed when the engine ended without being asked to.
func (d *Deployment) Died() <-chan struct{} { return d.died }

// Cause is why it died, a [*DiedError]; nil while it has not.
func (d *Deployment) Cause() error {
	select {
	case <-d.died:
		return d.cause
	default:
		return nil
	}
}

func (d *Deployment) watch() {
	select {
	case <-d.stopping:
		return
	case <-d.engine.Exited():
	}
	select {
	case <-d.stopping:
		return // we ended it
	default:
	}
	d.cause = &DiedError{
		Name: d.Name, After: time.Since(d.readyAt), Err: d.engine.Err(), Evidence: d.log.evidence(),
	}
	close(d.died)
}

// Close takes the engine down and returns when it is proven gone, or with what is
// still there. It takes [Plan.Down] at most, or until ctx's deadline where that is
// sooner; that ctx was cancelled does not keep it from its work. KILL comes half way
// to that end at the latest. Closing again is no error, and tries again what failed.
// A Close with less time than one that works ends that one's patience: what still
// runs is killed.
func (d *Deployment) Close(ctx context.Context) error {
	d.stop.Do(func() { close(d.stopping) })
	ctx, cancel := d.closingTime(ctx)
	defer cancel()
	d.overtake(ctx)
	d.closing.Lock()
	defer d.closing.Unlock()
	if d.down {
		return nil
	}
	began := time.Now()
	ctx, done := d.workUntil(ctx)
	defer done()
	d.say.line("taking it down")
	gpus := d.leased(ctx)
	grace := d.plan.Grace
	if end, ok := ctx.Deadline(); ok {
		grace = min(grace, time.Until(end)/2)
	}
	err := d.engine.Stop(ctx, grace)
	if err == nil {
		err = d.released(ctx, gpus)
	}
	d.endLog()
	if err != nil {
		d.say.line("not gone after %s: %v", short(time.Since(began)), err)
		return err
	}
	d.down = true
	d.say.line("gone after %s", short(time.Since(began)))
	return nil
}

// workUntil tells later calls that this one works, and how to end its patience.
func (d *Deployment) workUntil(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	d.hurrying.Lock()
	defer d.hurrying.Unlock()
	d.end, _ = ctx.Deadline()
	d.hurry = cancel
	return ctx, func() {
		d.hurrying.Lock()
		defer d.hurrying.Unlock()
		d.hurry = nil
		cancel()
	}
}

// overtake ends the patience of a Close that has more time than ctx.
func (d *Deployment) overtake(ctx context.Context) {
	d.hurrying.Lock()
	defer d.hurrying.Unlock()
	const enough = time.Second // two that began together are not in a hurry
	if end, _ := ctx.Deadline(); d.hurry != nil && end.Before(d.end.Add(-enough)) {
		d.hurry()
	}
}

// closingTime is the context of a Close: its own, so that a cancelled run still
// cleans up.
func (d *Deployment) closingTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(d.plan.Down)
	if sooner, ok := ctx.Deadline(); ok && ctx.Err() == nil && sooner.Before(end) {
		end = sooner
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// endLog closes the log after the engine's last word.
func (d *Deployment) endLog() {
	_ = d.output.Flush() // a capture returns no error
	d.log.close()
}
