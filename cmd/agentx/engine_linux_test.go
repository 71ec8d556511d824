package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/validity"
)

// These tests run the program as a user does, with an engine in processes of its
// own, and look into /proc for what is left.

// job is one agentx on its way.
type job struct {
	*exec.Cmd
	t     *testing.T
	home  string
	dir   string
	stale string // found in the environment of everything the job starts
	out   bytes.Buffer
	done  chan error
}

// stubborn is an engine that doesn't end when asked to.
var stubborn = []string{"/bin/sh", "-c", `trap "" TERM INT; agentx sim --port {port} & wait; while :; do sleep 1; done`}

// start starts agentx run with an engine of its own. A nil command is the preset's.
func start(t *testing.T, home string, engine []string, env []string, more ...string) *job {
	t.Helper()
	program, err := exec.LookPath("agentx")
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	args := []string{"run", "--driver", "process", "--model", "sim", "--no-fixed", "--concurrency", "2",
		"--benchmark-duration", "60", "--output-artifact-dir", filepath.Join(home, "artifacts"), "--engine-env", "AGENTX_TEST=" + mark}
	if engine == nil {
		args = append(args, "--engine", "sim")
	}
	for _, w := range engine {
		args = append(args, "--engine-command="+w)
	}
	j := &job{t: t, home: home, dir: filepath.Join(home, "artifacts"), stale: "AGENTX_TEST=" + mark, done: make(chan error, 1)}
	j.Cmd = exec.Command(program, append(args, more...)...)
	j.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, env...)
	j.Stdout, j.Stderr = &j.out, &j.out
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { j.done <- j.Wait() }()
	t.Cleanup(func() {
		_ = j.Process.Kill()
		for _, pid := range j.engine() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return j
}

// engine lists the processes that the job's engine consists of.
func (j *job) engine() (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append(text, 0), []byte(j.stale+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		if pid != j.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// measuring waits until a file of the run holds a text.
func (j *job) until(file, text string) {
	j.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if b, _ := os.ReadFile(filepath.Join(j.dir, file)); bytes.Contains(b, []byte(text)) {
			return
		}
		select {
		case err := <-j.done:
			j.t.Fatalf("it ended before (%v):\n%s", err, j.out.String())
		default:
		}
	}
	_ = j.Process.Kill()
	j.t.Fatalf("%s never held %q", file, text)
}

// code waits for the end, and gives the exit code.
func (j *job) code(limit time.Duration) int {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), limit)
	defer cancel()
	select {
	case err := <-j.done:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		return 0
	case <-ctx.Done():
		j.t.Fatalf("still running after %v", limit)
	}
	return -1
}

// clean demands that nothing of the engine is left, and that what was measured is
// on disk, whole.
func (j *job) clean(cancelledBy string) {
	j.t.Helper()
	if pids := j.engine(); len(pids) > 0 {
		j.t.Errorf("processes of the engine are left: %v", pids)
	}
	if err := result.Verify(j.dir); err != nil {
		j.t.Errorf("the artifacts: %v\n%s", err, j.out.String())
	}
	doc, err := result.Read(j.dir)
	if err != nil {
		j.t.Fatalf("%v\n%s", err, j.out.String())
	}
	if doc.Outcome.CancelledBy != cancelledBy {
		j.t.Errorf("ended by %q, want %q", doc.Outcome.CancelledBy, cancelledBy)
	}
	var codes []string
	for _, f := range doc.Validity.Findings {
		codes = append(codes, f.Code)
	}
	if text := strings.Join(codes, " "); !strings.Contains(text, validity.RunCancelled) {
		j.t.Errorf("findings %s, want %s", text, validity.RunCancelled)
	}
	if _, err := os.Stat(filepath.Join(j.dir, result.FileEngineLog)); err != nil {
		j.t.Error(err)
	}
}

const profilingLine = `"phase":"profiling"`

func TestEngineDies(t *testing.T) {
	for _, c := range []struct{ name, file, text string }{
		{"in warm-up", "records.jsonl", `"phase":"warmup"`},
		{"in profiling", "records.jsonl", profilingLine},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := start(t, t.TempDir(), nil, nil)
			j.until(c.file, c.text)
			for _, pid := range j.engine() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if code := j.code(30 * time.Second); code != exitFailed {
				t.Errorf("exit code %d, want %d\n%s", code, exitFailed, j.out.String())
			}
			if !strings.Contains(j.out.String(), "the engine died") {
				t.Errorf("nothing is said of the engine's death:\n%s", j.out.String())
			}
			j.clean("engine_died")
		})
	}
}

func TestTerminated(t *testing.T) {
	t.Parallel()
	j := start(t, t.TempDir(), nil, nil)
	j.until("records.jsonl", profilingLine)
	_ = j.Process.Signal(syscall.SIGTERM)
	if code := j.code(30 * time.Second); code != exitFailed {
		t.Errorf("exit code %d, want %d\n%s", code, exitFailed, j.out.String())
	}
	j.clean("user")
}

// GitHub sends SIGINT, SIGTERM 7.5 s later, and kills 2.5 s after that
// (decisions.md 34). The engine ends by nothing but KILL.
func TestCancelledByGitHub(t *testing.T) {
	t.Parallel()
	j := start(t, t.TempDir(), stubborn, []string{"GITHUB_ACTIONS=true"})
	j.until("records.jsonl", profilingLine)
	_ = j.Process.Signal(os.Interrupt)
	term := time.AfterFunc(7500*time.Millisecond, func() { _ = j.Process.Signal(syscall.SIGTERM) })
	kill := time.AfterFunc(10*time.Second, func() { _ = j.Process.Kill() })
	defer term.Stop()
	defer kill.Stop()
	if code := j.code(30 * time.Second); code != exitFailed {
		t.Errorf("exit code %d, want %d: it was ended before its work was done\n%s", code, exitFailed, j.out.String())
	}
	j.clean("user")
}

// A run that is killed can't clean up; the next one does.
func TestKilledRunIsSwept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	killed := start(t, home, stubborn, nil)
	killed.until("records.jsonl", profilingLine)
	_ = killed.Process.Kill()
	<-killed.done
	if len(killed.engine()) == 0 {
		t.Fatal("the engine ended with its owner: this test tells nothing")
	}
	next := start(t, home, nil, nil, "--benchmark-duration", "2")
	if code := next.code(2 * time.Minute); code != exitDone {
		t.Errorf("exit code %d\n%s", code, next.out.String())
	}
	if pids := killed.engine(); len(pids) > 0 {
		t.Errorf("the killed run's engine still runs: %v\n%s", pids, next.out.String())
	}
}

// Two runs on one machine don't touch each other.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := start(t, home, nil, nil, "--benchmark-duration", "6")
	a.until("records.jsonl", `"phase":"warmup"`)
	b := start(t, home, nil, nil, "--benchmark-duration", "2", "--output-artifact-dir", filepath.Join(home, "other"))
	for name, j := range map[string]*job{"first": a, "second": b} {
		if code := j.code(2 * time.Minute); code != exitDone {
			t.Errorf("%s: exit code %d\n%s", name, code, j.out.String())
		}
		if pids := j.engine(); len(pids) > 0 {
			t.Errorf("%s: processes are left: %v", name, pids)
		}
	}
}
