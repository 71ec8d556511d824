package trace

// Basis says how a file's inner subagent times are to be read.
type Basis string

// The bases. BasisAuto decides for each marker (decisions.md 4).
const (
	BasisAuto     Basis = "auto"
	BasisAbsolute Basis = "absolute" // inner times and the marker's own start are on the root's clock
	BasisRelative Basis = "relative" // inner times count from the subagent's start; a completed marker's time is its end
)

// epsilonS is how far two recorded times may lie apart and still be one
// (spec/replay.md §1.3).
const epsilonS = 1e-6

// normalise brings a marker to start, end and absolute inner times. atS is the
// marker's time as recorded. It returns the index of a request that would start
// before its subagent, or -1. Sources: decisions.md 4, 5; spec/traces.md §7.1, §7.2.
func (s *Subagent) normalise(atS float64, basis Basis) int {
	s.Background = s.Status == "async_launched"
	switch basis {
	case BasisAbsolute:
	case BasisRelative:
		s.Relative = true
	default:
		s.Relative = len(s.Requests) > 0 && s.Requests[0].StartS+epsilonS < atS
	}

	durationS := s.DurationMs.Or(0) / 1000
	s.StartS = atS
	if s.Relative {
		if !s.Background {
			s.StartS = max(atS-durationS, 0)
		}
		for _, r := range s.Requests {
			r.StartS += s.StartS
		}
	}
	for i, r := range s.Requests {
		if r.StartS+epsilonS < s.StartS {
			return i
		}
		r.StartS = max(r.StartS, s.StartS)
	}

	s.EndS = s.StartS + durationS
	if !s.DurationMs.Known {
		for _, r := range s.Requests {
			s.EndS = max(s.EndS, r.EndS())
		}
	}
	return -1
}
