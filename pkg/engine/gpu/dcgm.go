package gpu

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/org/agentx-action/pkg/engine/scrape"
)

// dcgm says where a DCGM exporter's page has a device's figures.
var dcgm = map[string]struct {
	of    func(*Device) **float64
	scale float64
}{
	"DCGM_FI_DEV_POWER_USAGE":              {func(d *Device) **float64 { return &d.PowerW }, 1},
	"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": {func(d *Device) **float64 { return &d.EnergyJ }, 1e-3}, // mJ
	"DCGM_FI_DEV_GPU_UTIL":                 {func(d *Device) **float64 { return &d.UtilizationPercent }, 1},
	"DCGM_FI_DEV_GPU_TEMP":                 {func(d *Device) **float64 { return &d.TemperatureC }, 1},
	"DCGM_FI_DEV_SM_CLOCK":                 {func(d *Device) **float64 { return &d.SMClockMHz }, 1},
	"DCGM_FI_DEV_FB_USED":                  {func(d *Device) **float64 { return &d.MemoryUsedMiB }, 1},
	"DCGM_FI_DEV_FB_TOTAL":                 {func(d *Device) **float64 { return &d.MemoryTotalMiB }, 1},
}

// Parts of the memory that make the total where the page does not have it.
const (
	dcgmFree     = "DCGM_FI_DEV_FB_FREE"
	dcgmReserved = "DCGM_FI_DEV_FB_RESERVED"
)

// ParseDCGM reads the page of a DCGM exporter. A GPU that stands there several
// times, once for each MIG instance or container on it, is one.
func ParseDCGM(page []byte) ([]Device, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("not Prometheus text: %w", err)
	}
	devices, rest := map[string]*Device{}, map[string]map[string]float64{}
	for name, f := range families {
		field, known := dcgm[name]
		part := name == dcgmFree || name == dcgmReserved
		if !known && !part {
			continue
		}
		for _, m := range f.GetMetric() {
			id, d, ok := deviceOf(m)
			v := valueOf(m)
			if !ok || !(v >= 0 && v < largest(field.scale)) {
				continue
			}
			if devices[id] == nil {
				if len(devices) >= maxRows {
					return nil, fmt.Errorf("more than %d GPUs", maxRows)
				}
				devices[id], rest[id] = d, map[string]float64{}
			}
			if part {
				rest[id][name] = max(rest[id][name], v)
				continue
			}
			v *= field.scale
			if to := field.of(devices[id]); *to == nil || **to < v {
				*to = &v
			}
		}
	}
	if len(devices) == 0 {
		return nil, errors.New("no GPU on the page; is it a DCGM exporter's?")
	}
	var all []Device
	for id, d := range devices {
		if d.MemoryTotalMiB == nil && d.MemoryUsedMiB != nil && rest[id][dcgmFree] > 0 {
			total := *d.MemoryUsedMiB + rest[id][dcgmFree] + rest[id][dcgmReserved]
			d.MemoryTotalMiB = &total
		}
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b Device) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID))
	})
	return all, nil
}

// largest bounds a figure. What DCGM cannot read it shows as a number close to
// the largest of 32 or 64 bits.
func largest(scale float64) float64 {
	if scale == 1e-3 {
		return 1e18
	}
	return 1e9
}

// deviceOf is whose a series is.
func deviceOf(m *dto.Metric) (id string, d *Device, ok bool) {
	d = &Device{Index: -1}
	for _, l := range m.GetLabel() {
		switch v := l.GetValue(); l.GetName() {
		case "gpu":
			if n, err := strconv.Atoi(v); err == nil && n >= 0 {
				d.Index = n
			}
		case "UUID":
			d.UUID = v
		case "modelName":
			d.Name = v
		case "Hostname":
			d.Host = v
		case "DCGM_FI_DRIVER_VERSION":
			d.Driver = v
		}
	}
	return d.id(), d, d.UUID != "" || d.Index >= 0
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Untyped != nil:
		return m.GetUntyped().GetValue()
	}
	return -1
}

// Exporter is a DCGM exporter. It renews its figures every 30 s unless started
// with --collect-interval=1000; the energy meter then still tells the energy.
type Exporter struct{ Page scrape.Source }

// withScheme makes host:port a URL.
func withScheme(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	return "http://" + address
}

// Devices reads its page once.
func (e *Exporter) Devices(ctx context.Context) ([]Device, error) {
	text, _, err := e.Page.Text(ctx)
	if err != nil {
		return nil, err
	}
	devices, err := ParseDCGM(text)
	if err != nil {
		return nil, fmt.Errorf("GPU telemetry of %s: %w", e, err)
	}
	return devices, nil
}

// String is its address, without what may be secret in it.
func (e *Exporter) String() string { return e.Page.String() }
