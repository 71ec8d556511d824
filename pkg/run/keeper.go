package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/gpu"
	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/result"
)

// Deploy says how the engine is brought up. The zero value uses the one at
// Client.URL, or the embedded one where Sim is given.
type Deploy struct {
	Driver deploy.Driver
	Plan   deploy.Plan // LogFile, Model, APIKey, Endpoint and NoMetrics are filled in
	Fresh  Fresh
	// Others are what dead runs of ours left that started their engines in another way:
	// it may hold a GPU all the same. What keeps them from being swept is passed over.
	Others []Sweeper
	// Name of the engine, where who starts it knows better than its metrics page tells.
	Name string
	// Hurry is set where whoever cancels a run kills it soon after: the engine then
	// has 2.5 s between TERM and KILL (decisions.md 34).
	Hurry bool
	// Will takes what is to be done at the last moment before the program ends,
	// which is to kill the engine; what it returns takes that back. nil takes none.
	Will func(last func(context.Context)) (revoke func())
}

// Sweeper takes away what dead runs of ours left, and says in a line each what it was.
type Sweeper interface {
	Sweep(ctx context.Context) ([]string, error)
}

// Fresh says when a new engine is brought up in place of the one before.
type Fresh string

// An engine for the whole run, whose cache is reset between the points; one for
// every concurrency, with its baseline; one for every single result.
const (
	FreshRun         Fresh = "run"
	FreshConcurrency Fresh = "concurrency"
	FreshPoint       Fresh = "point"
)

// keeper keeps the engine that is measured. The zero keeper has none.
type keeper struct {
	o   *Options
	say *progress
	log string // of the engine that is up
	up  *deploy.Deployment

	revoke func() // the will that kills it
}

// engineDied says that the engine ended by itself.
type engineDied struct{ cause error }

func (e *engineDied) Error() string { return "the engine died: " + e.cause.Error() }
func (e *engineDied) Unwrap() error { return e.cause }

// deploys reports whether an engine is ours to bring up.
func (o *Options) deploys() bool { return o.Deploy.Driver != nil || o.Sim != nil }

// renew brings an engine up, in place of the one before. Its output goes into dir.
func (k *keeper) renew(ctx context.Context, dir string) error {
	if !k.o.deploys() {
		return nil
	}
	if err := k.close(ctx); err != nil {
		return err
	}
	driver, plan := k.o.Deploy.Driver, k.o.Deploy.Plan
	plan.Model, plan.APIKey, plan.Endpoint, plan.NoMetrics = k.model(), k.o.Client.APIKey, k.o.Client.Endpoint, k.o.NoMetrics
	plan.Progress = k.o.Progress
	if k.o.Deploy.Hurry && (plan.Grace == 0 || plan.Grace > hurriedDown/2) {
		plan.Grace = hurriedDown / 2
	}
	if driver == nil {
		server, err := sim.New(*k.o.Sim)
		if err != nil {
			return &UsageError{err}
		}
		driver = deploy.Serve(func(ctx context.Context, l net.Listener) error {
			return errors.Join(server.Serve(ctx, l), server.Close())
		})
		plan.NoMetrics, plan.Progress, plan.Answer = true, nil, embeddedAnswer
	} else {
		k.log = filepath.Join(dir, result.FileEngineLog)
		plan.LogFile, plan.LogShown = k.log+logPartial, k.log
	}
	k.sweepOthers(ctx)
	up, err := deploy.Bring(ctx, driver, plan)
	if err != nil {
		return errors.Join(err, k.keepLog())
	}
	k.up = up
	if k.o.Deploy.Will != nil {
		k.revoke = k.o.Deploy.Will(func(ctx context.Context) { _ = up.Close(ctx) })
	}
	if k.o.Sim != nil {
		k.say.say("engine: embedded simulator at %s", up.URL)
	}
	return nil
}

// embeddedAnswer is plenty for an engine that has nothing to load.
const embeddedAnswer = 2 * time.Second

// sweepTimeout bounds a sweep that is a courtesy.
const sweepTimeout = 20 * time.Second

func (k *keeper) sweepOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	for _, d := range k.o.Deploy.Others {
		taken, err := d.Sweep(ctx)
		for _, line := range taken {
			k.say.say("%s", line)
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			k.say.say("note: leftovers of other kinds of engines were not looked for: %v", err)
		}
	}
}

// logPartial ends the name of the log of an engine that may still write to it.
const logPartial = ".partial"

func (k *keeper) model() string {
	if len(k.o.Models) > 0 {
		return k.o.Models[0]
	}
	return ""
}

// use points a run's options at the engine.
func (k *keeper) use(o *Options) {
	if k.up == nil {
		return
	}
	o.Client.URL = k.up.URL
	if len(o.MetricsURLs) == 0 {
		o.MetricsURLs = k.up.MetricsURLs
	}
}

// watch ends a context when the engine dies, and says so as its cause.
func (k *keeper) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	if k.up == nil {
		return ctx, func() {}
	}
	up := k.up
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-up.Died():
			cancel(&engineDied{up.Cause()})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// diedOf is the engine's death where that ended a context.
func diedOf(ctx context.Context) *engineDied {
	var died *engineDied
	if errors.As(context.Cause(ctx), &died) {
		return died
	}
	return nil
}

// ended is why a context that was cancelled was: the engine died, or the user asked.
func ended(ctx context.Context) error {
	if died := diedOf(ctx); died != nil {
		return died
	}
	return ErrCancelled
}

// hurriedDown is how long an engine is given where a cancelled run will soon be
// killed itself; half of it between TERM and KILL.
const hurriedDown = 5 * time.Second

// close takes the engine down and gives its log its final name.
func (k *keeper) close(ctx context.Context) error {
	if k.up == nil {
		return nil
	}
	up := k.up
	k.up = nil
	down := context.WithoutCancel(ctx)
	if k.o.Deploy.Hurry && ctx.Err() != nil {
		var cancel context.CancelFunc
		down, cancel = context.WithTimeout(down, hurriedDown)
		defer cancel()
	}
	err := up.Close(down)
	if k.revoke != nil {
		k.revoke()
	}
	if err != nil {
		err = fmt.Errorf("the engine was not taken down whole: %w", err)
	}
	return errors.Join(err, k.keepLog())
}

// keepLog gives the log its final name, and lists it with the files of the run in
// its folder.
func (k *keeper) keepLog() error {
	if k.log == "" {
		return nil
	}
	name := k.log
	k.log = ""
	if err := os.Rename(name+logPartial, name); errors.Is(err, os.ErrNotExist) {
		return nil // it had no chance to say anything
	} else if err != nil {
		return fmt.Errorf("the engine's log has no final name: %w", err)
	}
	err := result.Add(filepath.Dir(name), result.FileEngineLog)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the folder of a sweep, or of a run that came to nothing
	}
	return err
}

// facts adds what was really started.
func (k *keeper) facts(f *result.EngineFacts) {
	if k == nil || k.up == nil || k.o.Sim != nil {
		return
	}
	e := k.up.Facts
	f.Driver, f.Args, f.Image, f.Env = e.Driver, e.Args, e.Image, e.Env
	if e.Replicas > 1 {
		f.Replicas = &e.Replicas
	}
}

// gpus are the engine's own, with who else uses them; known tells whether they were
// looked for, on this machine.
func (k *keeper) gpus() (own []gpu.Device, foreign []string, known bool) {
	if k == nil || k.up == nil {
		return nil, nil, false
	}
	return k.up.GPUs, k.up.Foreign, k.up.GPUs != nil
}

// probed is how many prompt tokens the engine processed to prove that it is ready.
func (k *keeper) probed() float64 {
	if k == nil || k.up == nil {
		return 0
	}
	return float64(k.up.ProbePromptTokens)
}
