package deploy

import (
	"fmt"
	"strings"
	"time"
)

// Evidence is what an engine's log says about its end.
type Evidence struct {
	// Fatal is the first fatal line; empty when none was recognised.
	Fatal string
	// Advice is what to do about it; empty when nothing is known.
	Advice string
	// Tail are the last lines.
	Tail []string
	// Log is the file that holds it all; empty when none is kept.
	Log string
}

// The steps of bringing an engine up, as [StartError.Step] names them.
const (
	StepSweep      = "sweep"
	StepStart      = "start"
	StepHealth     = "health"
	StepCompletion = "completion"
	StepMetrics    = "metrics"
)

// StartError says why an engine didn't get ready, and that it is gone again.
type StartError struct {
	Name string
	// Step that failed.
	Step string
	// Err is why. It wraps the cause of the context when that ended.
	Err error
	Evidence
	// Teardown is why taking it down failed; nil when nothing is left.
	Teardown error
}

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine %s did not get ready (%s): %v", e.Name, e.Step, e.Err)
	e.write(&b)
	if e.Teardown != nil {
		fmt.Fprintf(&b, "\ntaking it down failed: %v", e.Teardown)
	}
	return b.String()
}

// Unwrap gives the reasons.
func (e *StartError) Unwrap() []error {
	if e.Teardown == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Teardown}
}

// DiedError says that an engine ended by itself.
type DiedError struct {
	Name string
	// After is how long after it was ready.
	After time.Duration
	// Err is how it ended.
	Err error
	Evidence
}

func (e *DiedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine %s ended by itself %v after it was ready: %v", e.Name, e.After.Round(100*time.Millisecond), e.Err)
	e.write(&b)
	return b.String()
}

// Unwrap gives how it ended.
func (e *DiedError) Unwrap() error { return e.Err }

// shownLines of the log's end stand in an error.
const shownLines = 15

func (e *Evidence) write(b *strings.Builder) {
	if e.Fatal != "" {
		fmt.Fprintf(b, "\nfatal line: %s", e.Fatal)
	}
	if e.Advice != "" {
		fmt.Fprintf(b, "\nwhat to do: %s", e.Advice)
	}
	if last := e.Tail[max(0, len(e.Tail)-shownLines):]; len(last) > 0 {
		b.WriteString("\nlast lines of its log:")
		for _, line := range last {
			b.WriteString("\n  | " + line) // the bar also keeps GitHub from taking a line as a command
		}
	}
	if e.Log != "" {
		fmt.Fprintf(b, "\nwhole log: %s", e.Log)
	}
}
