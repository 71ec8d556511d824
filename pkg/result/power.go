package result

import (
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/result/summary"
)

// Telemetry is what the GPUs drew while the run went on.
type Telemetry struct {
	// Where the figures came from: nvidia-smi, or addresses of DCGM exporters.
	Sources []string `json:"sources"`
	// Time from sample to sample, in seconds.
	IntervalS float64 `json:"interval_s"`
	// Readings of a source that were tried.
	Samples int `json:"samples"`
	// Readings that failed.
	Failed int `json:"failed,omitzero"`
	// What is to be said of the sampling.
	Notes []string `json:"notes,omitzero"`
	// By GPU, over the warm-up; only those in use.
	Warmup []DevicePower `json:"warmup,omitzero"`
	// By GPU, over the profiling phase.
	Profiling []DevicePower `json:"profiling,omitzero"`
}

// DevicePower is what one GPU drew over a phase.
type DevicePower struct {
	// Place on its host; -1 when unknown.
	Index int `json:"index"`
	// Unique to the GPU.
	UUID string `json:"uuid,omitzero"`
	// Model.
	Name string `json:"name,omitzero"`
	// Host that it is in.
	Host string `json:"host,omitzero"`
	// Mean over time, in watts.
	AvgPowerW *float64 `json:"avg_power_w,omitzero"`
	// Highest sample, in watts.
	MaxPowerW *float64 `json:"max_power_w,omitzero"`
	// Energy, in joules.
	EnergyJ *float64 `json:"energy_j,omitzero"`
	// What it was taken from: the GPU's own meter, or the integral of its power.
	EnergyFrom string `json:"energy_from,omitzero" jsonschema:"enum=meter,enum=power"`
	// Integral of the power, in joules.
	PowerIntegralJ *float64 `json:"power_integral_j,omitzero"`
	// Samples of the power in the phase.
	Samples int `json:"samples"`
	// Longest time between two of them, in seconds.
	LargestGapS float64 `json:"largest_gap_s,omitzero"`
	// Why there is no energy, by InferenceX' code.
	Reason string `json:"reason,omitzero"`
}

// PowerSchemaVersion is that of InferenceX' fields (spec/inferencex.md §3.7).
const PowerSchemaVersion = 2

// Power is the energy of the profiling phase under InferenceX' names. The whole
// phase's energy, errors and drain included, is divided by what successful
// requests brought.
type Power struct {
	// Version of InferenceX' fields.
	SchemaVersion int `json:"power_metric_schema_version"`
	// 1 when every GPU's energy is known, and the figures are there.
	Valid int `json:"power_valid" jsonschema:"minimum=0,maximum=1"`
	// Why not, by InferenceX' codes.
	Reasons []string `json:"reasons,omitzero"`
	// GPUs that were in use.
	GPUs int `json:"num_gpus"`
	// Mean over time and GPUs, in watts a GPU.
	AvgPowerW *float64 `json:"avg_power_w,omitzero"`
	// Highest sample of any GPU, in watts.
	MaxPowerW *float64 `json:"max_power_w_per_gpu,omitzero"`
	// Mean over time of all GPUs together, in watts.
	AvgTotalPowerW *float64 `json:"avg_total_gpu_power_w,omitzero"`
	// Of all GPUs, in joules.
	TotalEnergyJ *float64 `json:"total_gpu_energy_j,omitzero"`
	// Joules per successful request.
	JoulesPerQuery *float64 `json:"joules_per_successful_query,omitzero"`
	// Joules per input token of successful requests.
	JoulesPerInputToken *float64 `json:"joules_per_input_token,omitzero"`
	// Joules per output token of them.
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitzero"`
	// Joules per input or output token of them.
	JoulesPerTotalToken *float64 `json:"joules_per_total_token,omitzero"`
}

// reasons InferenceX gives for what is not about sampling.
const (
	reasonCount   = "expected_gpu_count_mismatch"
	reasonNoGPU   = "no_usable_power_samples"
	reasonQueries = "invalid_successful_query_count"
	reasonInput   = "invalid_input_token_count"
	reasonOutput  = "invalid_output_token_count"
)

// power computes the figures; nil without telemetry.
func (f *Facts) power(run map[string]summary.Value) *Power {
	t := f.Telemetry
	if t == nil {
		return nil
	}
	p := &Power{SchemaVersion: PowerSchemaVersion, GPUs: len(t.Profiling)}
	energy, watts := 0.0, 0.0
	for _, d := range t.Profiling {
		if d.MaxPowerW != nil && (p.MaxPowerW == nil || *d.MaxPowerW > *p.MaxPowerW) {
			p.MaxPowerW = d.MaxPowerW
		}
		if d.EnergyJ == nil || d.AvgPowerW == nil {
			p.refuse(d.Reason)
			continue
		}
		energy, watts = energy+*d.EnergyJ, watts+*d.AvgPowerW
	}
	switch {
	case len(t.Profiling) == 0:
		p.refuse(reasonNoGPU)
	case f.GPUs != nil && f.GPUs.Count > 0 && f.GPUs.Count != len(t.Profiling):
		p.refuse(reasonCount)
	}
	if len(p.Reasons) > 0 {
		return p
	}
	p.Valid = 1
	p.TotalEnergyJ, p.AvgTotalPowerW = round(energy, 3), round(watts, 3)
	p.AvgPowerW = round(watts/float64(p.GPUs), 3)
	requests, isl, osl := run["request_count"].Value, run["total_isl"].Value, run["total_osl"].Value
	p.JoulesPerQuery = p.per(energy, requests, reasonQueries)
	p.JoulesPerInputToken = p.per(energy, isl, reasonInput)
	p.JoulesPerOutputToken = p.per(energy, osl, reasonOutput)
	if isl > 0 && osl > 0 {
		p.JoulesPerTotalToken = round(energy/(isl+osl), 6)
	}
	return p
}

func (p *Power) refuse(reason string) {
	if reason == "" {
		reason = reasonNoGPU
	}
	if !slices.Contains(p.Reasons, reason) {
		p.Reasons = append(p.Reasons, reason)
	}
}

// per is energy over an amount; without the amount it says why it is absent.
func (p *Power) per(energy, amount float64, reason string) *float64 {
	if amount <= 0 {
		p.refuse(reason)
		return nil
	}
	return round(energy/amount, 6)
}

// round keeps some decimals.
func round(v float64, decimals int) *float64 {
	scale := math.Pow10(decimals)
	v = math.Round(v*scale) / scale
	return &v
}
