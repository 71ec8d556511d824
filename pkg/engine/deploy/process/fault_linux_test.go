package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-json-experiment/json"
	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/process"
)

// bounded is a context that ends before the test binary does, so that a test that
// hangs fails with what it waits for.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// driver with a state folder of its own. When the test ends, nothing that runs
// may carry the mark of one of its engines, and the folder must be empty.
func driver(t *testing.T, flags ...string) *process.Driver {
	t.Helper()
	d := &process.Driver{Command: command(t, flags...), StateDir: filepath.Join(t.TempDir(), "engines")}
	own := "OWN_" + strings.ReplaceAll(t.Name(), "/", "_")
	d.Env = []deploy.Var{{Name: own, Value: "1"}}
	t.Cleanup(func() {
		if left := running(own + "=1"); len(left) > 0 {
			t.Errorf("left running: %v", left)
			for _, pid := range left {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if files, _ := filepath.Glob(filepath.Join(d.StateDir, "*")); len(files) > 0 {
			t.Errorf("left in the state folder: %v", files)
		}
	})
	return d
}

// running are the processes with a variable in their environment.
func running(pair string) []int {
	var pids []int
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+pair+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		pids = append(pids, pid)
	}
	return pids
}

func bring(t *testing.T, d deploy.Driver, p deploy.Plan) *deploy.Deployment {
	t.Helper()
	dep, err := deploy.Bring(bounded(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dep.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return dep
}

// fails brings an engine up that can't be.
func fails(t *testing.T, d deploy.Driver, p deploy.Plan, step string) *deploy.StartError {
	t.Helper()
	dep, err := deploy.Bring(bounded(t), d, p)
	var failed *deploy.StartError
	if !errors.As(err, &failed) {
		if dep != nil {
			_ = dep.Close(context.Background())
		}
		t.Fatalf("got %v, want a StartError", err)
	}
	if failed.Step != step {
		t.Errorf("failed at %s, want %s: %v", failed.Step, step, err)
	}
	if failed.Teardown != nil {
		t.Errorf("teardown: %v", failed.Teardown)
	}
	return failed
}

func mentions(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error does not mention %q:\n%v", word, err)
		}
	}
}

func TestUpAndDown(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghs_stolen")
	t.Setenv("NVIDIA_API_KEY", "nvapi-stolen")
	t.Setenv("CUDA_VISIBLE_DEVICES", "7")
	d := driver(t, "-env", "-api-key", "sk-argument")
	d.Env = append(d.Env, deploy.Var{Name: "HF_TOKEN", Value: "hf_declared", Secret: true},
		deploy.Var{Name: "ADDRESS", Value: "h:{port}"})
	p := plan()
	p.LogFile = filepath.Join(t.TempDir(), "engine.log")
	var said bytes.Buffer
	p.Progress = &said
	dep := bring(t, d, p)

	tmp := tmpOf(t, p.LogFile)
	if len(tmp) >= 60 || os.WriteFile(filepath.Join(tmp, "socket"), nil, 0o600) != nil {
		t.Errorf("no temporary folder of its own: %q", tmp)
	}
	if dep.Model != "fake" || dep.Facts.Driver != "process" || dep.URL+"/metrics" != dep.MetricsURLs[0] {
		t.Errorf("%+v", dep)
	}
	if args := strings.Join(dep.Facts.Args, " "); strings.Contains(args, "sk-argument") || !strings.Contains(args, "{port}") {
		t.Errorf("args are %s", args)
	}
	if got := dep.Facts.Env["HF_TOKEN"]; got != deploy.Masked {
		t.Errorf("HF_TOKEN is shown as %q", got)
	}
	for range 2 { // closing again is no error
		if err := dep.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(tmp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
	select {
	case <-dep.Died():
		t.Error("what we ended counts as died")
	default:
	}
	if conn, err := net.DialTimeout("tcp", strings.TrimPrefix(dep.URL, "http://"), time.Second); err == nil {
		_ = conn.Close()
		t.Error("the port is open")
	}
	log, err := os.ReadFile(p.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"ghs_stolen", "nvapi-stolen", "hf_declared", "sk-argument"} {
		if bytes.Contains(log, []byte(secret)) || strings.Contains(said.String(), secret) {
			t.Errorf("%s is in the log:\n%s", secret, log)
		}
	}
	for _, want := range []string{"HF_TOKEN=***", "CUDA_VISIBLE_DEVICES=7", "ADDRESS=h:", "SPT_NOENV=1", "listening"} {
		if !bytes.Contains(log, []byte(want)) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	t.Log(said.String())
}

// tmpOf is the temporary folder that an engine prints with its environment.
func tmpOf(t *testing.T, logFile string) string {
	t.Helper()
	log, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if _, dir, ok := strings.Cut(line, "TMPDIR="); ok {
			return strings.TrimSpace(dir)
		}
	}
	return ""
}

func TestNeverHealthy(t *testing.T) {
	p := plan()
	p.Load = 500 * time.Millisecond
	err := fails(t, driver(t, "-sick"), p, deploy.StepHealth)
	mentions(t, err, "HTTP 503", "nothing within 500ms", "| listening")
}

func TestHealthyButCompletionsFail(t *testing.T) {
	p := plan()
	p.Answer = 500 * time.Millisecond
	err := fails(t, driver(t, "-mute"), p, deploy.StepCompletion)
	mentions(t, err, "HTTP 500", "no worker")
}

func TestDiesWhileLoading(t *testing.T) {
	line := "(EngineCore_0 pid=1) ERROR 09-28 15:47:24 [core.py:718] ValueError: No available memory for the cache blocks."
	err := fails(t, driver(t, "-fail", line), plan(), deploy.StepHealth)
	mentions(t, err, "exit status 3", "raise --gpu-memory-utilization")
	if want := "ValueError: No available memory for the cache blocks."; err.Fatal != want {
		t.Errorf("fatal line is %q, want %q", err.Fatal, want)
	}
}

func TestDiesAfterReady(t *testing.T) {
	dep := bring(t, driver(t, "-say", "ValueError: harmless", "-fail-after", "torch.OutOfMemoryError: CUDA out of memory."), plan())
	if dep.Cause() != nil {
		t.Error("has a cause before its death")
	}
	select {
	case <-dep.Died():
	case <-bounded(t).Done():
		t.Fatal("its death was not noticed")
	}
	var died *deploy.DiedError
	if !errors.As(dep.Cause(), &died) || died.Fatal != "torch.OutOfMemoryError: CUDA out of memory." {
		t.Fatalf("cause is %v", dep.Cause())
	}
	mentions(t, died, "exit status 3", "what to do")
}

func TestIgnoresTERM(t *testing.T) {
	p := plan()
	p.Grace = 200 * time.Millisecond
	dep := bring(t, driver(t, "-stubborn"), p)
	if err := dep.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestChildThatWentAway(t *testing.T) {
	for _, flags := range [][]string{{"-away"}, {"-away", "-stubborn"}, {"-away", "-bare"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			p := plan()
			p.Grace = 200 * time.Millisecond
			dep := bring(t, driver(t, flags...), p)
			if n := len(childrenOf(t)); n != 1 {
				t.Fatalf("the engine has %d children, want 1", n)
			}
			if err := dep.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := childrenOf(t); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// childrenOf are the children that engines of this process started.
func childrenOf(t *testing.T) (pids []int) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		text, _ := os.ReadFile(name)
		parts := strings.Split(string(text), "\x00")
		if len(parts) < 2 || parts[1] != "fake-child" || parts[0] != command(t)[0] {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		pids = append(pids, pid)
	}
	return pids
}

// The engine's server is killed and its worker stays: vllm#55510.
func TestWorkerOutlivesItsServer(t *testing.T) {
	p := plan()
	p.Grace = 200 * time.Millisecond
	dep := bring(t, driver(t, "-away", "-fail-after", "boom"), p)
	select {
	case <-dep.Died():
	case <-bounded(t).Done():
		t.Fatal("its death was not noticed")
	}
	if len(childrenOf(t)) != 1 {
		t.Fatal("the worker is not there")
	}
	if err := dep.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := childrenOf(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestPortTaken(t *testing.T) {
	d := driver(t)
	d.Port = held(t)
	err := fails(t, d, plan(), deploy.StepStart)
	mentions(t, err, fmt.Sprintf("port %d is taken by process %d", d.Port, os.Getpid()))
}

func TestCommandMissing(t *testing.T) {
	d := driver(t)
	d.Command = []string{"no-such-engine", "serve", "--port=8000"}
	mentions(t, fails(t, d, plan(), deploy.StepStart), "add --port {port}")
	d.Port = 18000
	mentions(t, fails(t, d, plan(), deploy.StepStart), `"no-such-engine" is not in PATH`)
	d.Command = []string{"/no/such/engine"}
	mentions(t, fails(t, d, plan(), deploy.StepStart), "/no/such/engine can't be started")
	d.Command = nil
	mentions(t, fails(t, d, plan(), deploy.StepStart), "no command")
}

func TestDiskFullForLogs(t *testing.T) {
	full := map[string]string{"device": "/dev/full"}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err == nil {
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		full["tmpfs"] = filepath.Join(dir, "engine.log")
	} else {
		t.Logf("no tmpfs: %v", err)
	}
	for name, file := range full {
		t.Run(name, func(t *testing.T) {
			p := plan()
			p.LogFile = file
			var said bytes.Buffer
			p.Progress = &said
			dep := bring(t, driver(t, "-spam", "20000"), p)
			if err := dep.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(said.String(), "no space left"); n != 1 {
				t.Errorf("said %d times that the disk is full:\n%s", n, said.String())
			}
		})
	}
}

func TestCancelledWhileLoading(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user's interrupt")
	time.AfterFunc(300*time.Millisecond, func() { cancel(stop) })
	_, err := deploy.Bring(ctx, driver(t, "-sick"), plan())
	if !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
	var failed *deploy.StartError
	if errors.As(err, &failed); failed.Teardown != nil {
		t.Error(failed.Teardown)
	}
}

// GitHub cancels while a patient Close waits for an engine that won't end.
func TestCloseInAHurry(t *testing.T) {
	p := plan()
	p.Grace, p.Down = 30*time.Second, time.Minute
	dep := bring(t, driver(t, "-stubborn"), p)
	patient := make(chan error, 1)
	go func() { patient <- dep.Close(context.Background()) }()
	for len(running(marked(dep.Name))) == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // it waits
	ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
	defer cancel()
	if err := dep.Close(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("in a hurry: %v, %v", err, ctx.Err())
	}
	if err := <-patient; err != nil {
		t.Logf("the patient one: %v", err)
	}
}

// A run is killed; its engine doesn't even end when asked to. The next one takes
// it away.
func TestKilledOwnerIsSwept(t *testing.T) {
	for _, byMark := range []bool{false, true} {
		t.Run(fmt.Sprintf("by mark %v", byMark), func(t *testing.T) {
			d := driver(t)
			theirs := d.StateDir
			if byMark {
				theirs = filepath.Join(t.TempDir(), "elsewhere")
			}
			owner := exec.Command(command(t)[0], append([]string{"fake-agentx", theirs}, command(t, "-stubborn", "-away")...)...)
			out, err := owner.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			name, err := bufio.NewReader(out).ReadString('\n')
			name = strings.TrimSpace(name)
			if err != nil || !strings.HasPrefix(name, "agentx-") {
				t.Fatalf("%q, %v", name, err)
			}
			mark := marked(name)
			if got := len(running(mark)); got != 2 {
				t.Fatalf("%d processes run, want 2", got)
			}

			if taken, err := d.Sweep(bounded(t)); err != nil || len(taken) > 0 {
				t.Errorf("took what a living run uses: %v, %v", taken, err)
			}
			_ = owner.Process.Kill()
			_ = owner.Wait()
			if got := len(running(mark)); got != 2 {
				t.Fatalf("%d processes outlived their owner, want 2", got)
			}

			tmp := ""
			if text, err := os.ReadFile(filepath.Join(d.StateDir, name+".json")); err == nil {
				var noted struct{ Tmp string }
				if err := json.Unmarshal(text, &noted, json.MatchCaseInsensitiveNames(true)); err != nil || noted.Tmp == "" {
					t.Errorf("no temporary folder is noted: %s, %v", text, err)
				}
				tmp = noted.Tmp
			} else {
				tmp = process.TmpOf(running(mark)[0])
			}
			taken, err := d.Sweep(bounded(t))
			if err != nil || len(taken) != 1 || !strings.Contains(taken[0], name) {
				t.Errorf("took %q, %v", taken, err)
			}
			if left := running(mark); len(left) > 0 {
				t.Errorf("left running: %v", left)
			}
			if _, err := os.Lstat(tmp); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the temporary folder %s is still there: %v", tmp, err)
			}
			if again, err := d.Sweep(bounded(t)); err != nil || len(again) > 0 {
				t.Errorf("took again: %v, %v", again, err)
			}
		})
	}
}

// An engine that does as it is told ends with its run, whatever ended that.
func TestEngineEndsWithItsOwner(t *testing.T) {
	d := driver(t)
	owner := exec.Command(command(t)[0], append([]string{"fake-agentx", d.StateDir}, command(t)...)...)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	name, _ := bufio.NewReader(out).ReadString('\n')
	mark := marked(strings.TrimSpace(name))
	if len(running(mark)) != 1 {
		t.Fatal("no engine runs")
	}
	_ = owner.Process.Kill()
	_ = owner.Wait()
	ctx := bounded(t)
	for len(running(mark)) > 0 {
		if ctx.Err() != nil {
			t.Fatal("the engine outlived its owner")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if taken, err := d.Sweep(ctx); err != nil || len(taken) != 1 || !strings.Contains(taken[0], "nothing was left") {
		t.Errorf("took %q, %v", taken, err)
	}
}

func TestStaleFileHitsNobody(t *testing.T) {
	d := driver(t)
	bystander := exec.Command(command(t)[0], "fake-child")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = bystander.Process.Kill()
		_ = bystander.Wait()
	}()
	if err := os.MkdirAll(d.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	owner := deploy.Self()
	owner.Started = "1" // a process id that was given again
	write := func(name, text string) string {
		file := filepath.Join(d.StateDir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("agentx-00000001.json", fmt.Sprintf(`{"name":"agentx-00000001","owner":%q,"pid":%d,"start_ticks":"1","port":1}`,
		owner, bystander.Process.Pid))
	strange := []string{
		write("agentx-00000002.json", "{"),
		write("agentx-00000003.json", fmt.Sprintf(`{"name":"../other","owner":%q}`, owner)),
	}
	taken, err := d.Sweep(bounded(t))
	if err != nil || len(taken) != 1 {
		t.Errorf("took %q, %v", taken, err)
	}
	if err := unix.Kill(bystander.Process.Pid, 0); err != nil {
		t.Error("a bystander was hit")
	}
	for _, file := range strange {
		if err := os.Remove(file); err != nil {
			t.Errorf("what isn't known to be ours was taken: %v", err)
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	d := driver(t)
	first, second := bring(t, d, plan()), bring(t, d, plan())
	if first.URL == second.URL || first.Name == second.Name {
		t.Fatalf("%s and %s at %s", first.Name, second.Name, first.URL)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-second.Died():
		t.Error(second.Cause())
	default:
	}
	if len(running(marked(second.Name))) != 1 {
		t.Error("the other one is gone")
	}
}
