package result

import (
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
)

// KindFacts and FactsSchemaVersion mark run.json.
const (
	KindFacts          = "agentx.run"
	FactsSchemaVersion = "1.0"
)

// MeasurementVersion is raised only when the same engine could get another
// figure from this program: a change in what is sent, when, or how it is
// counted. It is not the release number (decisions.md 29).
//
//	1  the first
//	2  prompts are made of the 699 words that are one token in every tokenizer
//	   looked at; of the 874 before, 50 were two tokens to Qwen3
const MeasurementVersion = 2

// Mode says which benchmark a run is.
type Mode string

// The benchmarks.
const (
	ModeAgentic Mode = "agentic" // recorded sessions
	ModeFixed   Mode = "fixed"   // the fixed-sequence-length baseline
)

// Facts is everything about a run that its records don't say. The program
// writes it as run.json. A pointer, empty string or empty list that is absent
// means unknown or not asked, never 0.
type Facts struct {
	// Says which file this is.
	Kind string `json:"kind" jsonschema:"enum=agentx.run"`
	// Version of this layout.
	SchemaVersion string `json:"schema_version"`
	// Version of the measuring method; raised when a figure could change.
	MeasurementVersion int `json:"measurement_version" jsonschema:"minimum=1"`
	// Program that measured.
	Program Program `json:"program"`
	// Unique to the run; also what cache-bust markers are made of.
	RunID string `json:"run_id" jsonschema:"minLength=1"`
	// Recorded sessions, or the fixed-sequence-length baseline.
	Mode Mode `json:"mode" jsonschema:"enum=agentic,enum=fixed"`
	// Wall time of the stamp 0 of every record, with its zone.
	OriginAt time.Time `json:"origin_at"`
	// Wall time of the start and end of the run, with their zone.
	StartedAt time.Time `json:"started_at"`
	// As started_at.
	EndedAt time.Time `json:"ended_at"`
	// Command line, secrets removed.
	Command []string `json:"command,omitzero"`

	Scenario Scenario `json:"scenario"`
	Settings Settings `json:"settings"`
	// Further key/value pairs of the identity, e.g. the environment variables
	// declared relevant, as env.NAME.
	ExtraIdentity map[string]string `json:"extra_identity,omitzero"`
	Corpus        *Corpus           `json:"corpus,omitzero"`
	// In their order; stamps as in the records.
	Phases      []Phase      `json:"phases"`
	Client      ClientFacts  `json:"client"`
	Engine      EngineFacts  `json:"engine"`
	GPUs        *GPUs        `json:"gpus,omitzero"`
	Telemetry   *Telemetry   `json:"gpu_telemetry,omitzero"`
	Calibration *Calibration `json:"calibration,omitzero"`
	Outcome     Outcome      `json:"outcome"`
}

// Program is the program that measured.
type Program struct {
	// Name of the program.
	Name string `json:"name"`
	// Its release.
	Version string `json:"version"`
	// Commit it was built from.
	Commit string `json:"commit,omitzero"`
	// Go version, operating system and architecture of the build.
	Go string `json:"go,omitzero"`
	// Operating system of the build.
	OS string `json:"os,omitzero"`
	// Architecture of the build.
	Arch string `json:"arch,omitzero"`
}

// Scenario is the rule set a run was asked to follow.
type Scenario struct {
	// Empty for a run without a rule set.
	Name string `json:"name,omitzero"`
	// Ours; raised when a rule changes.
	Version string `json:"version,omitzero"`
	// The run was allowed to break rules.
	UnsafeOverride bool `json:"unsafe_override,omitzero"`
	// Rules broken under it.
	Overridden []Violation `json:"overridden,omitzero"`
	// Start window that the rule set means, as fractions of a trace's time: lower end.
	StartMinRatio *float64 `json:"start_min_ratio,omitzero"`
	// Its upper end.
	StartMaxRatio *float64 `json:"start_max_ratio,omitzero"`
	// Share of the phase that measurements must reach, e.g. 0.95.
	CoverageRequired *float64 `json:"coverage_required,omitzero"`
	// Share of context overflows allowed; absent means 0.01.
	OverflowLimit *float64 `json:"overflow_limit,omitzero"`
	// The rule set itself leaves traces out, so dropped ones are no fault.
	DropsAllowed bool `json:"drops_allowed,omitzero"`
}

// Violation is one broken rule.
type Violation struct {
	// Setting that broke it, as its flag is called.
	Setting string `json:"setting"`
	// What was asked.
	Got string `json:"got,omitzero"`
	// What the rule says.
	Want string `json:"want,omitzero"`
	// The rule in words.
	Text string `json:"text,omitzero"`
}

// Settings is the configuration in effect.
type Settings struct {
	// Lanes (agentic) or requests at once (fixed).
	Concurrency int `json:"concurrency,omitzero" jsonschema:"minimum=0"`
	// Duration asked of the profiling phase, in seconds.
	DurationS *float64 `json:"duration_s,omitzero" jsonschema:"minimum=0,maximum=31536000"`
	// Grace period after the duration, in seconds.
	GraceS *float64 `json:"grace_s,omitzero" jsonschema:"minimum=0"`
	// Seed of everything that is drawn.
	Seed *int64 `json:"seed,omitzero"`
	// Where in a trace's time a lane's first tree is entered, as a fraction: lower end.
	StartMinRatio *float64 `json:"start_min_ratio,omitzero"`
	// Upper end of it.
	StartMaxRatio *float64 `json:"start_max_ratio,omitzero"`
	// Idle cap of the whole client, in seconds.
	SystemIdleCapS *float64 `json:"system_idle_cap_s,omitzero"`
	// Idle cap of one tree, in seconds.
	TreeIdleCapS *float64 `json:"tree_idle_cap_s,omitzero"`
	// Warm-up requests a lane.
	WarmupRequestsPerLane *int `json:"warmup_requests_per_lane,omitzero"`
	// Seconds of warm-up.
	WarmupDurationS *float64 `json:"warmup_duration_s,omitzero"`
	// Error rate at which the run stops itself, 0..1.
	FailedRequestThreshold *float64 `json:"failed_request_threshold,omitzero"`
	// sequential, shuffle or random.
	Sampling string `json:"sampling,omitzero"`
	// shared, or seeded: each lane has a list of its own.
	LanePlan string `json:"lane_plan,omitzero"`
	// recorded or live assistant text.
	History string `json:"history,omitzero"`
	// content or wire: whose count of prompt tokens is exact.
	ISLMode string `json:"isl_mode,omitzero"`
	// roles, merged or single-user.
	MessageShape string `json:"message_shape,omitzero"`
	// Form of the cache-bust marker.
	Marker string `json:"marker,omitzero"`
	// Whose count of prompt tokens is the input length: server or client.
	Counting record.Counting `json:"counting,omitzero" jsonschema:"enum=server,enum=client"`
	// Model name in requests.
	Model string `json:"model,omitzero"`
	// Merged into every request body.
	ExtraInputs map[string]string `json:"extra_inputs,omitzero"`
	// Input length of the fixed-length baseline, in tokens.
	FixedISL *int `json:"fixed_isl,omitzero"`
	// Output length of the fixed-length baseline, in tokens.
	FixedOSL *int `json:"fixed_osl,omitzero"`
	// Share of a length from which the baseline draws: [int(L·ratio), L].
	FixedRangeRatio *float64 `json:"fixed_range_ratio,omitzero"`
	// Measured prompts of the baseline.
	FixedPrompts *int `json:"fixed_prompts,omitzero"`
	// Warm-up prompts of the baseline.
	FixedWarmups *int `json:"fixed_warmups,omitzero"`
	// How the baseline sends a prompt: completions or chat.
	FixedEndpoint string `json:"fixed_endpoint,omitzero"`
	// Goodput conditions.
	SLOs []summary.SLO `json:"slos,omitzero"`
	// Length of a time slice, in seconds; 60 when absent.
	SliceS *float64 `json:"slice_s,omitzero" jsonschema:"exclusiveMinimum=0"`
	// Anything else worth showing.
	Other map[string]string `json:"other,omitzero"`
}

// Corpus is the set of traces.
type Corpus struct {
	// Name, or the folder it came from.
	Name string `json:"name"`
	// public_dataset, hf or folder.
	SourceType string `json:"source_type,omitzero"`
	// Loader, as AIPerf calls it.
	Loader string `json:"loader,omitzero"`
	// Name at Hugging Face.
	HFDatasetName string `json:"hf_dataset_name,omitzero"`
	// Split at Hugging Face.
	HFSplit string `json:"hf_split,omitzero"`
	// Revision at its source.
	Revision string `json:"revision,omitzero"`
	// SHA-256 over the traces as kept, in their order.
	Digest string `json:"digest"`
	// Filters in effect, e.g. max_context_length: 131072.
	Filters map[string]string `json:"filters,omitzero"`
	// Traces read.
	Traces int `json:"traces"`
	// Traces kept by the filters.
	Kept int `json:"kept"`
	// Traces dropped, by reason.
	Dropped map[string]int `json:"dropped,omitzero"`
	// Requests in the traces kept.
	Requests int `json:"requests,omitzero"`
	// Largest prompt plus output, in tokens.
	PeakTokens int64 `json:"peak_tokens,omitzero"`
}

// DroppedTotal is the number of traces left out.
func (c *Corpus) DroppedTotal() int {
	n := 0
	for _, d := range c.Dropped {
		n += d
	}
	return n
}

// Phase is one part of the run.
type Phase struct {
	// Which part of the run.
	Name record.Phase `json:"name" jsonschema:"enum=warmup,enum=profiling"`
	// Nanoseconds since the origin.
	Start record.Stamp `json:"start_ns"`
	// Nanoseconds since the origin; includes the grace period.
	End record.Stamp `json:"end_ns,omitzero"`
	// duration, drained, cancelled, …
	EndedBy string `json:"ended_by,omitzero"`
}

// ClientFacts is the machine that made the load.
type ClientFacts struct {
	// Host name.
	Host string `json:"host,omitzero"`
	// Cores the client may use.
	Cores *float64 `json:"cores,omitzero"`
	// Model of its CPU.
	CPUModel string `json:"cpu_model,omitzero"`
	// Its memory, in bytes.
	MemoryBytes *int64 `json:"memory_bytes,omitzero"`
	// Open files it may have.
	FileLimit *int64 `json:"file_limit,omitzero"`
	// How often the system idle cap fired.
	IdleJumps *int `json:"idle_jumps,omitzero"`
	// Idle time that the cap removed, in seconds.
	IdleRemoved *float64 `json:"idle_removed_s,omitzero"`
	// How often the cap of single trees fired, over all of them.
	TreeIdleJumps *int `json:"tree_idle_jumps,omitzero"`
	// What it removed, in seconds.
	TreeIdleRemoved *float64 `json:"tree_idle_removed_s,omitzero"`
}

// Calibration is what the probes at the start measured, in tokens.
type Calibration struct {
	// tokenizer.json, tokenize or probes.
	Source string `json:"source,omitzero"`
	// Tokens that the chat template adds to a request.
	TemplateConstant *float64 `json:"template_constant,omitzero"`
	// Tokens that it adds to each message.
	TemplatePerMessage *float64 `json:"template_per_message,omitzero"`
	// Tokens of the cache-bust marker, by the engine's count.
	MarkerTokens *int `json:"marker_tokens,omitzero"`
	// Largest difference between probe and expectation.
	ProbeDrift *float64 `json:"probe_drift,omitzero"`
}

// Outcome is how the run ended.
type Outcome struct {
	// Ended before its time.
	Cancelled bool `json:"cancelled,omitzero"`
	// user, failed_request_threshold, warmup_failed, …
	CancelledBy string `json:"cancelled_by,omitzero"`
	// What went wrong, when the run failed.
	Error string `json:"error,omitzero"`
}

// profiling finds the profiling phase.
func (f *Facts) profiling() (Phase, bool) {
	for _, p := range f.Phases {
		if p.Name == record.PhaseProfiling {
			return p, true
		}
	}
	return Phase{}, false
}

// options gives what the summary needs.
func (f *Facts) options() summary.Options {
	o := summary.Options{Counting: f.Settings.Counting, SLOs: f.Settings.SLOs}
	if p, ok := f.profiling(); ok {
		o.ProfilingStart, o.ProfilingEnd = p.Start, p.End
	}
	if f.Settings.DurationS != nil {
		o.DurationS = *f.Settings.DurationS
	}
	if f.Settings.SliceS != nil {
		o.SliceS = *f.Settings.SliceS
	}
	if f.GPUs != nil {
		o.GPUs = f.GPUs.Count
	}
	if f.Mode == ModeFixed {
		o.Fixed = &summary.FixedOptions{ISL: deref(f.Settings.FixedISL), OSL: deref(f.Settings.FixedOSL), Concurrency: f.Settings.Concurrency}
	}
	if c := f.Calibration; c != nil {
		o.TemplateConstant, o.TemplatePerMessage = c.TemplateConstant, c.TemplatePerMessage
	}
	return o
}
