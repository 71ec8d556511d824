package result

import (
	"time"

	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/result/validity"
)

// KindResult and SchemaVersion mark result.json.
const (
	KindResult    = "agentx.result"
	SchemaVersion = "1.0"
)

// Document is result.json: what a run measured, what it was, and how far it
// can be trusted. A figure that was not measured is absent. Fields that are
// added later are optional, so that older results stay readable.
type Document struct {
	// Says which file this is.
	Kind string `json:"kind" jsonschema:"enum=agentx.result"`
	// Version of this layout.
	SchemaVersion string `json:"schema_version"`
	// Version of the measuring method.
	MeasurementVersion int `json:"measurement_version" jsonschema:"minimum=1"`
	// Program that measured.
	Program Program `json:"program"`
	// Unique to the run.
	RunID string `json:"run_id" jsonschema:"minLength=1"`
	// Recorded sessions, or the fixed-sequence-length baseline.
	Mode Mode `json:"mode" jsonschema:"enum=agentic,enum=fixed"`
	// Wall times with their zone.
	StartedAt time.Time `json:"started_at"`
	// As started_at.
	EndedAt time.Time `json:"ended_at"`
	// Command line, secrets removed.
	Command []string `json:"command,omitzero"`

	// What the run is comparable by.
	Identity Identity `json:"identity"`
	// The judgement: stamps and findings.
	Validity validity.Verdict `json:"validity"`

	Scenario Scenario `json:"scenario"`
	Settings Settings `json:"settings"`
	Corpus   *Corpus  `json:"corpus,omitzero"`
	// Parts of the run, in their order.
	Phases      []PhaseTimes `json:"phases"`
	Client      Client       `json:"client"`
	Engine      EngineFacts  `json:"engine"`
	GPUs        *GPUs        `json:"gpus,omitzero"`
	Telemetry   *Telemetry   `json:"gpu_telemetry,omitzero"`
	Calibration *Calibration `json:"calibration,omitzero"`
	Outcome     Outcome      `json:"outcome"`

	// What became of every request.
	Requests summary.Requests `json:"requests"`
	// Failures by kind, the most frequent first.
	Errors []summary.ErrorGroup `json:"errors"`
	// The figures.
	Metrics Metrics `json:"metrics"`
	// Hit rates side by side.
	Cache CacheAccounting `json:"cache"`
	// What was asked against what the engine counted.
	Tokens summary.Tokens `json:"tokens"`
	// Requests and trees in flight.
	Load summary.Load `json:"load"`
	// Measures by tree and by turn.
	Sessions summary.Sessions `json:"sessions"`
	// How far into the phase measurements reach.
	Coverage *summary.Coverage `json:"coverage,omitzero"`
	// InferenceX' aggregates under its names.
	InferenceX *summary.InferenceX `json:"inferencex,omitzero"`
	// Energy, under InferenceX' names; only with telemetry of the GPUs.
	Power *Power `json:"power,omitzero"`
	// The fixed-length baseline's figures; only in its own results.
	Fixed *summary.Fixed `json:"fixed,omitzero"`
	// The phase in slices of equal length.
	Slices []summary.Slice `json:"slices,omitzero"`

	// The files that all of this was computed from.
	Evidence []File `json:"evidence"`
}

// Metrics are the figures of the profiling phase, under AIPerf's names
// (spec/replay.md §7).
type Metrics struct {
	// Distributions over successful requests.
	Request map[string]summary.Stats `json:"request"`
	// Single figures of the phase.
	Run map[string]summary.Value `json:"run"`
	// Latencies with every failure counted as infinitely slow; only with failures.
	Adjusted map[string]summary.Adjusted `json:"adjusted,omitzero"`
	// Distributions over successful warm-up requests; in no other figure.
	Warmup map[string]summary.Stats `json:"warmup,omitzero"`
}

// PhaseTimes is a phase with its wall times.
type PhaseTimes struct {
	Phase
	// Wall time of the start.
	StartedAt time.Time `json:"started_at"`
	// Wall time of the end.
	EndedAt *time.Time `json:"ended_at,omitzero"`
	// Length, grace period included.
	Seconds *float64 `json:"seconds,omitzero"`
}

// Client is the load generator's machine and its health.
type Client struct {
	ClientFacts
	summary.Client
}

// CacheAccounting holds the client's and the engine's hit rates side by side.
type CacheAccounting struct {
	summary.Cache
	// By the engine's counters over the profiling phase.
	Engine *EngineCache `json:"engine,omitzero"`
}

// EngineCache is the hit rate by the engine's counters, in tokens.
type EngineCache struct {
	// Prefix cache on the GPU.
	Local *summary.Share `json:"local,omitzero"`
	// Tiers below it, of what was looked up there.
	External *summary.Share `json:"external,omitzero"`
	// Share of all prompt tokens by source, 0..1.
	BySource map[string]float64 `json:"by_source,omitzero"`
}

// File is a file of the run's folder.
type File struct {
	// Relative to the folder, with slashes.
	Path string `json:"path" jsonschema:"minLength=1"`
	// In bytes.
	Size int64 `json:"size" jsonschema:"minimum=0"`
	// Hexadecimal.
	SHA256 string `json:"sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
}
