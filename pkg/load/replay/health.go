package replay

import "github.com/org/agentx-action/pkg/result/record"

// sample reports the client's state since the last sample.
func (r *run) sample(now record.Stamp) {
	s := record.Sample{Phase: record.PhaseWarmup, InFlight: r.inFlight}
	r.tally.Fill(&s)
	if n := len(r.out.Phases); n > 0 && r.out.Phases[n-1].Name == "profiling" {
		s.Phase = record.PhaseProfiling
	}
	for _, l := range r.lanes {
		if l.play != nil {
			s.LiveTrees++
			s.Waiting += len(l.play.timers)
		}
	}
	for f := range r.aloft {
		if age, ok := now.Sub(f.record.Asked.Issued); ok {
			s.OldestMs = max(s.OldestMs, age.Seconds()*1e3)
		}
	}
	r.health.Fill(&s, now)
	r.sink.Sample(s)
}
