package record

import "time"

func sent(r *Record) Stamp        { return r.Seen.Sent }
func issued(r *Record) Stamp      { return r.Asked.Issued }
func headers(r *Record) Stamp     { return r.Seen.Headers }
func firstToken(r *Record) Stamp  { return r.Seen.FirstToken }
func secondToken(r *Record) Stamp { return r.Seen.SecondToken }
func firstOutput(r *Record) Stamp { return r.Seen.FirstOutput }
func lastToken(r *Record) Stamp   { return r.Seen.LastToken }
func end(r *Record) Stamp         { return r.Seen.End }

func blocked(h *HTTP) *int64    { return h.BlockedNs }
func dns(h *HTTP) *int64        { return h.DNSNs }
func connecting(h *HTTP) *int64 { return h.ConnectNs }
func sending(h *HTTP) *int64    { return h.SendNs }
func waiting(h *HTTP) *int64    { return h.WaitNs }
func receiving(h *HTTP) *int64  { return h.ReceiveNs }

func ms(d time.Duration, ok bool) (float64, bool) { return float64(d) / 1e6, ok }

func count(n int64, ok bool) (float64, bool) { return float64(n), ok }

func msBetween(from, to func(*Record) Stamp) func(*Record, Counting) (float64, bool) {
	return func(r *Record, _ Counting) (float64, bool) { return ms(to(r).Sub(from(r))) }
}

// interToken is (latency − TTFT)/(tokens − 1). With usage in every chunk the
// tokens of the first chunk are known and take the place of the 1.
func interToken(r *Record, _ Counting) (float64, bool) {
	n, ok := r.OutputTokens()
	if !ok || n < 2 {
		return 0, false
	}
	first := int64(1)
	if f := r.Seen.Usage.FirstChunkTokens; f != nil && *f > 0 {
		first = *f
	}
	span, ok := ms(r.Seen.LastToken.Sub(r.Seen.FirstToken))
	if !ok || n <= first {
		return 0, false
	}
	return span / float64(n-first), true
}

func fullInterToken(r *Record, _ Counting) (float64, bool) {
	n, ok := r.OutputTokens()
	if !ok || n < 2 {
		return 0, false
	}
	span, ok := ms(r.Seen.End.Sub(r.Seen.FirstToken))
	return span / float64(n-1), ok
}

// perSecond turns ms per token into tokens per second.
func perSecond(of func(*Record, Counting) (float64, bool)) func(*Record, Counting) (float64, bool) {
	return func(r *Record, c Counting) (float64, bool) {
		v, ok := of(r, c)
		if !ok || v <= 0 {
			return 0, false
		}
		return 1000 / v, true
	}
}

func e2eThroughput(r *Record, _ Counting) (float64, bool) {
	n, ok := r.OutputTokens()
	d, seen := r.Seen.LastToken.Sub(r.Seen.Sent)
	if !ok || !seen || d <= 0 {
		return 0, false
	}
	return float64(n) / d.Seconds(), true
}

// latencyPerToken is request latency over output tokens: percentiles of it, turned
// over, are InferenceX' e2e_norm_intvty (spec/replay.md §7.11).
func latencyPerToken(r *Record, _ Counting) (float64, bool) {
	n, ok := r.OutputTokens()
	d, seen := ms(r.Seen.LastToken.Sub(r.Seen.Sent))
	if !ok || !seen || n <= 0 || d <= 0 {
		return 0, false
	}
	return d / float64(n), true
}

func prefillThroughput(r *Record, c Counting) (float64, bool) {
	n, ok := r.InputTokens(c)
	d, seen := r.Seen.FirstToken.Sub(r.Seen.Sent)
	if !ok || !seen || d <= 0 {
		return 0, false
	}
	return float64(n) / d.Seconds(), true
}

// visibleTokens are the output tokens that are not reasoning. An engine that
// doesn't split them leaves all of them visible.
func visibleTokens(r *Record, _ Counting) (float64, bool) {
	n, ok := r.OutputTokens()
	if !ok {
		return 0, false
	}
	if t := r.Seen.Usage.ReasoningTokens; t != nil {
		n = max(n-*t, 0)
	}
	return float64(n), true
}

func requested(r *Record, _ Counting) (float64, bool) {
	return float64(r.Asked.MaxTokens), r.Asked.MaxTokens > 0
}

func mismatchPct(r *Record, _ Counting) (float64, bool) {
	n, ok := r.OutputTokens()
	if !ok || r.Asked.MaxTokens <= 0 {
		return 0, false
	}
	want := float64(r.Asked.MaxTokens)
	return 100 * (float64(n) - want) / want, true
}

func tokensPerChunk(r *Record, _ Counting) (float64, bool) {
	n, ok := r.OutputTokens()
	if !ok || r.Seen.Chunks <= 0 {
		return 0, false
	}
	return float64(n) / float64(r.Seen.Chunks), true
}

func usage(field func(*Usage) *int64) func(*Record, Counting) (float64, bool) {
	return func(r *Record, _ Counting) (float64, bool) {
		if r.Seen.Usage == nil {
			return 0, false
		}
		n := field(r.Seen.Usage)
		if n == nil {
			return 0, false
		}
		return float64(*n), true
	}
}

// phases adds HTTP phases, in ms; one that is missing leaves no value.
func phases(parts ...func(*HTTP) *int64) func(*Record, Counting) (float64, bool) {
	return func(r *Record, _ Counting) (float64, bool) {
		sum := 0.0
		for _, part := range parts {
			n := part(&r.Seen.HTTP)
			if n == nil {
				return 0, false
			}
			sum += float64(*n)
		}
		return sum / 1e6, true
	}
}

func scaled(field func(*HTTP) *int64, by float64) func(*Record, Counting) (float64, bool) {
	return func(r *Record, _ Counting) (float64, bool) {
		n := field(&r.Seen.HTTP)
		if n == nil {
			return 0, false
		}
		return float64(*n) * by, true
	}
}

func reused(r *Record, _ Counting) (float64, bool) {
	switch b := r.Seen.HTTP.Reused; {
	case b == nil:
		return 0, false
	case *b:
		return 1, true
	}
	return 0, true
}
