package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeGPUs is the nvidia-smi of a machine of three GPUs. A stranger has the first
// two from the beginning; the engine, process 7, takes the last two.
type fakeGPUs struct {
	mu      sync.Mutex
	started bool
	stopped bool
	leaves  int  // questions until its memory is back; negative: never
	hidden  bool // processes are not listed
	late    bool // a second stranger comes while the engine works
	err     error
}

func (g *fakeGPUs) Run(_ context.Context, args ...string) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return nil, g.err
	}
	used := []int{2048, 2048, 4}
	processes := "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-0, 4242, python3, 2000 MiB\nGPU-1, 4242, python3, 2000 MiB\n"
	held := g.started && (!g.stopped || g.leaves != 0)
	if held {
		used[1], used[2] = 60000, 60000
		processes += "GPU-1, 7, VLLM::Worker, 58000 MiB\nGPU-2, 7, VLLM::Worker, 60000 MiB\n"
	}
	if g.late && g.started {
		used[2] += 9000
		processes += "GPU-2, 4343, python3, 9000 MiB\n"
	}
	if strings.HasPrefix(args[0], "--query-gpu=") {
		out := "index, uuid, name, driver_version, memory.total [MiB], memory.used [MiB], power.draw [W], temperature.gpu, utilization.gpu [%], clocks.current.sm [MHz]\n"
		for i, mib := range used {
			out += fmt.Sprintf("%d, GPU-%[1]d, NVIDIA H200, 570.133.20, 143771 MiB, %d MiB, 75.90 W, 29, 0 %%, 345 MHz\n", i, mib)
		}
		return []byte(out), nil
	}
	if g.stopped && g.leaves > 0 {
		g.leaves--
	}
	if g.hidden {
		processes = processes[:strings.IndexByte(processes, '\n')+1]
	}
	return []byte(processes), nil
}

// holding is a driver whose engine is process 7.
type holding struct {
	Driver
	gpus *fakeGPUs
}

type holder struct {
	Engine
	gpus *fakeGPUs
}

func (holder) PIDs(context.Context) []int { return []int{7} }

func (h holder) Stop(ctx context.Context, grace time.Duration) error {
	h.gpus.set(func(g *fakeGPUs) { g.stopped = true })
	return h.Engine.Stop(ctx, grace)
}

func (g *fakeGPUs) set(f func(*fakeGPUs)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g)
}

func (h holding) Start(ctx context.Context, name string, logs io.Writer) (Engine, error) {
	e, err := h.Driver.Start(ctx, name, logs)
	h.gpus.set(func(g *fakeGPUs) { g.started = true })
	return holder{e, h.gpus}, err
}

// Only what happens on the engine's own GPUs counts.
func TestGPUMemoryMustComeBack(t *testing.T) {
	const kept = "GPU memory is not back: "
	listed := []string{"process 4242 (python3) holds 2000 MiB of GPU 1"}
	for name, c := range map[string]struct {
		gpus    *fakeGPUs
		err     error // once it is ready
		foreign []string
		want    string
	}{
		"comes back":                      {gpus: &fakeGPUs{leaves: 3}, foreign: listed},
		"stays":                           {gpus: &fakeGPUs{leaves: -1}, foreign: listed, want: kept + "a process of the engine is still on GPU 1"},
		"a stranger came":                 {gpus: &fakeGPUs{leaves: 3, late: true}, foreign: listed},
		"nobody is listed":                {gpus: &fakeGPUs{leaves: 3, hidden: true}, foreign: []string{"somebody holds 2048 MiB of GPU 1"}},
		"nobody is listed and it stays":   {gpus: &fakeGPUs{leaves: -1, hidden: true}, foreign: []string{"somebody holds 2048 MiB of GPU 1"}, want: kept + "GPU 1 has 60000 MiB in use, 2048 before the start; GPU 2 has 60000 MiB in use, 4 before the start"},
		"what became of it can't be told": {gpus: &fakeGPUs{leaves: -1}, err: errors.New("nvidia-smi hangs"), foreign: listed, want: "nvidia-smi hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			gpus := c.gpus
			p := quick()
			p.GPUs, p.Down = gpus, time.Second
			d, err := Bring(t.Context(), holding{well().driver(), gpus}, p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.foreign, d.Foreign); diff != "" {
				t.Error(diff)
			}
			if len(d.GPUs) != 2 || d.GPUs[0].UUID != "GPU-1" || d.GPUs[1].UUID != "GPU-2" {
				t.Errorf("its GPUs: %+v", d.GPUs)
			}
			gpus.set(func(g *fakeGPUs) { g.err = c.err })
			err = d.Close(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// An engine that died while it loaded may leave memory behind as well.
func TestGPUMemoryOfAFailedStart(t *testing.T) {
	gpus := &fakeGPUs{leaves: -1, hidden: true}
	p := quick()
	p.GPUs, p.Down, p.Load = gpus, time.Second, 100*time.Millisecond
	e := well().with("GET /health", text(503, ""))
	_, err := Bring(t.Context(), holding{e.driver(), gpus}, p)
	if err == nil || !strings.Contains(err.Error(), "GPU 2 has 60000 MiB in use") {
		t.Errorf("got %v", err)
	}
}

// An engine that uses no GPU has no strangers on it.
func TestNoGPUOfItsOwn(t *testing.T) {
	p := quick()
	p.GPUs = &fakeGPUs{}
	d, err := Bring(t.Context(), well().driver(), p)
	if err != nil {
		t.Fatal(err)
	}
	if d.GPUs == nil || len(d.GPUs) > 0 || d.Foreign != nil {
		t.Errorf("its GPUs: %+v, strangers: %q", d.GPUs, d.Foreign)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
