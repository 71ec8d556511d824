package fixed

import (
	"errors"
	"fmt"
	"time"
)

// Config says what to send. Zero values mean what stands with them.
type Config struct {
	Shape       Shape
	Concurrency int     // cap of requests in flight, at least 1
	RangeRatio  float64 // lengths are drawn from [int(L·ratio), L]; 0 = 0.8
	Prompts     int     // measured; 0 = 10 × Concurrency
	Warmups     int     // before them; 0 = 2 × Concurrency, negative = none
	Seed        uint64  // of lengths and texts: the same in every run
	RunID       string  // new for every run: what the prompts begin with comes from it
	Model       string
	Endpoint    Endpoint
	// OverheadTokens is what the engine counts beyond a prompt's words: the chat
	// template, or the token that begins a completion's sequence.
	OverheadTokens int

	DrainTimeout time.Duration // for cancelled requests to report; 0 = 10 s
	SampleEvery  time.Duration // of the client's health; 0 = 2 s
}

// Endpoint says how a prompt is sent.
type Endpoint string

// The endpoints. The zero value is Completions, InferenceX' own.
const (
	Completions Endpoint = "completions" // "prompt": one string
	Chat        Endpoint = "chat"        // "messages": one user message
)

// InferenceX' figures (spec/inferencex.md §2.1, §2.3).
const (
	DefaultRangeRatio = 0.8
	promptsPerSlot    = 10
	warmupsPerSlot    = 2
	failedLimit       = 0.05 // a larger share of failures is an error
)

// Defaults fills in what is zero. Doing it twice changes nothing.
func (c Config) Defaults() Config {
	if c.RangeRatio == 0 {
		c.RangeRatio = DefaultRangeRatio
	}
	if c.Prompts == 0 {
		c.Prompts = promptsPerSlot * c.Concurrency
	}
	if c.Warmups == 0 {
		c.Warmups = warmupsPerSlot * c.Concurrency
	}
	if c.Endpoint == "" {
		c.Endpoint = Completions
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 10 * time.Second
	}
	return c
}

// maxPrompts bounds the prompts of a run.
const maxPrompts = 10_000_000

// Check names every setting that cannot be, all at once.
func (c Config) Check() error {
	c = c.Defaults()
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	s := c.Shape
	refuse(s.ISL < 1 || s.OSL < 1 || s.ISL > maxLength || s.OSL > maxLength, "the shape %v needs an input and an output of 1 to %d tokens", s, maxLength)
	refuse(c.Concurrency < 1 || c.Concurrency > maxPrompts/promptsPerSlot, "concurrency is %d; it must be from 1 to %d", c.Concurrency, maxPrompts/promptsPerSlot)
	refuse(!(c.RangeRatio > 0 && c.RangeRatio <= 1), "the range ratio %g is not above 0 and at most 1", c.RangeRatio)
	refuse(c.Prompts < 1 || c.Prompts > maxPrompts, "prompts are %d; they must be from 1 to %d", c.Prompts, maxPrompts)
	refuse(c.Warmups > maxPrompts, "warm-up prompts are %d; they must be at most %d", c.Warmups, maxPrompts)
	refuse(c.OverheadTokens < 0, "the overhead is %d tokens; it must not be negative", c.OverheadTokens)
	refuse(c.Model == "", "no model is named")
	refuse(c.Endpoint != Completions && c.Endpoint != Chat, "the endpoint type %q is neither %s nor %s", c.Endpoint, Completions, Chat)
	return errors.Join(errs...)
}
