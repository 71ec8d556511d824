package sim

import "time"

// Request is what the model is asked to generate.
type Request struct {
	ID        uint64 // chosen by the caller, unique among the live ones
	Prompt    *Prompt
	MaxTokens int // at least 1
	// StopAfter ends the output earlier, as an end-of-sequence token does; 0 never.
	StopAfter int
}

// Finish says how a request ended, in vLLM's words.
type Finish string

// The ways a request can end.
const (
	FinishLength Finish = "length"
	FinishStop   Finish = "stop"
	FinishAbort  Finish = "abort"
)

// Cached is how many prompt tokens did not have to be computed, by where they
// lay. They are whole blocks and never the whole prompt.
type Cached struct {
	GPU  int `json:"gpu"`
	Host int `json:"host"`
	Disk int `json:"disk"`
}

// Total is the sum.
func (c Cached) Total() int { return c.GPU + c.Host + c.Disk }

// Event is one token of one sequence, at the end of a step.
type Event struct {
	ID     uint64
	Output int    // tokens generated so far
	Cached Cached // of the prompt
	Done   *Done  // set with the last token
}

// Done is the truth about a finished request. Times are since the model's
// origin, 0 where the event did not happen.
type Done struct {
	ID           uint64
	Finish       Finish
	PromptTokens int
	OutputTokens int
	Cached       Cached // at the first admission
	Computed     int    // prompt and output tokens computed, again after a preemption
	Preemptions  int

	Arrived    time.Duration
	Admitted   time.Duration // first time in a batch, or loading for it
	FirstToken time.Duration
	LastToken  time.Duration
	Ended      time.Duration
}

// sequence is a request inside the model.
type sequence struct {
	request Request
	done    Done

	chain  Prompt // prompt and what was generated since; hashes of its full blocks
	answer uint64 // decides the words of the answer

	blocks   []blockID
	computed int // tokens whose keys and values lie in blocks

	wasAdmitted bool
	readyAt     time.Duration // while the lower tiers load, else 0
	// refusedAt is 1 more than the number of available blocks when admission was
	// last refused for lack of them; 0 when it was not.
	refusedAt int
}

func (s *sequence) isLoading(now time.Duration) bool { return s.readyAt > now }

// pending is how many tokens have to be computed before the next one is sampled.
func (s *sequence) pending() int { return s.chain.tokens - s.computed }

// isDecoding reports whether the next chunk is one token of output.
func (s *sequence) isDecoding() bool { return s.done.OutputTokens > 0 && s.pending() == 1 }

func (s *sequence) limit() int {
	if n := s.request.StopAfter; n > 0 && n < s.request.MaxTokens {
		return n
	}
	return s.request.MaxTokens
}

func (s *sequence) finish() Finish {
	if s.limit() < s.request.MaxTokens {
		return FinishStop
	}
	return FinishLength
}
