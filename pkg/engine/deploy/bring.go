package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/org/agentx-action/pkg/engine/scrape"
)

// Bring sweeps what dead runs left, starts a fresh engine, and returns when it is
// ready as the plan says. Its error is a [*StartError]; then nothing of the engine
// is left, or Teardown says what is. The deployment's Close takes the engine down;
// the end of ctx after Bring has returned does not.
func Bring(ctx context.Context, d Driver, p Plan) (*Deployment, error) {
	p = p.withDefaults()
	dep := &Deployment{
		Name:     NewName(),
		plan:     p,
		say:      &progress{w: p.Progress},
		began:    time.Now(),
		died:     make(chan struct{}),
		stopping: make(chan struct{}),
	}
	dep.say.name = dep.Name
	if err := dep.sweep(ctx, d); err != nil {
		return nil, &StartError{Name: dep.Name, Step: StepSweep, Err: err}
	}
	if p, ok := d.(preparer); ok {
		if err := p.Prepare(ctx); err != nil {
			return nil, &StartError{Name: dep.Name, Step: StepStart, Err: err}
		}
	}
	dep.askGPUs(ctx)

	dep.log = newCapture(p.LogFile, p.LogLimit, func(what string) { dep.say.line("%s", what) })
	dep.log.shown = p.LogShown
	dep.output = SecretsOf(nil, []Var{{Value: p.APIKey, Secret: true}}).Redact(dep.log)
	dep.say.line("starting")
	engine, err := d.Start(ctx, dep.Name, dep.output)
	if err != nil {
		dep.endLog()
		return nil, &StartError{Name: dep.Name, Step: StepStart, Err: err, Evidence: dep.evidence(ctx)}
	}
	dep.engine = engine

	settled := false
	defer func() {
		if !settled { // a panic
			_ = dep.Close(ctx)
		}
	}()
	step, err := dep.await(ctx)
	settled = true
	if err != nil {
		// What it says while it is taken down is no evidence.
		failed := &StartError{Name: dep.Name, Step: step, Err: err, Evidence: dep.evidence(ctx)}
		failed.Teardown = dep.Close(ctx)
		return nil, failed
	}
	dep.findGPUs(ctx)
	dep.readyAt = time.Now()
	dep.TimeToReady = dep.readyAt.Sub(dep.began)
	dep.log.survived()
	dep.say.line("ready after %s", short(dep.TimeToReady))
	go dep.watch()
	return dep, nil
}

func (d *Deployment) sweep(ctx context.Context, driver Driver) error {
	ctx, cancel := context.WithTimeout(ctx, d.plan.Down)
	defer cancel()
	taken, err := driver.Sweep(ctx)
	for _, line := range taken {
		d.say.print(line)
	}
	if err != nil {
		return fmt.Errorf("leftovers of an earlier run can't be taken away: %w", err)
	}
	return nil
}

// preparer is a [Driver] that fetches what it needs before the GPUs are asked: that
// may take long, and what reads them may be among it.
type preparer interface {
	Prepare(ctx context.Context) error
}

// evidence of a start that failed. An engine that was told to end may complain of
// that: nothing it says then is the cause.
func (d *Deployment) evidence(ctx context.Context) Evidence {
	e := d.log.evidence()
	if ctx.Err() != nil {
		e.Fatal, e.Advice = "", ""
	}
	return e
}

// await takes the steps of becoming ready, each with its deadline, and names the
// one that failed.
func (d *Deployment) await(ctx context.Context) (step string, err error) {
	d.URL, d.Facts = d.engine.URL(), d.engine.Facts()
	a, err := newAddress(d.URL, d.plan.Endpoint, d.plan.HealthPath)
	if err != nil {
		return StepHealth, err
	}
	if d.MetricsURLs, err = metricsOf(d.engine); err != nil {
		return StepMetrics, err
	}
	p := newProbe(a, d.plan, d.MetricsURLs)
	defer p.close()

	ctx, stop := withEngine(ctx, d.engine)
	defer stop()
	wait := &waiter{say: d.say, log: d.log}
	if err := wait.until(ctx, visible(a.health), d.plan.Load, p.healthy); err != nil {
		return StepHealth, err
	}
	var first completion
	err = wait.until(ctx, "a first completion", d.plan.Answer, func(ctx context.Context) (err error) {
		first, err = p.complete(ctx)
		return err
	})
	if err != nil {
		return StepCompletion, err
	}
	d.Model = p.model
	if first.PromptTokens != nil {
		d.ProbePromptTokens = *first.PromptTokens
	}
	d.say.line("%s answers: %v", d.Model, first)
	if d.plan.NoMetrics {
		return "", nil
	}
	if err := wait.until(ctx, "metrics", d.plan.Metrics, p.measured); err != nil {
		return StepMetrics, err
	}
	return "", nil
}

func metricsOf(e Engine) ([]string, error) {
	pages := slices.Clone(e.MetricsURLs())
	if len(pages) == 0 {
		pages = []string{e.URL()}
	}
	for i, page := range pages {
		full, err := scrape.MetricsURL(page)
		if err != nil {
			return nil, err
		}
		pages[i] = full
	}
	return pages, nil
}

// ended is why a wait was given up: the engine is no more.
type ended struct{ err error }

func (e ended) Error() string {
	if e.err == nil {
		return "it ended by itself"
	}
	return fmt.Sprintf("it ended by itself: %v", e.err)
}

func (e ended) Unwrap() error { return e.err }

// withEngine is a context that ends with the engine.
func withEngine(ctx context.Context, e Engine) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-e.Exited():
			cancel(ended{e.Err()})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// waiter asks again and again, and tells the user what it waits for.
type waiter struct {
	say *progress
	log *capture

	mu   sync.Mutex
	last error // of the attempts
}

// Waits between two attempts.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// until asks until there is no error. It gives up when the limit is over, ctx
// ends, or waiting can't help.
func (w *waiter) until(ctx context.Context, what string, limit time.Duration, ask func(context.Context) error) error {
	began := time.Now()
	w.note(nil)
	tooLate := fmt.Errorf("nothing within %s", short(limit))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLate)
	defer cancel()
	w.say.line("waiting for %s, %s at most", what, short(limit))
	defer w.beat(ctx, what, began)()
	for pause := firstPause; ; pause = min(pause*3/2, lastPause) {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		var never hopeless
		switch {
		case ctx.Err() != nil:
			return w.why(ctx, what)
		case errors.As(err, &never):
			return err
		}
		w.note(err)
		if !sleep(ctx, pause) {
			return w.why(ctx, what)
		}
	}
}

// why the wait was given up, with what the last attempt saw.
func (w *waiter) why(ctx context.Context, what string) error {
	err := fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last != nil {
		err = fmt.Errorf("%w (last attempt: %w)", err, w.last)
	}
	return err
}

// note what the last attempt saw.
func (w *waiter) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = err
}

// beat tells now and then that the wait goes on; what it returns ends that.
func (w *waiter) beat(ctx context.Context, what string, began time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause := 10 * time.Second; sleep(ctx, pause); pause = min(pause*2, time.Minute) {
			line := fmt.Sprintf("%s and still waiting for %s", short(time.Since(began)), what)
			w.mu.Lock()
			if w.last != nil {
				line += fmt.Sprintf(" (%v)", w.last)
			}
			w.mu.Unlock()
			if last := w.log.lastLine(); last != "" {
				line += "; its log: " + cut(last, 120)
			}
			w.say.line("%s", line)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// progress writes the lines a user reads.
type progress struct {
	name string
	mu   sync.Mutex
	w    io.Writer
}

func (p *progress) line(format string, args ...any) {
	p.print("engine " + p.name + ": " + fmt.Sprintf(format, args...))
}

func (p *progress) print(line string) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, line)
}

// short is a duration as a user reads it.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func cut(text string, long int) string {
	if r := []rune(text); len(r) > long {
		return string(r[:long]) + " …"
	}
	return text
}
