package docker

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestStartFails(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		config Config
		want   []string
	}{
		"never pulled":   {Config{Image: "agentx-test.invalid/none:1", Pull: PullNever}, []string{"agentx-test.invalid/none:1 is not here", "docker pull"}},
		"not pulled":     {Config{Image: "agentx-test.invalid/none:1"}, []string{"agentx-test.invalid/none:1 can't be pulled"}},
		"always pulled":  {Config{Image: "agentx-test.invalid/none:1", Pull: PullAlways}, []string{"can't be pulled"}},
		"no program":     {Config{Entrypoint: []string{"vllm"}}, []string{"starting the container", "check command and entrypoint"}},
		"no such path":   {Config{Mounts: []string{"/agentx/nowhere:/x"}}, []string{"/agentx/nowhere", "make the folder first"}},
		"no such device": {Config{Devices: []string{"/dev/agentx-none"}}, []string{"/dev/agentx-none", "the host has no such device"}},
	} {
		t.Run(name, func(t *testing.T) { b.fails(t, b.driver(t, c.config), c.want...) })
	}
}

func TestNoGPU(t *testing.T) {
	b := newBench(t)
	info, err := b.Client.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := info.Info.Runtimes["nvidia"]; ok {
		t.Skip("this daemon has a GPU runtime")
	}
	b.fails(t, b.driver(t, Config{GPUs: "all", Command: []string{"exit", "0"}}), "NVIDIA Container Toolkit")
	if _, err := b.driver(t, Config{}).RunShort(t.Context(), "", []string{"nvidia-smi"}, "all"); err == nil || !strings.Contains(err.Error(), "NVIDIA Container Toolkit") {
		t.Errorf("got %v", err)
	}
}

func TestNoDaemon(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///agentx/none.sock")
	d, err := New(Config{Image: "x"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Start(t.Context(), deploy.NewName(), io.Discard)
	_, swept := d.Sweep(t.Context())
	for _, err := range []error{err, swept} {
		if err == nil || !strings.Contains(err.Error(), "no Docker daemon at unix:///agentx/none.sock") || !strings.Contains(err.Error(), "-v /agentx/none.sock:/agentx/none.sock?") {
			t.Errorf("got %v", err)
		}
	}
	t.Setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
	if _, err := New(Config{Image: "x"}); err == nil || !strings.Contains(err.Error(), "another machine") {
		t.Errorf("a daemon elsewhere: %v", err)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	b := newBench(t)
	for _, after := range []int64{1, 2, 3, 4, 5, 6, 7, 8} { // calls to the daemon
		p := newProxy(t, b.Host)
		ctx, cancel := context.WithCancel(t.Context())
		p.onCall = func(n int64) {
			if n == after {
				cancel()
			}
		}
		d := &Driver{config: Config{Image: b.image, Pull: PullNever, Command: []string{"serve", "{port}"}}, client: p.client(t)}
		name := deploy.NewName()
		e, err := d.Start(ctx, name, io.Discard)
		switch {
		case err == nil && ctx.Err() != nil:
			t.Errorf("started after call %d cancelled it", after)
		case err == nil:
			if err := e.Stop(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
		b.nothingLeft(t, name)
		cancel()
	}
}

func TestADaemonThatHangs(t *testing.T) {
	b := newBench(t)
	p := newProxy(t, b.Host)
	d := &Driver{config: Config{Image: b.image, Pull: PullNever, Command: []string{"deaf", "{port}"}}, client: p.client(t)}
	name := deploy.NewName()
	e, err := d.Start(t.Context(), name, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	p.hang()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := e.Stop(ctx, 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "its container is not gone") {
		t.Errorf("got %v", err)
	}
	p.goOn()
	if err := e.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if err := wait(t, e); err == nil {
		t.Error("no cause")
	}
	b.nothingLeft(t, name)
}

func TestADaemonThatComesBack(t *testing.T) {
	b := newBench(t)
	p := newProxy(t, b.Host)
	d := &Driver{config: Config{Image: b.image, Pull: PullNever, Command: []string{"serve", "{port}"}}, client: p.client(t)}
	name := deploy.NewName()
	e, err := d.Start(t.Context(), name, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	answer(t, e.URL())
	p.cut()
	select {
	case <-e.Exited():
		t.Errorf("it counts as ended: %v", e.Err())
	case <-time.After(time.Second):
	}
	if _, err := b.Client.ContainerKill(t.Context(), name, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		t.Error(err)
	}
	if err := wait(t, e); err == nil || err.Error() != "killed by signal 9" {
		t.Errorf("ended with %v", err)
	}
	if err := e.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	b.nothingLeft(t, name)
}

// proxy stands between a driver and the daemon.
type proxy struct {
	path, upstream string
	onCall         func(n int64)

	calls atomic.Int64
	gate  sync.RWMutex // held while the daemon hangs
	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, host string) *proxy {
	t.Helper()
	upstream, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		t.Skip("the daemon is not at a socket: " + host)
	}
	p := &proxy{path: filepath.Join(t.TempDir(), "s"), upstream: upstream}
	l, err := net.Listen("unix", p.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", p.upstream)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			go p.copy(out, in, true)
			go p.copy(in, out, false)
		}
	}()
	return p
}

func (p *proxy) copy(to, from net.Conn, calls bool) {
	defer to.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if head, _, ok := strings.Cut(string(buf[:n]), "\r\n"); calls && ok && strings.HasSuffix(head, "HTTP/1.1") && p.onCall != nil {
			p.onCall(p.calls.Add(1))
		}
		p.gate.RLock()
		_, err = to.Write(buf[:n])
		p.gate.RUnlock()
		if err != nil {
			return
		}
	}
}

func (p *proxy) hang() { p.gate.Lock() }
func (p *proxy) goOn() { p.gate.Unlock() }

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.WithHost("unix://" + p.path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
