package deploy

import (
	"context"
	"sync"
	"time"
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
	// Foreign says who held GPU memory before the start, a line each.
	Foreign []string
	// TimeToReady is from the sweep to the last step.
	TimeToReady time.Duration

	plan    Plan
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
func (d *Deployment) Close(ctx context.Context) error {
	d.stop.Do(func() { close(d.stopping) })
	d.closing.Lock()
	defer d.closing.Unlock()
	if d.down {
		return nil
	}
	began := time.Now()
	ctx, cancel := d.closingTime(ctx)
	defer cancel()
	d.say.line("taking it down")
	var pids []int
	if e, ok := d.engine.(processes); ok && d.plan.GPUs != nil {
		pids = e.PIDs(ctx)
	}
	grace := d.plan.Grace
	if end, ok := ctx.Deadline(); ok {
		grace = min(grace, time.Until(end)/2)
	}
	err := d.engine.Stop(ctx, grace)
	if err == nil {
		err = released(ctx, d.plan.GPUs, pids)
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

// Kill ends the engine at once, whatever Close is waiting for at the moment. The
// log may lack its last lines.
func (d *Deployment) Kill(ctx context.Context) error {
	d.stop.Do(func() { close(d.stopping) })
	return d.engine.Stop(ctx, 0)
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
