package chart

import (
	"github.com/org/agentx-action/pkg/result/record"
)

// Evidence is what the pictures with a course in time are drawn from: the requests
// and trees of one run. It keeps about 100 bytes a request.
type Evidence struct {
	// Whose count of prompt tokens is the input length.
	Counting record.Counting
	// The measured phase; the zero Stamp where it isn't known, and then it is what
	// the requests cover.
	Start, End record.Stamp

	requests []request
	trees    []tree
}

// request is what is drawn of one request of the measured phase.
type request struct {
	lane             int
	child, failed    bool
	sent, first, end record.Stamp
	// In tokens, of those that say it: the prompt, and how much of it came from the
	// cache or could have.
	prompt, cached, ideal float64
	hasCached, hasIdeal   bool
	blocks, hits          int // of the recording
}

type tree struct {
	num, lane  int
	start, end record.Stamp
	cut        bool
}

// Record adds a request. Those of the warm-up and those never sent are left out.
func (e *Evidence) Record(r *record.Record) {
	if r.Asked.Phase != record.PhaseProfiling || !r.Seen.Sent.Seen() || r.Seen.End < r.Seen.Sent {
		return
	}
	q := request{
		lane: r.Asked.Lane, child: r.Asked.Depth > 0, failed: r.Seen.Outcome == record.Failed,
		sent: r.Seen.Sent, first: r.Seen.FirstToken, end: r.Seen.End,
	}
	if r.Seen.Outcome == record.OK {
		q.cache(r, e.Counting)
	}
	e.requests = append(e.requests, q)
}

// cache fills in what the accounting of the cache needs (decisions.md 3, 15).
func (q *request) cache(r *record.Record, counting record.Counting) {
	q.blocks, q.hits = r.Asked.Blocks, r.Asked.HitInstant
	prompt, ok := r.InputTokens(counting)
	if !ok || prompt <= 0 {
		return
	}
	q.prompt = float64(prompt)
	if r.Asked.Blocks > 0 && r.Asked.BlockSize > 0 {
		q.ideal, q.hasIdeal = float64(min(int64(r.Asked.IdealEnded)*int64(r.Asked.BlockSize), prompt)), true
	}
	if n, ok := r.CachedTokens(); ok {
		q.cached, q.hasCached = float64(n), true
	}
}

// Tree adds a play of a trace.
func (e *Evidence) Tree(t *record.Tree) {
	if t.Start.Seen() {
		e.trees = append(e.trees, tree{num: t.Num, lane: t.Lane, start: t.Start, end: t.End, cut: t.Why == record.TreeCut || !t.End.Seen()})
	}
}

// maxWindow bounds the measured phase, in nanoseconds: ten years, which no run lasts. A
// longer one would overflow where its length is reckoned with.
const maxWindow = 10 * 365 * 24 * 3600 * 1_000_000_000

// tooLong tells whether a window is none of a run; to is not before from.
func tooLong(from, to record.Stamp) bool { return uint64(to-from) > maxWindow }

// window is the measured phase, as far as something was in flight; without a length
// where neither phase nor requests are of a run.
func (e *Evidence) window() (from, to record.Stamp) {
	from, to = e.Start, e.End
	first, last := record.Stamp(0), record.Stamp(0)
	for _, q := range e.requests {
		if first == 0 || q.sent < first {
			first = q.sent
		}
		last = max(last, q.end)
	}
	if !from.Seen() {
		from = first
	}
	if !to.Seen() || to < from {
		to = last
	}
	to = max(to, from)
	if tooLong(from, to) {
		from, to = first, max(last, first)
	}
	if tooLong(from, to) {
		return from, from
	}
	return from, to
}

// since is a stamp in seconds after another.
func since(s, from record.Stamp) float64 { return float64(s-from) / 1e9 }
