package compare

import (
	"time"
)

// Kind and SchemaVersion mark comparison.json.
const (
	Kind          = "agentx.comparison"
	SchemaVersion = "1.0"
)

// Comparison is comparison.json: what changed between two sides, how sure that
// is, and in which layer it sits. A figure that could not be computed is absent.
type Comparison struct {
	Kind          string    `json:"kind" jsonschema:"enum=agentx.comparison"`
	SchemaVersion string    `json:"schema_version"`
	CreatedAt     time.Time `json:"created_at"`

	// The answer in one word.
	Verdict Verdict `json:"verdict"`
	// Why, in sentences that stand alone.
	Summary string `json:"summary"`

	Head Side `json:"head"`
	Base Side `json:"base"`

	// Keys of the identity on which the sides differ: refused ones make the
	// verdict "refused"; allowed ones were let through with --allow-mismatch.
	Refused []Mismatch `json:"refused,omitzero"`
	Allowed []Mismatch `json:"allowed,omitzero"`
	// Keys under test on which the sides differ.
	Axis []Mismatch `json:"axis,omitzero"`

	Pairing Pairing `json:"pairing"`
	// The run-to-run noise that intervals had to clear; absent without a stored floor.
	Floor *FloorRef `json:"floor,omitzero"`

	// The gated family (decisions.md 25), corrected together.
	Gated []Finding `json:"gated"`
	// Everything else worth knowing; it gates nothing.
	Described []Finding `json:"described"`
	// Where the change sits, the likeliest layer first.
	Layers []Layer `json:"layers"`

	// Agentic load against the fixed-length baseline, for each side that has one.
	HeadAgainstFixed []AgainstFixed `json:"head_against_fixed,omitzero"`
	BaseAgainstFixed []AgainstFixed `json:"base_against_fixed,omitzero"`

	Notes []string `json:"notes,omitzero"`
}

// Verdict is the answer for one figure or for all.
type Verdict string

// The verdicts (decisions.md 24).
const (
	Regression  Verdict = "regression"
	Improvement Verdict = "improvement"
	NoChange    Verdict = "no change seen"
	NotEnough   Verdict = "not enough data"
	Changed     Verdict = "changed (one run a side)" // an interval off 1, but no measure of run-to-run noise
	Refused     Verdict = "refused"
	NotJudged   Verdict = "not judged" // a descriptive figure
)

// Side is one side of the comparison: one run, or repeats of the same.
type Side struct {
	Label string   `json:"label"`
	Runs  []RunRef `json:"runs"`
	// SHA-256 of the identity, hexadecimal.
	Identity string `json:"identity"`
	// Requests of the measured phase, all runs together.
	OK       int `json:"ok"`
	Errors   int `json:"errors"`
	Overflow int `json:"overflow"`
	Censored int `json:"censored"`
}

// RunRef names one run and says whether it counts.
type RunRef struct {
	RunID     string    `json:"run_id"`
	Where     string    `json:"where,omitzero"` // folder or address
	StartedAt time.Time `json:"started_at"`
	// Valid is absent for a run without a rule set.
	Valid    *bool    `json:"submission_valid,omitzero"`
	Trusted  bool     `json:"trusted"`
	Findings []string `json:"findings,omitzero"` // codes of what speaks against it
}

// Mismatch is a key of the identity on which the sides differ; an empty value
// means that the side does not have the key.
type Mismatch struct {
	Key  string `json:"key"`
	Base string `json:"base,omitzero"`
	Head string `json:"head,omitzero"`
}

// Pairing says how much of both sides was compared: requests are paired by
// (trace, pass, stream, turn) (decisions.md 26).
type Pairing struct {
	Pairs       int     `json:"pairs"`        // both completed
	HeadOnly    int     `json:"head_only"`    // measured by the head alone
	BaseOnly    int     `json:"base_only"`    // measured by the base alone
	HeadFailed  int     `json:"head_failed"`  // completed by the base, failed in the head
	BaseFailed  int     `json:"base_failed"`  // the reverse
	BothFailed  int     `json:"both_failed"`  //
	Coverage    float64 `json:"coverage"`     // pairs of all that either side measured, 0..1
	RootTraces  int     `json:"root_traces"`  // clusters: different traces with a pair
	EffectiveN  float64 `json:"effective_n"`  // the same after Kish
	LargestPart float64 `json:"largest_part"` // share of the pairs that the largest trace has, 0..1
}

// FloorRef names the noise floor in use.
type FloorRef struct {
	Pool    string `json:"pool"` // of runners
	Repeats int    `json:"repeats"`
	Digest  string `json:"digest"` // of the floor document
}

// Direction says which way is worse.
type Direction string

// The directions.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
)

// Over says which requests a figure is of.
type Over string

// What figures are of. A whole run holds requests that the other side never
// sent, so its figures can differ where those of the paired requests do not.
const (
	OverPairs Over = "paired requests" // measured by both sides
	OverRun   Over = "whole run"       // every request that succeeded
)

// Finding is one figure on both sides.
type Finding struct {
	// Stable key: ttft_p50, itl_p50, e2e_per_output_token_p90, error_rate, …
	Metric string    `json:"metric"`
	Label  string    `json:"label"` // for people: "TTFT p50"
	Unit   string    `json:"unit"`
	Better Direction `json:"better"`
	Gated  bool      `json:"gated"`

	Base *float64 `json:"base,omitzero"`
	Head *float64 `json:"head,omitzero"`
	// Head over base, with its interval, corrected for the family when gated. For
	// rates that may be 0 (Absolute) it is head minus base. An end of the interval
	// that is absent while the other is there is open: failures reach the percentile.
	Ratio    *float64 `json:"ratio,omitzero"`
	Low      *float64 `json:"low,omitzero"`
	High     *float64 `json:"high,omitzero"`
	Absolute bool     `json:"absolute,omitzero"`
	// Confidence of the interval, e.g. 0.9917.
	Confidence float64 `json:"confidence,omitzero"`
	// Smallest relative change (absolute with Absolute) that a comparison of this
	// size tells from none in 8 of 10 cases.
	SmallestDetectable *float64 `json:"smallest_detectable,omitzero"`
	// Relative change (absolute with Absolute) from which the figure counts.
	Threshold float64 `json:"threshold,omitzero"`

	Verdict Verdict `json:"verdict"`
	Samples int     `json:"samples"` // pairs, or blocks for throughput
	Over    Over    `json:"over,omitzero"`
	Note    string  `json:"note,omitzero"`
}

// Layer is a part of the stack that a change can sit in.
type Layer struct {
	// kernel, cache, prefill, decode, scheduling, errors, serving
	Name  string `json:"name"`
	Moved bool   `json:"moved"`
	// Relative change of the layer's own figure on the paired requests, signed so
	// that above 0 is worse; absolute, as a share, with Absolute. The one of kernel is
	// of the fixed-length runs; serving has none.
	WorseBy  *float64 `json:"worse_by,omitzero"`
	Absolute bool     `json:"absolute,omitzero"`
	// Smallest change of the layer's own figure that a comparison of this size tells
	// from none in 8 of 10 cases.
	SmallestDetectable *float64 `json:"smallest_detectable,omitzero"`
	// What became of the layer; it goes on after the name.
	Text string `json:"text"`
	// What else of the runs belongs to it.
	On []Number `json:"on"`
}

// Number is a figure beside a layer's own.
type Number struct {
	Label string   `json:"label"`
	Unit  string   `json:"unit"`
	Base  *float64 `json:"base,omitzero"`
	Head  *float64 `json:"head,omitzero"`
	Over  Over     `json:"over,omitzero"`
}

// AgainstFixed is one run's agentic load beside one shape of its fixed-length
// baseline, at matched load (decisions.md 23). All of it is of whole runs.
type AgainstFixed struct {
	Shape string `json:"shape"` // 8192/1024
	// Time-weighted mean of requests in flight on both sides.
	AgenticLoad *float64 `json:"agentic_load,omitzero"`
	FixedLoad   *float64 `json:"fixed_load,omitzero"`
	// The fixed figures were interpolated between these concurrencies to match the
	// agentic load; one entry means that there was only one point.
	FixedPoints []int `json:"fixed_points"`
	// The points enclose the agentic load, or the one shown is within 10 % of it.
	Matched bool   `json:"matched"`
	Rows    []Row  `json:"rows"`
	Note    string `json:"note,omitzero"`
}

// Row is one figure under both loads.
type Row struct {
	Metric  string    `json:"metric"`
	Label   string    `json:"label"`
	Unit    string    `json:"unit"`
	Better  Direction `json:"better,omitzero"`
	Agentic *float64  `json:"agentic,omitzero"`
	Fixed   *float64  `json:"fixed,omitzero"`
	Ratio   *float64  `json:"ratio,omitzero"` // agentic over fixed
}
