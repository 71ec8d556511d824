package deploy

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeGPUs tells what its list says; after so many questions more the given
// process is off it.
type fakeGPUs struct {
	mu     sync.Mutex
	list   []GPUProcess
	leaves int // the questions that are left to process 7; negative: it stays
	err    error
}

func (g *fakeGPUs) Processes(context.Context) ([]GPUProcess, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaves == 0 {
		g.list = g.list[:1]
	}
	g.leaves--
	return g.list, g.err
}

// holding is a driver whose engine is process 7.
type holding struct {
	Driver
	gpus *fakeGPUs
}

type holder struct{ Engine }

func (holder) PIDs(context.Context) []int { return []int{7} }

func (h holding) Start(ctx context.Context, name string, logs io.Writer) (Engine, error) {
	e, err := h.Driver.Start(ctx, name, logs)
	h.gpus.list = append(h.gpus.list, GPUProcess{GPU: "1", PID: 7, Name: "VLLM::Worker"})
	return holder{e}, err
}

func TestGPUMemoryMustComeBack(t *testing.T) {
	used := int64(2048)
	stranger := GPUProcess{GPU: "0", PID: 4242, Name: "python3", UsedMiB: &used}
	for name, c := range map[string]struct {
		leaves int
		err    error
		want   string
	}{
		"comes back":    {leaves: 3},
		"stays":         {leaves: -1, want: "GPU memory is not back: process 7 (VLLM::Worker) holds GPU memory of GPU 1"},
		"can't be told": {leaves: -1, err: errors.New("nvidia-smi hangs"), want: "nvidia-smi hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			gpus := &fakeGPUs{list: []GPUProcess{stranger}, leaves: c.leaves}
			p := quick()
			p.GPUs, p.Down = gpus, time.Second
			d, err := Bring(t.Context(), holding{well().driver(), gpus}, p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"process 4242 (python3) holds 2048 MiB of GPU 0"}, d.Foreign); diff != "" {
				t.Error(diff)
			}
			gpus.mu.Lock()
			gpus.err = c.err
			gpus.mu.Unlock()
			err = d.Close(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
