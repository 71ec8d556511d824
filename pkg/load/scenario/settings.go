package scenario

import (
	"errors"
	"fmt"
	"math"
)

// Settings is what a user asked for. A nil pointer was not given; [Rules.Apply]
// fills it in where the rule set has a default. What is still nil after that is
// off. Names follow the flags of `aiperf profile`.
type Settings struct {
	Dataset     Dataset
	Concurrency []int // lanes; a list of several is a sweep

	Streaming           *bool
	IgnoreEOS           *bool // ignore_eos of the extra inputs
	UseServerTokenCount *bool

	BenchmarkDurationS    *float64
	BenchmarkGracePeriodS *float64 // +Inf waits for every answer
	RandomSeed            *uint64

	TrajectoryStartMinRatio *float64 // 0 … 1 of a trace's time
	TrajectoryStartMaxRatio *float64

	SystemIdleGapCapS *float64 // +Inf for none
	TraceIdleGapCapS  *float64 // +Inf for none

	WarmupRequestsPerLane       *int
	AgenticCacheWarmupDurationS *float64
	WarmupGracePeriodS          *float64 // nil or +Inf waits for every answer

	FailedRequestThreshold *float64 // 0 … 1; nil never aborts
	SliceDurationS         *float64
	TCPUserTimeoutMS       *int

	CacheBust *string // target of the marker; - and _ are the same
	History   *string // recorded or live
	LanePlan  *string // shared or seeded

	// Given only to be refused: other ways to time or to cut the load.
	RequestRate        *float64
	ArrivalPattern     *string
	UserCentricRate    *float64
	FixedSchedule      *bool
	IgnoreTraceDelays  *bool
	SynthesisMaxISL    *int
	InterTurnDelayCapS *float64
}

// Dataset says where the traces come from.
type Dataset struct {
	Kind DatasetKind
	Name string // public name, hub repository or path
}

// DatasetKind is a kind of source.
type DatasetKind string

// The kinds of sources. The zero value means that none was given.
const (
	DatasetMissing   DatasetKind = ""
	DatasetSynthetic DatasetKind = "synthetic" // prompts made up by length, no recorded session
	DatasetPublic    DatasetKind = "public"    // a named, pinned public corpus
	DatasetHub       DatasetKind = "hub"       // a repository on the hub of Hugging Face
	DatasetLocal     DatasetKind = "local"     // a file or folder, the bundled sample too
)

// String names the dataset as messages do.
func (d Dataset) String() string {
	switch {
	case d.Kind == DatasetMissing:
		return "none"
	case d.Name == "":
		return string(d.Kind)
	}
	return fmt.Sprintf("%s (%s)", d.Name, d.Kind)
}

// limit is the range of a numeric setting outside any rule set.
type limit struct {
	setting  string
	min, max float64
	open     bool // min itself is not allowed
	inf      bool // +Inf is allowed
}

var limits = []limit{
	{setting: "benchmark-duration", max: math.MaxFloat64, open: true},
	{setting: "benchmark-grace-period", max: math.MaxFloat64, inf: true},
	{setting: "trajectory-start-min-ratio", max: 1},
	{setting: "trajectory-start-max-ratio", max: 1},
	{setting: "system-idle-gap-cap-seconds", max: math.MaxFloat64, inf: true},
	{setting: "trace-idle-gap-cap-seconds", max: math.MaxFloat64, inf: true},
	{setting: "warmup-requests-per-lane", max: math.MaxInt32},
	{setting: "agentic-cache-warmup-duration", max: math.MaxFloat64},
	{setting: "warmup-grace-period", max: math.MaxFloat64, inf: true},
	{setting: "failed-request-threshold", max: 1},
	{setting: "slice-duration", max: math.MaxFloat64, open: true},
	{setting: "AIPERF_HTTP_TCP_USER_TIMEOUT", max: math.MaxInt32},
}

// check reports everything that no rule set could accept.
func (s *Settings) check() error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	for _, l := range limits {
		v, given := number(s, l.setting)
		if given && !l.holds(v) {
			refuse("%s %v: must be %s", flag(l.setting), v, l)
		}
	}
	switch {
	case len(s.Concurrency) > 1:
		refuse("--concurrency %v: one run has one concurrency; start a run for each value", s.Concurrency)
	case len(s.Concurrency) == 1 && s.Concurrency[0] < 1:
		refuse("--concurrency %d: must be at least 1", s.Concurrency[0])
	}
	lo, hi := s.TrajectoryStartMinRatio, s.TrajectoryStartMaxRatio
	if lo != nil && hi != nil && *lo > *hi {
		refuse("--trajectory-start-min-ratio %v: must not be above --trajectory-start-max-ratio %v", *lo, *hi)
	}
	if s.WarmupRequestsPerLane != nil && s.AgenticCacheWarmupDurationS != nil {
		refuse("--warmup-requests-per-lane and --agentic-cache-warmup-duration: give one of them")
	}
	return errors.Join(errs...)
}

func (l limit) holds(v float64) bool {
	if math.IsInf(v, 1) {
		return l.inf
	}
	return v >= l.min && v <= l.max && (!l.open || v > l.min)
}

func (l limit) String() string {
	switch {
	case l.open:
		return fmt.Sprintf("a number above %v", l.min)
	case l.max <= 1:
		return fmt.Sprintf("a number from %v to %v", l.min, l.max)
	case l.inf:
		return fmt.Sprintf("a number from %v, or inf", l.min)
	}
	return fmt.Sprintf("a number from %v", l.min)
}
