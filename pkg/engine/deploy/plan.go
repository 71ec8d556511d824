package deploy

import (
	"io"
	"time"

	"github.com/org/agentx-action/pkg/engine/gpu"
)

// Plan says what ready means and how long things may take. The zero value works.
type Plan struct {
	// Model in the first completion; the first that the engine lists when empty.
	Model string
	// APIKey is sent as bearer token.
	APIKey string
	// Endpoint of chat completions below the URL; /v1/chat/completions when empty.
	Endpoint string
	// HealthPath below the URL; /health when empty. An engine that answers 404
	// there has no such page, and its model list counts instead.
	HealthPath string
	// NoMetrics leaves the metrics page out of what ready means.
	NoMetrics bool

	// Load is how long the engine may take until /health; 0 is an hour.
	Load time.Duration
	// Answer is how long after that the first completion may take; 0 is 10 minutes.
	Answer time.Duration
	// Metrics is how long after that the metrics page may take; 0 is 30 s.
	Metrics time.Duration
	// Grace is how long the engine has between TERM and KILL; 0 is 10 s.
	Grace time.Duration
	// Down is how long taking it down may take in all; 0 is a minute.
	Down time.Duration

	// LogFile takes the engine's output; none is kept when empty.
	LogFile string
	// LogShown is the name that errors show, where the file is renamed once the engine
	// is down; LogFile when empty.
	LogShown string
	// LogLimit bounds the file, in bytes; 0 is 64 MiB. The first and the last half
	// of it are kept, with a line between that says what is missing.
	LogLimit int64

	// GPUs runs nvidia-smi where it sees the engine's GPUs: before the start, for
	// who else uses them; once the engine is ready, for which are its own; and after
	// its end, when their memory must be back. Nil asks nobody.
	GPUs gpu.Runner

	// Progress takes a line a step; nil takes none.
	Progress io.Writer
}

func (p Plan) withDefaults() Plan {
	or := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	or(&p.Load, time.Hour)
	or(&p.Answer, 10*time.Minute)
	or(&p.Metrics, 30*time.Second)
	or(&p.Grace, 10*time.Second)
	or(&p.Down, time.Minute)
	if p.LogLimit <= 0 {
		p.LogLimit = 64 << 20
	}
	p.LogLimit = max(p.LogLimit, 4<<10)
	return p
}
