package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/gpu"
)

// processes is an [Engine] that knows its process ids, as nvidia-smi sees them.
type processes interface {
	PIDs(ctx context.Context) []int
}

// Memory of a GPU, in MiB.
const (
	// tookMiB is how much more of it is in use once an engine is ready that works
	// on it: a CUDA context alone takes some hundred.
	tookMiB = 64
	// strangerMiB in use before the start, by whoever, is somebody's: an idle GPU
	// shows some hundred of the driver's own.
	strangerMiB = 1024
	// keptMiB may be in use after the end though it was not before the start: the
	// driver keeps some for itself once a GPU was used.
	keptMiB = 256
)

const (
	gpuTimeout = 20 * time.Second
	gpuPoll    = 250 * time.Millisecond
	// gpuBack is how long after the engine's end its memory may stay in use.
	gpuBack = 20 * time.Second
)

// gpuState is what nvidia-smi shows at one moment.
type gpuState struct {
	devices   []gpu.Device
	processes []gpu.Process // in a container there may be none though there are some
}

func askGPUs(ctx context.Context, r gpu.Runner) (*gpuState, error) {
	ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
	defer cancel()
	devices, err := gpu.Devices(ctx, r)
	if err != nil {
		return nil, err
	}
	all, err := gpu.Processes(ctx, r)
	return &gpuState{devices, all}, err
}

// of is a GPU that was seen in another state.
func (s *gpuState) of(d *gpu.Device) *gpu.Device {
	for i := range s.devices {
		if same := &s.devices[i]; same.UUID == d.UUID && (d.UUID != "" || same.Index == d.Index) {
			return same
		}
	}
	return nil
}

// others is what processes hold of a GPU that are none of these, as far as is told.
func (s *gpuState) others(d *gpu.Device, pids []int) (mib float64) {
	for _, p := range s.processes {
		if p.UUID == d.UUID && p.UsedMiB != nil && !slices.Contains(pids, p.PID) {
			mib += *p.UsedMiB
		}
	}
	return mib
}

// uses reports whether one of these processes is on a GPU.
func (s *gpuState) uses(d *gpu.Device, pids []int) bool {
	return slices.ContainsFunc(s.processes, func(p gpu.Process) bool { return p.UUID == d.UUID && slices.Contains(pids, p.PID) })
}

// sees reports whether one of these processes is listed at all: inside a container
// none may be, or by other ids.
func (s *gpuState) sees(pids []int) bool {
	return slices.ContainsFunc(s.processes, func(p gpu.Process) bool { return slices.Contains(pids, p.PID) })
}

// users says who uses a GPU, a line each; somebody, where nobody is listed but
// memory is in use.
func (s *gpuState) users(d *gpu.Device) (lines []string) {
	for _, p := range s.processes {
		if p.UUID != d.UUID {
			continue
		}
		held := "memory"
		if p.UsedMiB != nil {
			held = fmt.Sprintf("%.0f MiB", *p.UsedMiB)
		}
		lines = append(lines, fmt.Sprintf("process %d (%s) holds %s of GPU %d", p.PID, p.Name, held, d.Index))
	}
	if len(lines) == 0 && d.MemoryUsedMiB != nil && *d.MemoryUsedMiB >= strangerMiB {
		lines = append(lines, fmt.Sprintf("somebody holds %.0f MiB of GPU %d", *d.MemoryUsedMiB, d.Index))
	}
	return lines
}

// askGPUs looks at the GPUs before the start, and tells who else uses them.
func (d *Deployment) askGPUs(ctx context.Context) {
	if d.plan.GPUs == nil {
		return
	}
	before, err := askGPUs(ctx, d.plan.GPUs)
	if err != nil {
		d.say.line("who else uses the GPUs can't be told: %v", err)
		return
	}
	d.before = before
	for i := range before.devices {
		for _, line := range before.users(&before.devices[i]) {
			d.say.line("not alone: %s", line)
		}
	}
}

// findGPUs looks at them again once the engine is ready, for those that are its
// own. Who else uses a GPU matters on these.
func (d *Deployment) findGPUs(ctx context.Context) {
	if d.before == nil {
		return
	}
	own, seen, err := d.ownGPUs(ctx, d.pids(ctx))
	if err != nil {
		d.say.line("which GPUs it uses can't be told: %v", err)
		return
	}
	d.GPUs, d.seen = own, seen
	if len(own) == 0 {
		d.say.line("it uses no GPU of this machine")
	}
	for i := range own {
		if before := d.before.of(&own[i]); before != nil {
			d.Foreign = append(d.Foreign, d.before.users(before)...)
		}
	}
}

// ownGPUs are those on which the engine's processes are listed; where none is, those
// of which memory was taken since before the start. seen tells which it was.
func (d *Deployment) ownGPUs(ctx context.Context, pids []int) (own []gpu.Device, seen bool, err error) {
	now, err := askGPUs(ctx, d.plan.GPUs)
	if err != nil {
		return nil, false, err
	}
	own, seen = []gpu.Device{}, now.sees(pids)
	for i := range now.devices {
		device := &now.devices[i]
		if seen && now.uses(device, pids) || !seen && took(d.before.of(device), device) {
			own = append(own, *device)
		}
	}
	return own, seen, nil
}

// took reports whether memory of a GPU was taken; one that shows none may be the
// engine's.
func took(before, now *gpu.Device) bool {
	return before == nil || before.MemoryUsedMiB == nil || now.MemoryUsedMiB == nil || *now.MemoryUsedMiB > *before.MemoryUsedMiB+tookMiB
}

// pids of the engine, where it is told apart by them.
func (d *Deployment) pids(ctx context.Context) []int {
	if e, ok := d.engine.(processes); ok && d.before != nil {
		return e.PIDs(ctx)
	}
	return nil
}

// lease is what an engine that is about to be stopped has of the GPUs.
type lease struct {
	own  []gpu.Device
	pids []int
	seen bool // nvidia-smi lists these
}

// leased finds it out. For an engine that never got ready it must be asked now.
func (d *Deployment) leased(ctx context.Context) lease {
	l := lease{d.GPUs, d.pids(ctx), d.seen}
	if d.before != nil && l.own == nil {
		l.own, l.seen, _ = d.ownGPUs(ctx, l.pids)
	}
	return l
}

// released waits until the memory of the engine's GPUs is back. The GPU's driver
// may take a while after the processes are gone. Memory that others were given
// meanwhile is told apart where processes are listed.
func (d *Deployment) released(ctx context.Context, l lease) error {
	if len(l.own) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gpuBack)
	defer cancel()
	var held []string
	for {
		now, err := askGPUs(ctx, d.plan.GPUs)
		if err != nil && len(held) == 0 {
			return fmt.Errorf("whether the GPU memory is back can't be told: %w", err)
		}
		if err == nil {
			held = d.held(now, l)
		}
		if len(held) == 0 {
			return nil
		}
		if !sleep(ctx, gpuPoll) {
			return errors.New("GPU memory is not back: " + strings.Join(held, "; "))
		}
	}
}

// held says which memory is not back.
func (d *Deployment) held(now *gpuState, l lease) (lines []string) {
	for i := range l.own {
		own := &l.own[i]
		before, after := d.before.of(own), now.of(own)
		if l.seen && now.uses(own, l.pids) {
			lines = append(lines, fmt.Sprintf("a process of the engine is still on GPU %d", own.Index))
			continue
		}
		if before == nil || after == nil || before.MemoryUsedMiB == nil || after.MemoryUsedMiB == nil {
			continue
		}
		was, is := *before.MemoryUsedMiB, *after.MemoryUsedMiB
		if l.seen {
			was, is = was-d.before.others(before, nil), is-now.others(after, l.pids)
		}
		if is > was+keptMiB {
			lines = append(lines, fmt.Sprintf("GPU %d has %.0f MiB in use, %.0f before the start", own.Index, *after.MemoryUsedMiB, *before.MemoryUsedMiB))
		}
	}
	return lines
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
