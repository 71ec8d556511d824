package record

import (
	"fmt"
	"time"
)

// ErrorTypeClock is the Error.Type of a record that Check refused: its times or
// counts contradict each other.
const ErrorTypeClock = "clock"

// Check looks for contradictions: times out of order, negative durations,
// counts that don't fit together, a success without its times. A record that
// has one becomes a failed record whose error says what is wrong, so that it
// can never give a negative latency, and the contradiction is returned.
// A failed, overflowed or censored record only has the times it got to.
func (r *Record) Check() error {
	err := r.contradiction()
	if err == nil {
		return nil
	}
	r.Seen.Outcome = Failed
	r.Seen.Error = &Error{Type: ErrorTypeClock, Message: err.Error()}
	return err
}

// Check reports the first contradiction in what was seen, or nil.
func (s *Seen) Check() error {
	r := Record{Asked: Asked{Phase: PhaseProfiling}, Seen: *s}
	return r.contradiction()
}

func (r *Record) contradiction() error {
	for _, check := range []func(*Record) error{checkKnown, checkOrder, checkComplete, checkGaps, checkCounts, checkHTTP} {
		if err := check(r); err != nil {
			return err
		}
	}
	return nil
}

func checkKnown(r *Record) error {
	switch r.Asked.Phase {
	case PhaseWarmup, PhaseProfiling:
	default:
		return fmt.Errorf("phase %q is not known", r.Asked.Phase)
	}
	switch r.Seen.Outcome {
	case OK, Failed, Overflow, Censored:
	default:
		return fmt.Errorf("outcome %q is not known", r.Seen.Outcome)
	}
	return nil
}

// checkOrder wants the stamps that were seen in the order of spec/replay.md §7.1.
func checkOrder(r *Record) error {
	a, s := &r.Asked, &r.Seen
	for _, chain := range [][]named{
		{{"issued_ns", a.Issued}, {"sent_ns", s.Sent}, {"headers_ns", s.Headers}, {"first_byte_ns", s.FirstByte},
			{"first_token_ns", s.FirstToken}, {"second_token_ns", s.SecondToken}, {"last_token_ns", s.LastToken}, {"end_ns", s.End}},
		{{"first_token_ns", s.FirstToken}, {"first_output_ns", s.FirstOutput}, {"last_token_ns", s.LastToken}},
		{{"join_since_ns", a.JoinSince}, {"issued_ns", a.Issued}},
		{{"ready_ns", a.Ready}, {"sent_ns", s.Sent}},
	} {
		last := named{}
		for _, n := range chain {
			if n.at < 0 {
				return fmt.Errorf("%s is %d, before the run's origin", n.name, n.at)
			}
			if !n.at.Seen() {
				continue
			}
			if n.at < last.at {
				return fmt.Errorf("%s (%d) is before %s (%d)", n.name, n.at, last.name, last.at)
			}
			last = n
		}
	}
	return nil
}

type named struct {
	name string
	at   Stamp
}

func checkComplete(r *Record) error {
	s := &r.Seen
	if s.Outcome != OK {
		return nil
	}
	need := []named{{"sent_ns", s.Sent}, {"end_ns", s.End}}
	if s.Chunks > 0 {
		need = append(need, named{"last_token_ns", s.LastToken}) // an answer in one piece has no first token
	}
	for _, n := range need {
		if !n.at.Seen() {
			return fmt.Errorf("a successful request has no %s", n.name)
		}
	}
	if s.Error != nil {
		return fmt.Errorf("a successful request has an error (%s)", s.Error.Type)
	}
	return nil
}

func checkGaps(r *Record) error {
	s := &r.Seen
	if s.Chunks < 0 {
		return fmt.Errorf("chunks is %d", s.Chunks)
	}
	if len(s.ChunkGapsNs) == 0 {
		return nil
	}
	if len(s.ChunkGapsNs) != s.Chunks-1 {
		return fmt.Errorf("chunk_gaps_ns has %d gaps for %d chunks", len(s.ChunkGapsNs), s.Chunks)
	}
	left, ok := s.LastToken.Sub(s.FirstToken)
	if !ok {
		return fmt.Errorf("chunk_gaps_ns without first_token_ns and last_token_ns")
	}
	span := left
	for i, g := range s.ChunkGapsNs {
		if g < 0 {
			return fmt.Errorf("chunk_gaps_ns[%d] is %d", i, g)
		}
		if int64(left) < g {
			return fmt.Errorf("chunk_gaps_ns add up to more than last_token_ns − first_token_ns (%d)", int64(span))
		}
		left -= time.Duration(g)
	}
	if left != 0 {
		return fmt.Errorf("chunk_gaps_ns add up to %d, last_token_ns − first_token_ns is %d", int64(span-left), int64(span))
	}
	return nil
}

func checkCounts(r *Record) error {
	a := &r.Asked
	for _, c := range []struct {
		name string
		n    int
	}{{"blocks", a.Blocks}, {"hit_instant", a.HitInstant}, {"hit_causal", a.HitCausal}, {"ideal_ended", a.IdealEnded}, {"ideal_begun", a.IdealBegun},
		{"block_size", a.BlockSize}, {"text_tokens", a.TextTokens}, {"marker_tokens", a.MarkTokens}, {"max_tokens", a.MaxTokens},
		{"recorded_in", a.RecordedIn}, {"recorded_out", a.RecordedOut}, {"messages", a.Messages}, {"turn", a.Turn}, {"depth", a.Depth}} {
		if c.n < 0 {
			return fmt.Errorf("%s is %d", c.name, c.n)
		}
	}
	if h := max(a.HitInstant, a.HitCausal, a.IdealEnded, a.IdealBegun); h > a.Blocks {
		return fmt.Errorf("%d hit blocks of %d blocks", h, a.Blocks)
	}
	u := r.Seen.Usage
	if u == nil {
		return nil
	}
	for _, c := range []struct {
		name string
		n    *int64
	}{{"prompt_tokens", u.PromptTokens}, {"completion_tokens", u.CompletionTokens}, {"total_tokens", u.TotalTokens},
		{"cached_tokens", u.CachedTokens}, {"reasoning_tokens", u.ReasoningTokens}, {"first_chunk_tokens", u.FirstChunkTokens}} {
		if c.n != nil && *c.n < 0 {
			return fmt.Errorf("usage.%s is %d", c.name, *c.n)
		}
	}
	return nil
}

func checkHTTP(r *Record) error {
	h := &r.Seen.HTTP
	for _, c := range []struct {
		name string
		n    *int64
	}{{"blocked_ns", h.BlockedNs}, {"dns_ns", h.DNSNs}, {"connect_ns", h.ConnectNs}, {"send_ns", h.SendNs}, {"wait_ns", h.WaitNs},
		{"receive_ns", h.ReceiveNs}, {"bytes_sent", h.BytesSent}, {"bytes_received", h.BytesReceived}, {"write_calls", h.WriteCalls}, {"read_calls", h.ReadCalls}} {
		if c.n != nil && *c.n < 0 {
			return fmt.Errorf("http.%s is %d", c.name, *c.n)
		}
	}
	return nil
}
