package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// lastWords is how long the second signal leaves for killing an engine of ours.
const lastWords = 2 * time.Second

// will is what is still to be done when the program is about to end.
type will struct {
	mu      sync.Mutex
	last    func(context.Context)
	folders []string
}

// bequeath names a folder or file that is written: when the program ends, its owner
// is to be who the runner's user is.
func (w *will) bequeath(folder string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.folders = append(w.folders, folder)
}

// handOver does that.
func (w *will) handOver(stderr io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.give(stderr)
}

func (w *will) give(stderr io.Writer) {
	if err := giveToOwner(w.folders); err != nil {
		fmt.Fprintln(stderr, "agentx:", err)
	}
}

// leave states it; what it returns takes it back.
func (w *will) leave(last func(context.Context)) (revoke func()) {
	w.set(last)
	return func() { w.set(nil) }
}

func (w *will) set(last func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = last
}

func (w *will) execute() {
	w.mu.Lock() // and keeps it: whoever takes a will back, or ends the program, waits
	if w.last == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	w.last(ctx)
}

// interruptible returns a context that the first SIGINT or SIGTERM ends. The
// second executes the will and ends the program on the spot. GitHub sends it 7.5 s
// after the first, and kills 2.5 s later (decisions.md 34). Whoever closes our output
// (head, a pager) ends nothing: there is an engine to take down, and a result to write.
func interruptible(stderr io.Writer, w *will) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Asked for, the signal no longer ends the program; nobody listens. To ignore it
	// would be inherited by engines.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	quit := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-signals:
				if n > 0 {
					w.execute()
					w.give(stderr)
					os.Exit(128 + int(s.(syscall.Signal)))
				}
				fmt.Fprintln(stderr, "\nagentx: stopping in order (again to stop at once)")
				cancel()
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(quit)
		cancel()
	}
}
