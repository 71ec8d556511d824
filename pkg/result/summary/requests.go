package summary

import (
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
)

// Requests counts what became of every request (spec/replay.md §4.11).
type Requests struct {
	// All records of the run.
	Total int `json:"total"`
	// Warm-up requests; they enter no other figure but the warm-up's own.
	Warmup Outcomes `json:"warmup"`
	// Requests of the profiling phase.
	Profiling Outcomes `json:"profiling"`
	// Primers: warm-up requests that fill the cache up to the entry point.
	Primers int `json:"primers"`
	// Connection attempts repeated under --retry-unsent.
	Retries int `json:"retries"`
	// Records that contradicted themselves and count as failed.
	Broken int `json:"broken"`
}

// Outcomes counts the ways requests ended.
type Outcomes struct {
	// Successes.
	OK int `json:"ok"`
	// Failed: HTTP error, timeout, broken or empty stream.
	Errors int `json:"errors"`
	// Refused because the prompt outgrew the engine's context; no error.
	Overflow int `json:"overflow"`
	// Cut off by the end of the run; no error.
	Censored int `json:"censored"`
}

// Total is the number of requests.
func (o Outcomes) Total() int { return o.OK + o.Errors + o.Overflow + o.Censored }

// ErrorRate is errors over successes and errors, 0..1 (spec/replay.md §6.3);
// false without either.
func (o Outcomes) ErrorRate() (float64, bool) {
	if o.OK+o.Errors == 0 {
		return 0, false
	}
	return float64(o.Errors) / float64(o.OK+o.Errors), true
}

// OverflowRate is overflows over successes, errors and overflows, 0..1, and 0
// without any (spec/replay.md §6.4).
func (o Outcomes) OverflowRate() float64 {
	n := o.OK + o.Errors + o.Overflow
	if n == 0 {
		return 0
	}
	return float64(o.Overflow) / float64(n)
}

func (q *Requests) add(r *record.Record) {
	q.Total++
	q.Retries += r.Seen.HTTP.Retries
	if r.Asked.Kind == record.KindPrimer {
		q.Primers++
	}
	o := &q.Profiling
	if r.Asked.Phase == record.PhaseWarmup {
		o = &q.Warmup
	}
	switch r.Seen.Outcome {
	case record.OK:
		o.OK++
	case record.Overflow:
		o.Overflow++
	case record.Censored:
		o.Censored++
	default:
		o.Errors++
	}
}

// ErrorGroup counts failed profiling requests of one code and type.
type ErrorGroup struct {
	// HTTP status; 502 error inside the stream, 0 transport.
	Code int `json:"code"`
	// Short stable class.
	Type string `json:"type"`
	// Message of the first of them.
	Message string `json:"message"`
	// How many there were.
	Count int `json:"count"`
}

// maxErrorGroups bounds the list; what comes after goes into a last group.
const maxErrorGroups = 64

type errorKey struct {
	code int
	typ  string
}

type errorGroups struct {
	at     map[errorKey]int
	groups []ErrorGroup
}

func (g *errorGroups) add(r *record.Record) {
	if r.Seen.Outcome != record.Failed {
		return
	}
	e := record.Error{Type: "unknown", Message: "failed without an error"}
	if r.Seen.Error != nil {
		e = *r.Seen.Error
	}
	k := errorKey{e.Code, e.Type}
	if g.at == nil {
		g.at = map[errorKey]int{}
	}
	i, ok := g.at[k]
	if !ok && len(g.groups) >= maxErrorGroups {
		k, e = errorKey{0, "other"}, record.Error{Type: "other", Message: "more kinds of errors than are listed; see records.jsonl"}
		i, ok = g.at[k]
	}
	if !ok {
		i = len(g.groups)
		g.at[k] = i
		g.groups = append(g.groups, ErrorGroup{Code: e.Code, Type: e.Type, Message: e.Message})
	}
	g.groups[i].Count++
}

// list gives the groups, the most frequent first.
func (g *errorGroups) list() []ErrorGroup {
	out := slices.Clone(g.groups)
	slices.SortStableFunc(out, func(a, b ErrorGroup) int { return b.Count - a.Count })
	return out
}
