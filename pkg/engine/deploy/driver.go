package deploy

import (
	"context"
	"io"
	"time"
)

// Driver starts engines of one kind.
type Driver interface {
	// Sweep takes away what runs of ours left whose owner is dead, and says what
	// it took, a line each. It touches nothing else.
	Sweep(ctx context.Context) ([]string, error)
	// Start starts an engine under a name that nobody else has, and returns as
	// soon as it runs; it is not ready yet. Its output goes to logs, from one
	// goroutine at a time. Nothing is left running when it returns an error.
	Start(ctx context.Context, name string, logs io.Writer) (Engine, error)
}

// Engine is one that was started. Its methods may be called at the same time.
type Engine interface {
	// URL is where it answers, as seen from here: http://127.0.0.1:31234.
	URL() string
	// MetricsURLs are its metrics pages, one for each server behind URL; empty
	// means /metrics of URL.
	MetricsURLs() []string
	// Facts is what was really started.
	Facts() Facts
	// Exited is closed when it ended, whoever ended it.
	Exited() <-chan struct{}
	// Err says how it ended, once Exited is closed: "exit status 1", "killed by
	// signal 9", "out of memory".
	Err() error
	// Stop takes it down: TERM, after grace KILL, then it waits until it is proven
	// gone. It returns at the end of ctx at the latest, with what is still there.
	// Stopping again, or what ended by itself, is no error.
	Stop(ctx context.Context, grace time.Duration) error
}

// Facts is what was really started; it goes into the result's identity.
type Facts struct {
	// Driver is url, process, docker, compose or sim.
	Driver string
	// Args is the effective command line, secrets masked.
	Args []string
	// Image with its digest, name@sha256:…, or the image's id where it has none.
	Image string
	// Env is the declared environment, secrets masked as [Masked].
	Env map[string]string
	// Replicas behind the URL, when more than one.
	Replicas int
}

// Masked stands in place of a secret.
const Masked = "***"

// Var is one declared variable of an engine's environment.
type Var struct {
	Name, Value string
	// Secret values reach the engine and nothing else: no log, result or listing.
	Secret bool
}
