package sim

import "time"

// Served is what truly became of one completion request, for tests to hold the
// client's records against.
type Served struct {
	Num           uint64 // order of arrival, from 0; decides which faults strike
	Path          string
	RequestID     string // X-Request-ID, empty when none came
	CorrelationID string // X-Correlation-ID
	Stream        bool
	Status        int      // HTTP status sent, 0 when none was
	Faults        []string // the rates that struck, by their JSON names
	MaxTokens     int      // as asked
	Messages      int
	Origin        time.Time // of the times in Done
	// Done is nil when the request never reached the engine.
	Done *Done
}

// At is the moment of one of Done's times.
func (s *Served) At(d time.Duration) time.Time { return s.Origin.Add(d) }
