package summary

import (
	"cmp"
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
)

// Sessions are the measures by tree and by turn (decisions.md 28).
type Sessions struct {
	// Plays of traces, by how they ended.
	Trees map[record.TreeEnd]int `json:"trees"`
	// Plays from turn 0 to the end, all of it measured.
	Whole int `json:"whole"`
	// Child streams started, over all trees.
	Children int `json:"children"`
	// Join turns passed, over all trees.
	Joins int `json:"joins"`
	// Time of a whole tree from its first request to its last end, in seconds.
	Makespan *Stats `json:"makespan,omitzero"`
	// Makespan over the time the same play takes with the recorded service
	// times; whole trees only, as a ratio.
	Stretch *Stats `json:"stretch,omitzero"`
	// How long join turns waited for children after their own delay, in ms;
	// 0 where the children were done before.
	JoinWait *Stats `json:"join_wait,omitzero"`
	// Most requests of a tree in flight at once.
	FanOutPeak *Stats `json:"fan_out_peak,omitzero"`
	// Child streams of a tree.
	ChildrenPerTree *Stats `json:"children_per_tree,omitzero"`
	// By index of the turn in its stream.
	ByTurn []TurnBucket `json:"by_turn"`
	// Traces played, the most measured requests first.
	Played []Played `json:"played"`
	// Kish' effective number of root traces, n²/Σc² over the measured requests
	// per trace: how many equally large traces would weigh the same.
	EffectiveRoots *float64 `json:"effective_roots,omitzero"`
	// Share of the trace with the most measured requests, 0..1.
	LargestShare *float64 `json:"largest_share,omitzero"`
}

// TurnBucket holds the successes whose turn index lies in [From, To].
type TurnBucket struct {
	// First turn index.
	From int `json:"from"`
	// Last turn index.
	To int `json:"to"`
	// Successes.
	Requests int `json:"requests"`
	// Of root streams; the rest are children's.
	Root int `json:"root_requests"`
	// Time to first token, in ms.
	TTFT *Stats `json:"ttft,omitzero"`
	// Input length, in tokens.
	ISL *Stats `json:"input_sequence_length,omitzero"`
	// Cached over prompt tokens by usage, token-weighted, 0..1.
	UsageHitRate *float64 `json:"usage_hit_rate,omitzero"`
	// Ideal as played over the same requests, 0..1. The difference to the usage
	// rate shows where prefixes break.
	IdealHitRate *float64 `json:"ideal_hit_rate,omitzero"`
}

// Played is one trace of the corpus as far as it was played.
type Played struct {
	// Id of the trace.
	TraceID string `json:"trace_id"`
	// Plays begun.
	Trees int `json:"trees"`
	// Successes of the profiling phase.
	Requests int `json:"requests"`
}

type sessionBuilder struct {
	buckets  []bucket
	requests map[string]int
	joinWait []float64
}

type bucket struct {
	from, to                     int
	requests, root               int
	ttft, isl                    []float64
	cached, prompt, ideal, total float64
}

// maxDepthBuckets covers turn indexes up to 2^24.
const maxDepthBuckets = 26

// init makes the buckets 0, 1, 2–3, 4–7, 8–15, …
func (s *sessionBuilder) init() {
	s.requests = map[string]int{}
	s.buckets = append(s.buckets, bucket{from: 0, to: 0})
	for from := 1; len(s.buckets) < maxDepthBuckets; from *= 2 {
		s.buckets = append(s.buckets, bucket{from: from, to: 2*from - 1})
	}
}

func (s *sessionBuilder) record(r *record.Record, c record.Counting) {
	if w, ok := r.JoinWait(); ok {
		s.joinWait = append(s.joinWait, float64(w)/1e6)
	}
	if r.Seen.Outcome != record.OK {
		return
	}
	if r.Asked.TraceID != "" {
		s.requests[r.Asked.TraceID]++
	}
	i := 0
	for i+1 < len(s.buckets) && r.Asked.Turn > s.buckets[i].to {
		i++
	}
	s.buckets[i].add(r, c)
}

func (b *bucket) add(r *record.Record, c record.Counting) {
	b.requests++
	if r.Asked.Depth == 0 {
		b.root++
	}
	if v, ok := ttft.Of(r, c); ok {
		b.ttft = append(b.ttft, v)
	}
	if n, ok := r.InputTokens(c); ok {
		b.isl = append(b.isl, float64(n))
	}
	cached, ok := r.CachedTokens()
	if !ok {
		return
	}
	prompt := *r.Seen.Usage.PromptTokens
	b.cached += float64(cached)
	b.prompt += float64(prompt)
	if ideal, ok := idealTokens(r, r.Asked.IdealEnded, prompt); ok {
		b.ideal += ideal
		b.total += float64(prompt)
	}
}

func (b *bucket) figures() TurnBucket {
	out := TurnBucket{From: b.from, To: b.to, Requests: b.requests, Root: b.root, TTFT: statsOf(b.ttft, "ms"), ISL: statsOf(b.isl, unitTokens)}
	if b.prompt > 0 {
		v := b.cached / b.prompt
		out.UsageHitRate = &v
	}
	if b.total > 0 {
		v := b.ideal / b.total
		out.IdealHitRate = &v
	}
	return out
}

func statsOf(values []float64, unit string) *Stats {
	if s, ok := describe(values, unit); ok {
		return &s
	}
	return nil
}

func (s *sessionBuilder) figures(trees []record.Tree) Sessions {
	out := Sessions{Trees: map[record.TreeEnd]int{}, ByTurn: []TurnBucket{}, JoinWait: statsOf(s.joinWait, "ms")}
	plays := map[string]int{}
	var makespan, stretch, peak, children []float64
	for _, t := range trees {
		out.Trees[t.Why]++
		out.Children += t.Children
		out.Joins += t.Joins
		plays[t.TraceID]++
		peak = append(peak, float64(t.PeakLive))
		children = append(children, float64(t.Children))
		took, seen := t.End.Sub(t.Start)
		if !t.Whole || !seen {
			continue
		}
		out.Whole++
		makespan = append(makespan, took.Seconds())
		if t.RecordedNs > 0 {
			stretch = append(stretch, float64(took)/float64(t.RecordedNs))
		}
	}
	out.Makespan, out.Stretch = statsOf(makespan, "sec"), statsOf(stretch, "ratio")
	out.FanOutPeak, out.ChildrenPerTree = statsOf(peak, unitRequests), statsOf(children, "streams")
	for i := range s.buckets {
		if s.buckets[i].requests > 0 {
			out.ByTurn = append(out.ByTurn, s.buckets[i].figures())
		}
	}
	out.Played = s.played(plays)
	out.EffectiveRoots, out.LargestShare = kish(s.requests)
	return out
}

func (s *sessionBuilder) played(plays map[string]int) []Played {
	out := []Played{}
	for id, n := range plays {
		out = append(out, Played{id, n, s.requests[id]})
	}
	for id, n := range s.requests {
		if plays[id] == 0 {
			out = append(out, Played{id, 0, n})
		}
	}
	slices.SortFunc(out, func(a, b Played) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.TraceID, b.TraceID))
	})
	return out
}

// kish gives n²/Σc² and the largest share max(c)/n.
func kish(counts map[string]int) (effective, largest *float64) {
	n, squares, top := 0.0, 0.0, 0.0
	for _, c := range counts {
		n += float64(c)
		squares += float64(c) * float64(c)
		top = max(top, float64(c))
	}
	if squares == 0 {
		return nil, nil
	}
	e, l := n*n/squares, top/n
	return &e, &l
}
