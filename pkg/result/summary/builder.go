package summary

import (
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
)

// Figures is everything that can be computed from the records of a run.
type Figures struct {
	Requests   Requests
	Metrics    map[string]Stats    // per request, successes of the profiling phase
	Run        map[string]Value    // of the whole profiling phase
	Adjusted   map[string]Adjusted // adj_<metric>; only with failures
	Warmup     map[string]Stats    // per request, successes of the warm-up
	Errors     []ErrorGroup
	Coverage   *Coverage
	Cache      Cache
	Load       Load
	Slices     []Slice
	Sessions   Sessions
	InferenceX *InferenceX
	Client     Client
	Tokens     Tokens
	Fixed      *Fixed // nil unless Options.Fixed is set
}

// Builder collects a run. It is for one goroutine. Memory follows the number
// of requests (about 1 KB each), not their length.
type Builder struct {
	opt     Options
	slos    []slo
	metrics []record.Metric

	profiling, warmup [][]float64 // by metric
	gaps, warmupGaps  pool
	lag, connWait     []float64 // ms, of every profiling request sent

	kept    []kept
	req     Requests
	errors  errorGroups
	totals  totals
	trees   []record.Tree
	samples []record.Sample
	session sessionBuilder
	tokens  tokenBuilder
	cache   cacheBuilder
	ix      ixBuilder
	fixed   []fixedRequest // of the profiling phase
}

// kept is what the curves and slices need of a profiling request.
type kept struct {
	sent, first, end record.Stamp
	isl, osl         int64 // −1: not counted
	ttftMs, itlMs    float64
	ok, failed       bool
}

// totals are sums over the successes of the profiling phase.
type totals struct {
	isl, osl, visible, reasoning             int64
	hasISL, hasOSL, hasReasoning             bool
	usage                                    usageTotals
	errorISL                                 int64
	good, mismatches                         int
	firstSent, lastContent                   record.Stamp
	lastTTFT, lastITL                        record.Stamp
	missingUsage, missingCached, belowChunks int
}

// New starts a summary. An SLO of an unknown metric is never met.
func New(opt Options) *Builder {
	b := &Builder{opt: opt, metrics: record.Metrics()}
	for _, s := range opt.SLOs {
		m, ok := record.MetricByKey(s.Metric)
		if !ok {
			m.Of = func(*record.Record, record.Counting) (float64, bool) { return 0, false }
		}
		b.slos = append(b.slos, slo{m, s.Threshold})
	}
	b.profiling = make([][]float64, len(b.metrics))
	b.warmup = make([][]float64, len(b.metrics))
	b.session.init()
	return b
}

// Record adds a request. It may turn r into a failed one, see record.Record.Check.
func (b *Builder) Record(r *record.Record) {
	broken := r.Check() != nil
	if broken {
		b.req.Broken++
	}
	b.req.add(r)
	b.tokens.served(r)
	b.ix.account(r)
	if r.Asked.Phase == record.PhaseWarmup {
		if r.Seen.Outcome == record.OK {
			b.measure(r, b.warmup, &b.warmupGaps)
		}
		return
	}
	b.errors.add(r)
	if broken { // its times can't be used for anything
		return
	}
	b.keep(r)
	if r.Asked.Kind == record.KindFixed {
		b.keepFixed(r)
	} else {
		b.session.record(r, b.opt.Counting)
	}
	switch r.Seen.Outcome {
	case record.OK:
		b.success(r)
	case record.Failed:
		if n, ok := r.InputTokens(b.opt.Counting); ok {
			b.totals.errorISL += n
		}
	}
}

// Tree adds a play of a trace. One that contradicts itself only counts as broken.
func (b *Builder) Tree(t *record.Tree) {
	if t.Check() != nil {
		b.req.Broken++
		return
	}
	b.trees = append(b.trees, *t)
}

// Sample adds a sample of the client's health.
func (b *Builder) Sample(s *record.Sample) { b.samples = append(b.samples, *s) }

func (b *Builder) measure(r *record.Record, into [][]float64, gaps *pool) {
	for i := range b.metrics {
		if v, ok := b.metrics[i].Of(r, b.opt.Counting); ok {
			into[i] = append(into[i], v)
		}
	}
	for _, g := range r.Seen.ChunkGapsNs {
		gaps.add(g)
	}
}

func (b *Builder) success(r *record.Record) {
	b.measure(r, b.profiling, &b.gaps)
	b.totals.add(r, b.opt.Counting)
	b.cache.add(r, b.opt.Counting)
	b.tokens.add(r, &b.opt)
	b.ix.add(r, b.opt.Counting)
	if len(b.slos) > 0 && good(r, b.slos, b.opt.Counting) {
		b.totals.good++
	}
}

func (b *Builder) keep(r *record.Record) {
	s := &r.Seen
	if !s.Sent.Seen() {
		return
	}
	if d, ok := r.Lag(); ok {
		b.lag = append(b.lag, float64(d)/1e6)
	}
	if n := s.HTTP.BlockedNs; n != nil {
		b.connWait = append(b.connWait, float64(*n)/1e6)
	}
	k := kept{sent: s.Sent, first: s.FirstToken, end: s.End, isl: -1, osl: -1, ttftMs: -1, itlMs: -1, ok: s.Outcome == record.OK, failed: s.Outcome == record.Failed}
	if !k.end.Seen() {
		k.end = max(s.Sent, s.Headers, s.FirstByte, s.LastToken)
	}
	if n, ok := r.InputTokens(b.opt.Counting); ok && k.ok {
		k.isl = n
	}
	if n, ok := r.OutputTokens(); ok && k.ok {
		k.osl = n
	}
	if k.ok {
		k.ttftMs, k.itlMs = value(r, ttft), value(r, itl)
	}
	b.kept = append(b.kept, k)
}

var (
	ttft, _ = record.MetricByKey("time_to_first_token")
	itl, _  = record.MetricByKey("inter_token_latency")
	e2e, _  = record.MetricByKey("request_latency")
)

// value is −1 where the metric is absent.
func value(r *record.Record, m record.Metric) float64 {
	if v, ok := m.Of(r, record.CountServer); ok {
		return v
	}
	return -1
}

// Figures computes everything. Call it once, at the end.
func (b *Builder) Figures() *Figures {
	slices.SortFunc(b.samples, func(x, y record.Sample) int { return int(x.At - y.At) })
	w := b.window()
	f := &Figures{
		Requests: b.req,
		Metrics:  distributions(b.metrics, b.profiling, &b.gaps),
		Warmup:   distributions(b.metrics, b.warmup, &b.warmupGaps),
		Errors:   b.errors.list(),
		Run:      b.run(),
		Coverage: b.coverage(),
	}
	f.Adjusted = b.adjusted()
	f.Load = b.load(w)
	f.Slices = b.slices(w)
	f.Sessions = b.session.figures(b.trees)
	f.Cache = b.cache.figures()
	f.Tokens = b.tokens.figures(&b.totals)
	f.InferenceX = b.ix.figures(b.opt.GPUs, f.Cache.TheoreticalInstant)
	f.Client = b.client(w)
	f.Fixed = b.figuresFixed(w)
	return f
}

// distributions sorts the values in place.
func distributions(metrics []record.Metric, values [][]float64, gaps *pool) map[string]Stats {
	out := map[string]Stats{}
	for i, m := range metrics {
		if s, ok := describe(values[i], m.Unit); ok {
			out[m.Key] = s
		}
	}
	if s, ok := gaps.stats(); ok {
		out[record.ChunkGaps] = s
	}
	return out
}

// adjusted relies on distributions having sorted the values.
func (b *Builder) adjusted() map[string]Adjusted {
	out := map[string]Adjusted{}
	failed := b.req.Profiling.Errors
	if failed == 0 {
		return out
	}
	for i, m := range b.metrics {
		if m.Adjusted && len(b.profiling[i]) > 0 {
			out["adj_"+m.Key] = adjust(b.profiling[i], failed, m.Unit)
		}
	}
	return out
}
