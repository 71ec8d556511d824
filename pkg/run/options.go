package run

import (
	"io"
	"time"

	"github.com/org/agentx-action/pkg/engine/sim"
	"github.com/org/agentx-action/pkg/load/fixed"
	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/load/scenario"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/workload/corpus"
	"github.com/org/agentx-action/pkg/workload/prompt"
)

// Options is what a replay is asked to be. What a rule set may fill in or refuse
// stands in Settings; the rest is free.
type Options struct {
	Command        []string          // as typed, secrets removed
	Effective      []byte            // the configuration as a file that would ask for the same, secrets masked; nil = none is kept
	Other          map[string]string // what else to keep with the settings
	Scenario       string
	Demo           bool // no rule set, and short: say in one line that the run does not count
	UnsafeOverride bool
	Settings       scenario.Settings

	Source Source
	Corpus corpus.Options

	Models []string
	Client openai.Config // of the engine; URL is empty where one is brought up
	Sim    *sim.Config   // run the embedded engine and use it
	Deploy Deploy        // or bring one up

	Sampling replay.Sampling
	Delays   replay.Delays
	Burst    bool
	MaxOSL   int
	Marker   prompt.MarkerStyle
	Shape    prompt.Shape
	ISL      prompt.ISLMode
	Counting record.Counting // whose count of prompt tokens is the input length
	SLOs     []summary.SLO

	// OverflowLimit is the share of context overflows from which a run does not
	// count; nil = 0.01.
	OverflowLimit *float64

	MetricsURLs []string // of the engine; empty = /metrics of its address
	NoMetrics   bool

	// GPUTelemetry are nvidia-smi, or addresses of DCGM exporters; empty =
	// nvidia-smi, where it is and the engine is on this machine.
	GPUTelemetry   []string
	NoGPUTelemetry bool

	// Fixed is the fixed-length baseline: after a replay, or alone.
	Fixed FixedOptions

	Wait       time.Duration // for the server to answer; 0 asks once
	ResetCache bool          // of the server, before a replay

	// Before is asked twice before anything is measured, with the identity as far as
	// it is settled: once the settings and traces are read, and once the engine is
	// found. Keys that come from the engine (result.FromEngine) may be missing. Its
	// error ends the run. nil = nobody to ask.
	Before func(known *result.Identity) error

	Dir      string        // of the artifacts
	Stats    time.Duration // between progress lines; 0 = none
	Progress io.Writer     // where they go; nil = nowhere
	Live     bool          // Progress is a terminal: one line is redrawn
}

// FixedOptions is what the fixed-length baseline is asked to be.
type FixedOptions struct {
	Shapes      []fixed.Shape // none = no baseline after a replay
	Concurrency []int         // one result each; empty = the replay's lanes
	// Matched adds the two whole numbers around the replay's mean of requests in
	// flight, so that both can be compared at one load (decisions.md 23).
	Matched    bool
	RangeRatio float64        // 0 = 0.8
	Prompts    int            // 0 = 10 × concurrency
	Warmups    int            // 0 = 2 × concurrency, negative = none
	Endpoint   fixed.Endpoint // "" = completions, or chat where an endpoint of its own is given
	KeepCache  bool           // leave the engine's prefix cache as it is
}

// Source says where the traces come from.
type Source struct {
	Paths  []string // files and folders
	Public string   // a named corpus
	Sample bool     // the bundled one
}

// Dataset is the source as a rule set sees it.
func (s Source) Dataset() scenario.Dataset {
	switch {
	case s.Public != "":
		return scenario.Dataset{Kind: scenario.DatasetPublic, Name: s.Public}
	case len(s.Paths) > 0:
		return scenario.Dataset{Kind: scenario.DatasetLocal, Name: s.Paths[0]}
	case s.Sample:
		return scenario.Dataset{Kind: scenario.DatasetLocal, Name: "bundled sample"}
	}
	return scenario.Dataset{}
}

// UsageError is a setting that cannot be: exit code 2.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }
