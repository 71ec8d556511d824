package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/gpu"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// telemetryStart bounds the first reading of a source.
const telemetryStart = 10 * time.Second

// telemetry reads the GPUs while a run goes on. A nil one, and one without a
// recorder, reads nothing.
type telemetry struct {
	recorders []*gpu.Recorder
	sources   []string
	series    seriesFile
	health    []gpu.Health
	notes     []string
	say       *progress
}

// newTelemetry starts reading. A source that does not answer is noted, not
// refused.
func newTelemetry(ctx context.Context, s *session) *telemetry {
	t := &telemetry{say: s.say}
	if s.NoGPUTelemetry {
		return t
	}
	asked := s.GPUTelemetry
	if len(asked) == 0 && s.Sim == nil && local(s.Client.URL) && gpu.Available() {
		asked = []string{gpu.Command}
	}
	for _, name := range slices.Compact(asked) {
		if err := t.start(ctx, name, s); err != nil {
			t.note("no GPU telemetry: %v", err)
		}
	}
	return t
}

func (t *telemetry) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.notes = append(t.notes, text)
	t.say.say("note: %s", text)
}

func (t *telemetry) start(ctx context.Context, name string, s *session) error {
	source, err := telemetrySource(name, s)
	if source == nil || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, telemetryStart)
	defer cancel()
	r, err := gpu.Start(ctx, source, gpu.Options{Clock: s.clock, Series: &t.series})
	if err != nil {
		return err
	}
	t.recorders, t.sources = append(t.recorders, r), append(t.sources, source.String())
	return nil
}

// telemetrySource makes a source of the words that AIPerf takes too; none of its
// word for a view.
func telemetrySource(name string, s *session) (gpu.Source, error) {
	switch strings.ToLower(name) {
	case "dashboard":
		return nil, nil
	case gpu.Command, "pynvml": // both read NVML
		return gpu.SMI{Runner: gpu.Host{}}, nil
	case "amdsmi", "amd-smi":
		return nil, errors.New("amd-smi is not built in; NVIDIA's nvidia-smi and DCGM exporters are")
	}
	exporter, err := gpu.NewExporter(name)
	if err != nil {
		return nil, err
	}
	exporter.Page.Client = metricsClient(s)
	return exporter, nil
}

// local reports whether an address is this machine's.
func local(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// keep gives the samples their file.
func (t *telemetry) keep(dir string) error {
	if t == nil || len(t.recorders) == 0 {
		return nil
	}
	return t.series.open(filepath.Join(dir, result.FileTelemetry))
}

// stop ends the reading with a last sample.
func (t *telemetry) stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryStart)
	defer cancel()
	for _, r := range t.recorders {
		h := r.Stop(ctx)
		t.health = append(t.health, h)
		if h.SeriesError != "" {
			t.note("%s", h.SeriesError)
		}
		if h.Full {
			t.note("GPU telemetry: the run is too long for all its samples; the last are left out")
		}
	}
	if err := t.series.close(); err != nil {
		t.note("GPU telemetry: %v", err)
	}
}

// fill adds to the facts which the GPUs were and what they drew: those that an
// engine of ours took, or where that is not known those whose memory was in use.
func (t *telemetry) fill(f *result.Facts, k *keeper) {
	own, foreign, known := k.gpus()
	if len(own) > 0 {
		f.GPUs = gpus(own)
		f.GPUs.ForeignUsers = foreign
	}
	if t == nil || len(t.recorders) == 0 && len(t.notes) == 0 {
		return
	}
	out := &result.Telemetry{Sources: t.sources, IntervalS: gpu.DefaultInterval.Seconds()}
	if out.Sources == nil {
		out.Sources = []string{}
	}
	for i, h := range t.health {
		out.Samples, out.Failed = out.Samples+h.Samples, out.Failed+h.Failed
		if h.Failed > 0 {
			t.notes = append(t.notes, fmt.Sprintf("%s: %d of %d readings failed, the last: %s", t.sources[i], h.Failed, h.Samples, h.LastError))
		}
	}
	var devices []gpu.Device
	for i, r := range t.recorders {
		all, used := r.Devices()
		if known && t.sources[i] == gpu.Command { // this machine's
			used = among(all, own)
		}
		for i, d := range all {
			if used[i] {
				devices = append(devices, d)
			}
		}
		for _, p := range f.Phases {
			drawn := powers(r.Powers(p.Start, p.End), used)
			switch p.Name {
			case record.PhaseWarmup:
				out.Warmup = append(out.Warmup, drawn...)
			case record.PhaseProfiling:
				out.Profiling = append(out.Profiling, drawn...)
			}
		}
	}
	if len(t.recorders) > 0 && len(devices) == 0 {
		t.notes = append(t.notes, "no GPU was in use")
	}
	out.Notes, f.Telemetry = t.notes, out
	if f.GPUs == nil && len(devices) > 0 {
		f.GPUs = gpus(devices)
	}
}

// among tells which devices are some of these.
func among(all, these []gpu.Device) []bool {
	in := make([]bool, len(all))
	for i, d := range all {
		in[i] = slices.ContainsFunc(these, func(o gpu.Device) bool { return o.UUID == d.UUID && (d.UUID != "" || o.Index == d.Index) })
	}
	return in
}

// gpus are the devices as the identity has them.
func gpus(devices []gpu.Device) *result.GPUs {
	g := &result.GPUs{Count: len(devices), Driver: devices[0].Driver}
	var models []string
	for _, d := range devices {
		models = append(models, d.Name)
	}
	slices.Sort(models)
	g.Model = strings.Join(slices.Compact(models), " + ")
	if m := devices[0].MemoryTotalMiB; m != nil {
		bytes := int64(*m * (1 << 20))
		g.MemoryBytes = &bytes
	}
	return g
}

// powers are those of the devices in use.
func powers(all []gpu.Power, used []bool) (out []result.DevicePower) {
	for i, p := range all {
		if !used[i] {
			continue
		}
		d := result.DevicePower{
			Index: p.Device.Index, UUID: p.Device.UUID, Name: p.Device.Name, Host: p.Device.Host,
			AvgPowerW: p.AvgW, MaxPowerW: p.MaxW, EnergyJ: p.EnergyJ, PowerIntegralJ: p.IntegralJ,
			Samples: p.Samples, LargestGapS: p.LargestGap.Seconds(), Reason: p.Reason,
		}
		if p.EnergyJ != nil {
			d.EnergyFrom = "power"
			if p.FromMeter {
				d.EnergyFrom = "meter"
			}
		}
		out = append(out, d)
	}
	return out
}
