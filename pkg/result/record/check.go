package record

import "fmt"

// ErrorTypeClock is the Error.Type of a record whose times contradict each other.
const ErrorTypeClock = "clock"

// Check reports the first contradiction among the times and counts of a
// request, or nil. Times that were not seen are left out; those that were must
// lie in the order sent ≤ headers ≤ first byte ≤ first token ≤ second token ≤
// last token ≤ end, and the first output not before the first token
// (spec/replay.md §7.1). A duration is never negative.
func (s *Seen) Check() error {
	if err := inOrder([]named{
		{"sent", s.Sent},
		{"headers", s.Headers},
		{"first byte", s.FirstByte},
		{"first token", s.FirstToken},
		{"second token", s.SecondToken},
		{"last token", s.LastToken},
		{"end", s.End},
	}); err != nil {
		return err
	}
	if err := inOrder([]named{
		{"first token", s.FirstToken},
		{"first output", s.FirstOutput},
		{"last token", s.LastToken},
	}); err != nil {
		return err
	}
	if s.Outcome == OK && (!s.Sent.Seen() || !s.End.Seen()) {
		return fmt.Errorf("a completed request has no time of sending or of its end (sent %d ns, end %d ns)", s.Sent, s.End)
	}
	if len(s.ChunkGapsNs) > 0 && len(s.ChunkGapsNs) != s.Chunks-1 {
		return fmt.Errorf("%d gaps between %d chunks", len(s.ChunkGapsNs), s.Chunks)
	}
	for i, gap := range s.ChunkGapsNs {
		if gap < 0 {
			return fmt.Errorf("gap %d between chunks is %d ns", i, gap)
		}
	}
	return s.HTTP.check()
}

// Check turns a record whose times contradict each other into a failed one of
// type [ErrorTypeClock], so that no latency is computed from it.
func (r *Record) Check() {
	err := r.Seen.Check()
	if err == nil {
		err = inOrder([]named{{"issued", r.Asked.Issued}, {"sent", r.Seen.Sent}})
	}
	if err != nil {
		r.Seen.Outcome = Failed
		r.Seen.Error = &Error{Type: ErrorTypeClock, Message: err.Error()}
	}
}

type named struct {
	name string
	at   Stamp
}

func inOrder(times []named) error {
	var before named
	for _, t := range times {
		if !t.at.Seen() {
			continue
		}
		if t.at < before.at || t.at < 0 {
			return fmt.Errorf("%s (%d ns) lies before %s (%d ns)", t.name, t.at, orOrigin(before.name), before.at)
		}
		before = t
	}
	return nil
}

func orOrigin(name string) string {
	if name == "" {
		return "the origin of the clock"
	}
	return name
}

func (h *HTTP) check() error {
	for _, phase := range []struct {
		name string
		ns   *int64
	}{
		{"blocked", h.BlockedNs}, {"dns", h.DNSNs}, {"connect", h.ConnectNs},
		{"send", h.SendNs}, {"wait", h.WaitNs}, {"receive", h.ReceiveNs},
	} {
		if phase.ns != nil && *phase.ns < 0 {
			return fmt.Errorf("HTTP phase %s is %d ns", phase.name, *phase.ns)
		}
	}
	return nil
}
