package trace

import "fmt"

// Basis says how a file's inner subagent times are to be read.
type Basis string

// The bases. BasisAuto decides for each marker (decisions.md 4).
const (
	BasisAuto     Basis = "auto"
	BasisAbsolute Basis = "absolute" // inner times and the marker's own start are on the root's clock
	BasisRelative Basis = "relative" // inner times count from the subagent's start; a completed marker's time is its end
)

// normalise brings a marker to start, end and absolute inner times. atS is the
// marker's time as recorded. Sources: decisions.md 4, 5; spec/traces.md §7.1, §7.2.
func (s *Subagent) normalise(atS float64, basis Basis) error {
	s.Background = s.Status == "async_launched"
	s.Relative = basis == BasisRelative || basis != BasisAbsolute && len(s.Requests) > 0 && s.Requests[0].StartS < atS
	durationS := max(s.DurationMs.Or(0)/1000, 0)

	s.StartS = atS
	if s.Relative {
		if s.DurationMs.Known && !s.Background {
			s.StartS = max(atS-durationS, 0)
		}
		for _, r := range s.Requests {
			r.StartS += s.StartS
		}
	}
	for i, r := range s.Requests {
		if r.StartS < s.StartS {
			if s.StartS-r.StartS > 1e-6 {
				return fmt.Errorf("request %d starts at %g s, before its subagent at %g s", i, r.StartS, s.StartS)
			}
			r.StartS = s.StartS
		}
	}

	if s.DurationMs.Known {
		s.EndS = s.StartS + durationS
		return nil
	}
	s.EndS = s.StartS
	for _, r := range s.Requests {
		s.EndS = max(s.EndS, r.EndS())
	}
	return nil
}
