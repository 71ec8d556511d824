package trace

type Hit struct{ Instant, Causal, PrevTurn int }

func (t *Trace) Hits() map[*Request]Hit { return nil }
