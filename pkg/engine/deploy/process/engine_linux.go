package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Start starts the command.
func (d *Driver) Start(ctx context.Context, name string, logs io.Writer) (deploy.Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	switch {
	case len(d.Command) == 0 || d.Command[0] == "":
		return nil, errors.New("no command: give the engine's command line, such as vllm serve MODEL --port {port}")
	case !nameOfOurs.MatchString(name):
		return nil, fmt.Errorf("engine name %q: letters, digits, dots and dashes only", name)
	}
	if d.Port == 0 && !d.asksForPort() {
		return nil, fmt.Errorf("no %[1]s in the command or its environment: add --port %[1]s, or give the port that it listens on", portMark)
	}
	dir, err := d.stateDir()
	if err != nil {
		return nil, err
	}
	var claimed []int
	for _, s := range states(dir) {
		claimed = append(claimed, s.Port)
	}
	port, err := choosePort(d.Port, claimed)
	if err != nil {
		return nil, err
	}
	e := &engine{
		file: fileName(dir, name), port: port, End: deploy.NewEnd(), drained: make(chan struct{}),
		turn: make(chan struct{}, 1), stopping: make(chan struct{}, 1),
	}
	owner := deploy.Self().String()
	if e.tmp, err = d.makeTmp(); err != nil {
		return nil, err
	}
	note := state{Name: name, Owner: owner, Port: port, Tmp: e.tmp}
	if err := e.begin(d, dir, note, logs); err != nil {
		return nil, errors.Join(err, removeTmp(e.tmp))
	}
	note.PID, note.Start = e.family.leader.pid, e.family.leader.start
	if err := note.save(dir); err != nil { // the mark still tells
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("what was started can't be noted: %w", err), e.Stop(stop, time.Second))
	}
	return e, nil
}

// begin starts the command, noted before.
func (e *engine) begin(d *Driver, dir string, note state, logs io.Writer) (err error) {
	if e.cmd, err = d.command(e.port, note.Name, note.Owner, e.tmp); err != nil {
		return err
	}
	e.describe(d)
	if err := note.save(dir); err != nil {
		return fmt.Errorf("what is started can't be noted: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	if err := e.start(note.Name, logs, deploy.SecretsOf(e.cmd.Args, envWithPort(d.Env, e.port))); err != nil {
		_ = os.Remove(e.file)
		return err
	}
	return nil
}

// engine is a command that was started.
type engine struct {
	*deploy.End
	cmd    *exec.Cmd
	file   string // its state
	tmp    string // its temporary folder
	port   int
	url    string
	pages  []string
	facts  deploy.Facts
	output *os.File // the end of its output that we read

	drained chan struct{} // its output is read to the end

	turn     chan struct{} // held by who reads, ends or reaps the family
	family   *family
	stopping chan struct{} // held by Stop
	down     bool
}

func (e *engine) describe(d *Driver) {
	secrets := deploy.SecretsOf(d.Command, d.Env)
	e.url = fmt.Sprintf("http://127.0.0.1:%d", e.port)
	e.pages = allWithPort(d.Metrics, e.port)
	e.facts = deploy.Facts{
		Driver: "process",
		// With {port} as it was given: a picked port is no part of the identity, and
		// neither is the folder that the program lies in.
		Args: append([]string{filepath.Base(d.Command[0])}, secrets.MaskAll(d.Command[1:])...),
		Env:  secrets.MaskEnv(d.Env),
	}
}

func (e *engine) start(name string, logs io.Writer, secrets deploy.Secrets) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	e.output, e.cmd.Stdout, e.cmd.Stderr = r, w, w
	began := make(chan error)
	go e.live(name, began)
	err = <-began
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return fmt.Errorf("%s can't be started: %w", e.cmd.Args[0], err)
	}
	go e.drain(secrets.Redact(logs))
	return nil
}

// live starts the command and waits for its end, on one thread: the kernel sends
// the engine TERM when the thread that started it ends, so also when we are
// killed.
func (e *engine) live(name string, began chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := e.cmd.Start(); err != nil {
		began <- err
		return
	}
	pid := e.cmd.Process.Pid
	e.family = newFamily(name, look(pid))
	began <- nil

	for {
		// It stays a zombie, so that its session still tells who belongs to it.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	e.turn <- struct{}{}
	e.family.members()
	err := e.cmd.Wait()
	<-e.turn
	end := how(err, e.cmd.ProcessState)
	select {
	case <-e.drained:
	case <-time.After(lastWords): // a child holds the output
	}
	e.With(end)
}

// lastWords is how long the output of an engine that ended is waited for.
const lastWords = 300 * time.Millisecond

// drain reads the output until nobody holds it any more, or Stop closes it.
func (e *engine) drain(logs *deploy.Redactor) {
	defer close(e.drained)
	buf := make([]byte, 64<<10)
	for {
		n, err := e.output.Read(buf)
		if n > 0 {
			_, _ = logs.Write(buf[:n]) // an engine must not end because of its log
		}
		if err != nil {
			_ = logs.Flush()
			return
		}
	}
}

func (e *engine) URL() string           { return e.url }
func (e *engine) MetricsURLs() []string { return e.pages }
func (e *engine) Facts() deploy.Facts   { return e.facts }

// PIDs are the processes of the engine now.
func (e *engine) PIDs(ctx context.Context) []int {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-e.turn }()
	var pids []int
	for _, p := range e.family.members() {
		pids = append(pids, p.pid)
	}
	return pids
}

// Stop takes the engine down with all that belongs to it, and its port.
func (e *engine) Stop(ctx context.Context, grace time.Duration) error {
	if !take(ctx, e.stopping) {
		return fmt.Errorf("still being taken down: %w", context.Cause(ctx))
	}
	defer func() { <-e.stopping }()
	if e.down {
		return nil
	}
	if !take(ctx, e.turn) {
		return context.Cause(ctx)
	}
	_, err := e.family.end(ctx, grace)
	<-e.turn // now its first process can be reaped
	if err != nil {
		return err
	}
	// All writers are gone, so the output ends by itself.
	if !ended(ctx, e.Exited()) || !ended(ctx, e.drained) {
		return fmt.Errorf("its processes are gone, but its output is held open by %s", e.outputHolder())
	}
	_ = e.output.Close()
	if err := e.portClosed(ctx); err != nil {
		return err
	}
	if err := removeTmp(e.tmp); err != nil {
		return fmt.Errorf("its temporary folder can't be removed: %w", err)
	}
	if err := os.Remove(e.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	e.down = true
	return nil
}

// outputHolder is who left the engine's session and mark behind, but writes into
// its log. It is not killed: that is too little to call it ours.
func (e *engine) outputHolder() string {
	info, err := e.output.Stat()
	if err != nil {
		return err.Error()
	}
	pipe := fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino)
	return holder(map[string]bool{pipe: true}, everyProcess())
}

// portClosed waits until nobody listens on the engine's port.
func (e *engine) portClosed(ctx context.Context) error {
	for {
		open, holder := portOpen(e.port)
		if !open {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("port %d is still open, held by %s", e.port, holder)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// take holds a turn, unless ctx ends before it is free.
func take(ctx context.Context, turn chan struct{}) bool {
	select {
	case turn <- struct{}{}:
		return true
	default:
	}
	select {
	case turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// ended waits for a channel, a moment even when ctx is over.
func ended(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	case <-time.After(2 * lastWords):
		return false
	}
}
