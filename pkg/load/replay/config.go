package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/org/agentx-action/pkg/load/openai"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/trace"
)

// Config says how to replay. Zero values mean "none" unless stated.
type Config struct {
	Concurrency int    // lanes, at least 1
	Seed        uint64 // of start positions, shuffles and lane plans
	RunID       string // benchmark id: new for every run, the markers are derived from it

	Models   []string // asked for; recorded models are mapped onto them in turn
	MaxOSL   int      // cap of root outputs, 0 = none
	Marker   prompt.MarkerStyle
	Sampling Sampling
	LanePlan LanePlan

	// StartMinRatio and StartMaxRatio bound t*, as shares of a trace's span
	// (spec/replay.md §4.3). With both 0 every tree starts at turn 0.
	StartMinRatio, StartMaxRatio float64
	Burst                        bool // start phases at once instead of spread as recorded

	WarmupPerLane  int           // further requests of each lane before profiling
	WarmupDuration time.Duration // or for this long; at most one of the two
	WarmupGrace    time.Duration // longest wait for answers after a warm-up step's last request; 0 = without limit

	Duration     time.Duration // of profiling
	Grace        time.Duration // for requests in flight at its end
	DrainTimeout time.Duration // for cancelled requests to report; 0 = 10 s

	SystemIdleCap time.Duration // longest time without any request in flight; 0 = none
	TreeIdleCap   time.Duration // the same for one tree

	Delays   Delays
	DelayCap time.Duration // of one delay; 0 = none

	// FailedThreshold ends the run when a larger share of the profiling
	// requests failed (spec/replay.md §4.10); negative = never.
	FailedThreshold float64

	SampleEvery time.Duration // of the client's health; 0 = 2 s
}

// Delays says where the time between two turns of a stream comes from.
type Delays string

// The sources of delays (spec/replay.md §2.7). The zero value is DelaysRecorded.
const (
	DelaysRecorded Delays = ""      // recorded gap from end to start
	DelaysThink    Delays = "think" // recorded think_time
	DelaysNone     Delays = "none"  // not even between a branch's opening and its streams
)

// Sampling says which trace a free lane plays next.
type Sampling string

// The samplings (spec/replay.md §4.2). The zero value is SamplingSequential.
const (
	SamplingSequential Sampling = "sequential"
	SamplingShuffle    Sampling = "shuffle"
	SamplingRandom     Sampling = "random"
)

// LanePlan says whether lanes share one order of traces.
type LanePlan string

// The lane plans (decisions.md 19). The zero value is LanePlanShared.
const (
	LanePlanShared LanePlan = "shared" // one cursor, in order of lanes becoming free
	LanePlanSeeded LanePlan = "seeded" // each lane its own seeded order
)

// Sender sends one request and waits for its end. It must be safe for
// concurrent use, read messages no more once it has returned, and return soon
// after ctx is cancelled: with Outcome Censored when the cause is ErrRunEnded.
type Sender interface {
	Send(ctx context.Context, asked *record.Asked, messages Messages) record.Seen
}

// Messages is the JSON of a request's messages, of known length.
type Messages interface {
	io.Reader
	Len() int64
}

// Sink takes what was seen. Its methods are called from one goroutine and must
// not block. A tree's counts are of the measured phase (spec/replay.md §4.11): a
// tree that warm-up played to its end has none.
type Sink interface {
	Request(record.Record)
	Tree(record.Tree)
	Sample(record.Sample)
	Phase(Phase)
}

// Phase is a part of the run that begins or has ended.
type Phase struct {
	Name       string // primers, pressure, profiling
	Start, End record.Stamp
	Planned    time.Duration // 0 = until its requests are done
}

// Workload is what to play.
type Workload struct {
	Traces []*trace.Trace
	Maker  *prompt.Maker
}

// Outcome says how a run went.
type Outcome struct {
	Phases    []Phase
	Cancelled bool  // the context was cancelled
	Aborted   error // why the run ended itself early; nil when it did not
	Skips     Skips
	Played    map[string]int // trace id → trees started
	Dropped   []string       // traces that warm-up dropped, with the reason
	Lost      int            // requests that never reported back; the Sink has them as censored
	Short     int            // tokens that --isl wire could not take off
}

// Skips sums up what the idle caps removed.
type Skips struct {
	SystemJumps, TreeJumps int
	System, Tree           time.Duration
}

// ErrRunEnded is the cause with which requests are cancelled when the run ends.
var ErrRunEnded = openai.ErrRunEnded

func (c *Config) check(w Workload) error {
	var errs []error
	if c.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("concurrency is %d; it must be at least 1", c.Concurrency))
	}
	if len(w.Traces) == 0 {
		errs = append(errs, errors.New("there is no trace to play"))
	}
	if c.Duration <= 0 {
		errs = append(errs, fmt.Errorf("the benchmark duration is %v; it must be above 0", c.Duration))
	}
	if c.WarmupPerLane > 0 && c.WarmupDuration > 0 {
		errs = append(errs, errors.New("warm-up by requests and by duration exclude each other"))
	}
	if !(0 <= c.StartMinRatio && c.StartMinRatio <= c.StartMaxRatio && c.StartMaxRatio <= 1) {
		errs = append(errs, fmt.Errorf("the start window %g to %g is not within 0 to 1", c.StartMinRatio, c.StartMaxRatio))
	}
	if len(c.Models) == 0 {
		errs = append(errs, errors.New("no model is named"))
	}
	if c.WarmupPerLane < 0 {
		errs = append(errs, fmt.Errorf("warm-up requests per lane are %d; they must not be negative", c.WarmupPerLane))
	}
	for _, d := range []struct {
		what string
		is   time.Duration
	}{
		{"warm-up duration", c.WarmupDuration}, {"warm-up grace period", c.WarmupGrace}, {"grace period", c.Grace},
		{"drain timeout", c.DrainTimeout}, {"system idle cap", c.SystemIdleCap}, {"tree idle cap", c.TreeIdleCap},
		{"delay cap", c.DelayCap}, {"sampling interval", c.SampleEvery},
	} {
		if d.is < 0 {
			errs = append(errs, fmt.Errorf("the %s is %v; it must not be negative", d.what, d.is))
		}
	}
	errs = append(errs, oneOf("sampling", c.Sampling, "", SamplingSequential, SamplingShuffle, SamplingRandom),
		oneOf("lane plan", c.LanePlan, "", LanePlanShared, LanePlanSeeded),
		oneOf("source of delays", c.Delays, DelaysRecorded, DelaysThink, DelaysNone))
	return errors.Join(errs...)
}

func oneOf[T ~string](what string, is T, known ...T) error {
	if slices.Contains(known, is) {
		return nil
	}
	return fmt.Errorf("the %s %q is not known; it must be one of %q", what, is, known)
}
