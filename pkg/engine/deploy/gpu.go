package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GPUProcess holds memory of a GPU.
type GPUProcess struct {
	// GPU is its index or UUID.
	GPU string
	// PID as this process would see it.
	PID  int
	Name string
	// UsedMiB is absent where the driver doesn't tell.
	UsedMiB *int64
}

func (p GPUProcess) String() string {
	used := "GPU memory"
	if p.UsedMiB != nil {
		used = fmt.Sprintf("%d MiB", *p.UsedMiB)
	}
	return fmt.Sprintf("process %d (%s) holds %s of GPU %s", p.PID, p.Name, used, p.GPU)
}

// GPUs tells who holds the memory of this machine's GPUs.
type GPUs interface {
	Processes(ctx context.Context) ([]GPUProcess, error)
}

// processes is an [Engine] that knows its process ids, as this process sees
// them. Only its memory is waited for when it is gone.
type processes interface {
	PIDs(ctx context.Context) []int
}

// foreign says who else uses the GPUs, a line each.
func foreign(ctx context.Context, gpus GPUs) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
	defer cancel()
	all, err := gpus.Processes(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range all {
		lines = append(lines, p.String())
	}
	return lines, nil
}

const (
	gpuTimeout = 20 * time.Second
	gpuPoll    = 250 * time.Millisecond
)

// released waits until the processes hold no GPU memory any more. The GPU's
// driver may take a while after they are gone.
func released(ctx context.Context, gpus GPUs, pids []int) error {
	if gpus == nil || len(pids) == 0 {
		return nil
	}
	for {
		all, err := gpus.Processes(ctx)
		if err != nil {
			return fmt.Errorf("whether the GPU memory is back can't be told: %w", err)
		}
		var held []string
		for _, p := range all {
			if slices.Contains(pids, p.PID) {
				held = append(held, p.String())
			}
		}
		if len(held) == 0 {
			return nil
		}
		if !sleep(ctx, gpuPoll) {
			return fmt.Errorf("GPU memory is not back: %s", strings.Join(held, "; "))
		}
	}
}

// sleep waits, and tells whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
