package gpu

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// gpus answers from memory.
type gpus func(since time.Duration) ([]Device, error)

type fake struct {
	gpus
	start time.Time
}

func (f *fake) Devices(context.Context) ([]Device, error) { return f.gpus(time.Since(f.start)) }
func (f *fake) String() string                            { return "fake" }

func device(index int, watts, joules float64) Device {
	d := Device{Index: index, Name: "G", MemoryTotalMiB: f(1000), MemoryUsedMiB: f(900)}
	if watts >= 0 {
		d.PowerW = &watts
	}
	if joules >= 0 {
		d.EnergyJ = &joules
	}
	return d
}

// powers records for 20 s and gives what was drawn from 2.5 s to 12.5 s.
func powers(t *testing.T, of gpus) ([]Power, Health) {
	t.Helper()
	clock := record.NewClock()
	r, err := Start(t.Context(), &fake{of, time.Now()}, Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	from := clock.Now().Add(2500 * time.Millisecond)
	time.Sleep(19500 * time.Millisecond) // not at the instant of a sample
	health := r.Stop(t.Context())
	return r.Powers(from, from.Add(10*time.Second)), health
}

func TestPower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near := func(what string, got *float64, want float64) {
			t.Helper()
			if got == nil || math.Abs(*got-want) > 1e-6*want {
				t.Errorf("%s is %v, want %v", what, got, want)
			}
		}
		// Power grows by 10 W a second from 100 W: 175 W in the middle of the window.
		ramp := func(since time.Duration) float64 { return 100 + 10*since.Seconds() }
		got, health := powers(t, func(since time.Duration) ([]Device, error) {
			return []Device{device(0, ramp(since), -1), device(1, ramp(since), 5000+50*since.Seconds()), device(2, -1, 7*since.Seconds())}, nil
		})
		if len(got) != 3 || health.Failed != 0 || health.Samples != 21 {
			t.Fatalf("%d devices, %+v", len(got), health)
		}
		near("energy by power", got[0].EnergyJ, 1750)
		near("mean power", got[0].AvgW, 175)
		near("peak power", got[0].MaxW, 220)
		if got[0].FromMeter || got[0].Samples != 10 || got[0].LargestGap != time.Second || got[0].Reason != "" {
			t.Errorf("%+v", got[0])
		}
		near("energy by meter", got[1].EnergyJ, 500)
		near("its integral of power", got[1].IntegralJ, 1750)
		if !got[1].FromMeter {
			t.Error("the meter was not taken")
		}
		near("mean power by meter alone", got[2].AvgW, 7)
		if got[2].Reason != "" || got[2].MaxW != nil {
			t.Errorf("%+v", got[2])
		}
	})
}

func TestNoEnergy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		for name, tt := range map[string]struct {
			of     gpus
			reason string
		}{
			"gap": {func(since time.Duration) ([]Device, error) {
				if since > 5*time.Second && since < 8500*time.Millisecond {
					return nil, lost
				}
				return []Device{device(0, 100, -1)}, nil
			}, Gap},
			"ends early": {func(since time.Duration) ([]Device, error) {
				if since > 12*time.Second {
					return nil, lost
				}
				return []Device{device(0, 100, -1)}, nil
			}, NotBracketed},
			"no power": {func(time.Duration) ([]Device, error) { return []Device{device(0, -1, -1)}, nil }, NoSamples},
			"only once": {func(since time.Duration) ([]Device, error) {
				if since > 0 {
					return nil, lost
				}
				return []Device{device(0, 100, -1)}, nil
			}, FewSamples},
			"meter reset": {func(since time.Duration) ([]Device, error) {
				return []Device{device(0, -1, math.Mod(since.Seconds(), 7))}, nil
			}, NoSamples},
		} {
			got, _ := powers(t, tt.of)
			if got[0].Reason != tt.reason || got[0].EnergyJ != nil {
				t.Errorf("%s: reason %q, energy %v; want %q", name, got[0].Reason, got[0].EnergyJ, tt.reason)
			}
		}
		// A meter loses nothing in a gap that lies inside.
		got, health := powers(t, func(since time.Duration) ([]Device, error) {
			if since > 5*time.Second && since < 8500*time.Millisecond {
				return nil, lost
			}
			return []Device{device(0, 100, 50*since.Seconds())}, nil
		})
		if got[0].EnergyJ == nil || math.Abs(*got[0].EnergyJ-500) > 1e-6 || got[0].IntegralJ != nil || health.Failed != 3 || health.LastError != "lost" {
			t.Errorf("%+v, %+v", got[0], health)
		}
	})
}

func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		idle := device(1, 50, -1)
		idle.MemoryUsedMiB = f(4)
		r, err := Start(t.Context(), &fake{func(time.Duration) ([]Device, error) { return []Device{idle, device(0, 100, -1)}, nil }, time.Now()},
			Options{Series: &lines})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		r.Stop(t.Context())
		r.Stop(t.Context())
		devices, used := r.Devices()
		if len(devices) != 2 || devices[0].Index != 0 || !used[0] || used[1] {
			t.Errorf("devices %v, in use %v", devices, used)
		}
		if got := strings.Count(lines.String(), "\n"); got != 4 {
			t.Errorf("%d lines, want those at 0, 1, 2 and 2.5 s", got)
		}
		if _, err := Start(t.Context(), &fake{func(time.Duration) ([]Device, error) { return nil, errors.New("no driver") }, time.Now()}, Options{}); err == nil {
			t.Error("a source that does not answer was taken")
		}
	})
}
