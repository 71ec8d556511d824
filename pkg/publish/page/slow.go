package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// slowest is how many requests are explained.
const slowest = 10

// Slow is one of the slowest requests, with the parts of its time. A part that was
// not measured is nil.
type Slow struct {
	Trace            string
	Stream           string // root, or the child's name without the trace's
	Turn             int
	ISL, Cached, OSL *int64        // tokens
	Total            time.Duration // from sending to the last token
	Parts            []Part
	Why              string
}

// Part is a stretch of a request's time.
type Part struct {
	Name, Class string
	Time        *time.Duration
	Before      bool // lies before sending, so in no latency
}

// ranking keeps the slowest requests of those it is shown.
type ranking struct {
	counting record.Counting
	itl      *float64 // of the run, in ms, at the median
	list     []ranked
}

type ranked struct {
	total time.Duration
	r     *record.Record
}

// add looks at a request of the measured phase that succeeded. It keeps r.
func (k *ranking) add(r *record.Record) {
	if r.Asked.Phase != record.PhaseProfiling || r.Seen.Outcome != record.OK {
		return
	}
	total, ok := r.Seen.LastToken.Sub(r.Seen.Sent)
	if !ok || len(k.list) == slowest && total <= k.list[slowest-1].total {
		return
	}
	r.Seen.ChunkGapsNs = nil
	i, _ := slices.BinarySearchFunc(k.list, total, func(a ranked, t time.Duration) int { return cmp.Compare(t, a.total) })
	k.list = slices.Insert(k.list, i, ranked{total, r})
	k.list = k.list[:min(len(k.list), slowest)]
}

// slow explains them, the slowest first.
func (k *ranking) slow() []Slow {
	var out []Slow
	for _, e := range k.list {
		out = append(out, k.explain(e.r, e.total))
	}
	return out
}

func (k *ranking) explain(r *record.Record, total time.Duration) Slow {
	h := &r.Seen.HTTP
	lag, lagged := r.Lag()
	s := Slow{
		Trace: r.Asked.TraceID, Stream: stream(&r.Asked), Turn: r.Asked.Turn, Total: total,
		Parts: []Part{
			{Name: "due → sent", Class: "lag", Time: known(lag, lagged), Before: true},
			{Name: "connection", Class: "conn", Time: sum(h.BlockedNs, h.DNSNs, h.ConnectNs)},
			{Name: "send", Class: "send", Time: sum(h.SendNs)},
			{Name: "wait", Class: "wait", Time: sum(h.WaitNs)},
			{Name: "first token", Class: "first", Time: known(r.Seen.FirstToken.Sub(r.Seen.FirstByte))},
			{Name: "decode", Class: "decode", Time: known(r.Seen.LastToken.Sub(r.Seen.FirstToken))},
		},
	}
	if n, ok := r.InputTokens(k.counting); ok {
		s.ISL = &n
	}
	if n, ok := r.CachedTokens(); ok {
		s.Cached = &n
	}
	if n, ok := r.OutputTokens(); ok {
		s.OSL = &n
	}
	s.Why = k.why(&s)
	return s
}

func stream(a *record.Asked) string {
	if a.Depth == 0 {
		return "root"
	}
	return strings.TrimPrefix(a.StreamID, a.TraceID+"::")
}

func known(d time.Duration, ok bool) *time.Duration {
	if !ok {
		return nil
	}
	return &d
}

// sum adds phases; one that is missing leaves no value.
func sum(parts ...*int64) *time.Duration {
	var d time.Duration
	for _, p := range parts {
		if p == nil {
			return nil
		}
		d += time.Duration(*p)
	}
	return &d
}

// why names the largest part and what it is made of.
func (k *ranking) why(s *Slow) string {
	var largest *Part
	for i := range s.Parts {
		if p := &s.Parts[i]; !p.Before && p.Time != nil && (largest == nil || *p.Time > *largest.Time) {
			largest = p
		}
	}
	if largest == nil || *largest.Time <= 0 || s.Total <= 0 {
		return ""
	}
	took := *largest.Time
	text := fmt.Sprintf("%.0f %% %s", 100*float64(took)/float64(s.Total), largest.Name)
	switch {
	case largest.Class == "decode" && s.OSL != nil && *s.OSL > 1:
		text += fmt.Sprintf(": %d tokens, %s each", *s.OSL, millis(float64(took)/1e6/float64(*s.OSL-1)))
		if k.itl != nil {
			text += " (the run's median " + millis(*k.itl) + ")"
		}
	case largest.Class == "wait" && s.ISL != nil && s.Cached != nil:
		text += fmt.Sprintf(": %d of %d prompt tokens were not cached, %.0f of them a second", *s.ISL-*s.Cached, *s.ISL, float64(*s.ISL-*s.Cached)/took.Seconds())
	case largest.Class == "wait" && s.ISL != nil:
		text += fmt.Sprintf(": %d prompt tokens, not said how many cached", *s.ISL)
	}
	return text
}
