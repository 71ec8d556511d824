package gpu

import "strconv"

// Device is one GPU at one moment.
type Device struct {
	// Index is its place on its host; -1 when unknown.
	Index int `json:"index"`
	// UUID tells GPUs apart, over all hosts.
	UUID   string `json:"uuid,omitzero"`
	Name   string `json:"name,omitzero"`
	Driver string `json:"driver,omitzero"`
	Host   string `json:"host,omitzero"`

	MemoryTotalMiB     *float64 `json:"memory_total_mib,omitzero"`
	MemoryUsedMiB      *float64 `json:"memory_used_mib,omitzero"`
	PowerW             *float64 `json:"power_w,omitzero"`
	EnergyJ            *float64 `json:"energy_j,omitzero"` // since its driver was loaded
	TemperatureC       *float64 `json:"temperature_c,omitzero"`
	UtilizationPercent *float64 `json:"utilization_percent,omitzero"`
	SMClockMHz         *float64 `json:"sm_clock_mhz,omitzero"`
}

// id tells devices apart.
func (d *Device) id() string {
	if d.UUID != "" {
		return d.UUID
	}
	return d.Host + "\xff" + strconv.Itoa(d.Index)
}

// inUseShare is the share of its memory from which a GPU counts as in use: an
// idle one holds some hundred MiB, an engine its weights and a KV pool.
const inUseShare = 0.1

// InUse reports whether a device's memory is in use. One that shows no memory is
// taken for in use.
func (d *Device) InUse() bool {
	if d.MemoryUsedMiB == nil || d.MemoryTotalMiB == nil || *d.MemoryTotalMiB <= 0 {
		return true
	}
	return *d.MemoryUsedMiB > inUseShare**d.MemoryTotalMiB
}

// Process is one that computes on a GPU.
type Process struct {
	UUID    string   `json:"gpu_uuid"`
	PID     int      `json:"pid"` // on the host
	Name    string   `json:"name"`
	UsedMiB *float64 `json:"used_mib,omitzero"`
}
