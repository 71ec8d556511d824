package deploy

import "sync"

// End is how an engine ended, for drivers to build [Engine] upon. Make one with
// [NewEnd].
type End struct {
	once sync.Once
	done chan struct{}
	err  error // set before done is closed
}

// NewEnd is the end of an engine that still runs.
func NewEnd() *End { return &End{done: make(chan struct{})} }

// With says that the engine ended, and how; the first who says it is right.
func (e *End) With(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.done)
	})
}

// Exited is closed when it ended.
func (e *End) Exited() <-chan struct{} { return e.done }

// Err says how it ended, once Exited is closed.
func (e *End) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}
