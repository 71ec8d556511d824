package corpus

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// SynthOptions size a generated corpus. The zero value is the bundled sample's.
type SynthOptions struct {
	Traces           int // 16 by default
	MaxContextTokens int // a session is compacted before its prompt exceeds it; 40,000 by default, 16,000 at least
}

// Synth generates traces that have the shape of recorded ones at a fraction of
// their size, so that half a minute with four lanes sees some ten sessions: subagents
// with joins, one alone and in pairs, background branches, fan-outs recorded as
// main requests, compaction, a title call in front, and now and then a pause.
// The same seed and options give the same traces on every machine: all
// arithmetic is on whole numbers.
func Synth(seed uint64, o SynthOptions) []*trace.Trace {
	if o.Traces <= 0 {
		o.Traces = 16
	}
	if o.MaxContextTokens <= 0 {
		o.MaxContextTokens = 40_000
	}
	o.MaxContextTokens = max(o.MaxContextTokens, 16_000) // above the largest first prompt
	traces := make([]*trace.Trace, o.Traces)
	for i := range traces {
		b := &trace.Blocks{}
		s := &session{
			rand: rand.New(rand.NewPCG(seed, uint64(i))), maxContext: o.MaxContextTokens, builder: trace.NewBuilder(b),
			trace: &trace.Trace{ID: fmt.Sprintf("synth_%03d", i+1), BlockSize: blockSize, Blocks: b, ResolutionS: 1e-6},
		}
		s.play(kinds[i%len(kinds)])
		traces[i] = s.trace
	}
	return traces
}

// kind is what a generated session has beside its turns.
type kind struct {
	agents                                  int // subagents that start together
	background, fan, compact, title, paused bool
}

var kinds = []kind{
	{agents: 2},
	{compact: true},
	{agents: 1, paused: true},
	{agents: 1, background: true},
	{fan: true},
	{title: true, compact: true},
	{agents: 2, compact: true},
	{},
}

// quantiles are the least, p10, p50, p90 and largest of a distribution.
type quantiles [5]int

// Distributions in spec/trace-stats.json, mostly scaled down. The comments give
// the recorded p10, p50 and p90.
var (
	turns        = quantiles{4, 5, 7, 13, 25}              // requests_per_trace_main 7, 45, 155
	toolTokens   = quantiles{600, 1160, 1530, 1620, 2160}  // tool_tokens 9,292, 12,262, 12,974; an eighth
	systemTokens = quantiles{125, 511, 693, 925, 1865}     // system_tokens 2,044, 2,771, 3,701; a quarter
	firstTokens  = quantiles{800, 1200, 2500, 6000, 9000}  // first_in_minus_prefix 1,224, 7,157, 246,059
	newTokens    = quantiles{18, 230, 705, 4077, 9000}     // new_tokens_vs_prev 230, 705, 4,077
	outTokens    = quantiles{20, 24, 43, 120, 200}         // main_out 105, 216, 899; a fifth
	gapMs        = quantiles{20, 130, 300, 900, 2000}      // idle_gap 4.0, 9.1, 123.9 s; a thirtieth, the tail less
	pauseMs      = quantiles{12e3, 14e3, 20e3, 30e3, 40e3} // above the 10 s of the usual idle cap

	agentRequests  = quantiles{2, 2, 4, 6, 8}           // sub_inner_requests 5, 11, 17; a third
	agentOutTokens = quantiles{20, 26, 47, 105, 200}    // inner_out 131, 235, 529; a fifth
	agentGapMs     = quantiles{10, 30, 130, 400, 900}   // inner_think_time 1, 4, 27 s; a thirtieth, the tail less
	launchMs       = quantiles{90, 170, 510, 985, 1050} // sub_start_minus_prev_main_end 0.17, 0.51, 0.99 s
)

func (q quantiles) draw(r *rand.Rand) int {
	at := [5]int{0, 100, 500, 900, 1000}
	u := r.IntN(1000)
	i := 0
	for u >= at[i+1] {
		i++
	}
	return q[i] + (q[i+1]-q[i])*(u-at[i])/(at[i+1]-at[i])
}

const (
	blockSize      = 64
	leastTokens    = 4000 // of a first prompt
	droppedPercent = 5    // turns that replace the last block, drops_1 and drops_2_6 of turn_transition
	mainModel      = "claude-opus-4-5-20251101"
	agentModel     = "claude-haiku-4-5-20251001"
)

// session generates one trace. Times are in milliseconds.
type session struct {
	rand       *rand.Rand
	trace      *trace.Trace
	builder    *trace.Builder
	maxContext int
	nextID     int32
	endMs      int // when the next turn may be thought about

	main        growing
	agentPrefix growing // tools and system prompt of the subagents
}

// growing is a prompt that grows.
type growing struct {
	ids    []int32
	tokens int
}

func (s *session) grow(c *growing, tokens int) {
	c.tokens += tokens
	for len(c.ids) < c.tokens/blockSize {
		c.ids = append(c.ids, s.nextID)
		s.nextID++
	}
}

// cut keeps the first blocks.
func (c *growing) cut(blocks int) {
	c.ids = c.ids[:blocks]
	c.tokens = blocks * blockSize
}

func (c *growing) fork(blocks int) growing {
	return growing{slices.Clone(c.ids[:blocks]), blocks * blockSize}
}

func (s *session) play(k kind) {
	t := s.trace
	t.Models = []string{mainModel}
	if k.agents > 0 || k.title {
		t.Models = []string{agentModel, mainModel}
	}
	if k.title {
		s.title()
	}
	t.ToolTokens, t.SystemTokens = toolTokens.draw(s.rand), systemTokens.draw(s.rand)
	s.grow(&s.main, max(t.ToolTokens+t.SystemTokens+firstTokens.draw(s.rand), leastTokens))

	n := turns.draw(s.rand)
	forkAt := 1 + s.rand.IntN(n-2) // neither the first turn nor the last
	for i := range n {
		startMs := 0
		if i > 0 || k.title {
			startMs = s.endMs + gapMs.draw(s.rand)
		}
		if i > 0 {
			s.turn(k.compact && i == n*2/3)
		}
		if k.paused && i == n/2 {
			startMs += pauseMs.draw(s.rand)
		}
		r := s.request(&s.main, startMs, mainModel, outTokens, true)
		t.Entries = append(t.Entries, trace.Entry{Request: r})
		s.endMs = endMs(r)
		switch {
		case i != forkAt:
		case k.fan:
			s.fan()
		case k.agents > 0:
			s.spawn(k.agents, k.background)
		}
	}
}

// title is a call that names the session: alone, and with nothing in common with it.
func (s *session) title() {
	var c growing
	s.grow(&c, 500+s.rand.IntN(500))
	r := s.request(&c, 0, agentModel, quantiles{20, 20, 20, 20, 30}, true)
	s.trace.Entries = append(s.trace.Entries, trace.Entry{Request: r})
	s.endMs = endMs(r)
}

// turn grows the main prompt, or compacts it.
func (s *session) turn(compact bool) {
	added := newTokens.draw(s.rand)
	blocks := len(s.main.ids)
	switch {
	case compact || s.main.tokens+added > s.maxContext:
		// Over half is lost in most pull-backs (spec/traces.md §5.1).
		s.main.cut(blocks * (20 + s.rand.IntN(25)) / 100)
		added = 500 + s.rand.IntN(1500)
	case s.rand.IntN(100) < droppedPercent:
		s.main.cut(blocks - 1)
		added += blockSize
	}
	s.grow(&s.main, added)
}

// request sends the context. Recorded times follow from its size: 25 µs a prompt
// token and 18 ms an output token come near the medians of ttft and api_time.
func (s *session) request(c *growing, startMs int, model string, out quantiles, streamed bool) *trace.Request {
	r := &trace.Request{
		StartS: seconds(startMs), Streamed: streamed, Model: model, In: c.tokens, Out: out.draw(s.rand),
		Path: s.builder.Add(slices.Clone(c.ids)), Whole: len(c.ids),
	}
	firstMs := 200 + r.In/40
	r.APITimeS = trace.Some(seconds(firstMs + 18*r.Out))
	if streamed {
		r.TTFTS = trace.Some(seconds(firstMs))
	}
	return r
}

// spawn starts subagents behind the turn before. Unless they run in the
// background, the session goes on when all have ended.
func (s *session) spawn(n int, background bool) {
	if s.agentPrefix.tokens == 0 {
		s.grow(&s.agentPrefix, toolTokens.draw(s.rand)/2+systemTokens.draw(s.rand))
	}
	startMs := s.endMs + launchMs.draw(s.rand)
	for i := range n {
		sub := &trace.Subagent{
			AgentID: fmt.Sprintf("subagent_%03d_%08x", i+1, s.rand.Uint32()), Type: "Subagent",
			Status: "completed", Models: []string{agentModel}, Background: background,
		}
		atMs := startMs + i*(20+s.rand.IntN(200))
		c := s.agentPrefix.fork(len(s.agentPrefix.ids))
		sub.StartS = seconds(atMs)
		sub.Requests = s.chain(&c, atMs, agentRequests.draw(s.rand), agentModel)
		lastMs := endMs(sub.Requests[len(sub.Requests)-1])
		if background {
			sub.Status = "async_launched"
			sub.EndS = sub.Requests[len(sub.Requests)-1].EndS()
		} else {
			sub.DurationMs = trace.Some(float64(lastMs - atMs))
			sub.EndS = sub.StartS + sub.DurationMs.Value/1000
			s.endMs = max(s.endMs, lastMs)
		}
		s.trace.Entries = append(s.trace.Entries, trace.Entry{Subagent: sub})
	}
}

// fan runs three workers side by side that share the first half of the main
// prompt, recorded like main requests.
func (s *session) fan() {
	var requests []*trace.Request
	launched := s.endMs
	for i := range 3 {
		c := s.main.fork(len(s.main.ids) / 2)
		requests = append(requests, s.chain(&c, launched+100*(i+1), 2+s.rand.IntN(2), mainModel)...)
	}
	slices.SortStableFunc(requests, func(a, b *trace.Request) int { return startMs(a) - startMs(b) })
	for _, r := range requests {
		s.trace.Entries = append(s.trace.Entries, trace.Entry{Request: r})
		s.endMs = max(s.endMs, endMs(r))
	}
}

// chain sends n requests one after the other.
func (s *session) chain(c *growing, atMs, n int, model string) []*trace.Request {
	var requests []*trace.Request
	for range n {
		s.grow(c, min(max(newTokens.draw(s.rand), 2*blockSize), s.maxContext-c.tokens))
		r := s.request(c, atMs, model, agentOutTokens, false)
		requests = append(requests, r)
		atMs = endMs(r) + agentGapMs.draw(s.rand)
	}
	return requests
}

func seconds(ms int) float64 { return float64(ms) / 1000 }

// Times are whole milliseconds, which half a millisecond keeps from rounding down.
func startMs(r *trace.Request) int { return int(r.StartS*1000 + 0.5) }
func endMs(r *trace.Request) int   { return startMs(r) + int(r.APITimeS.Value*1000+0.5) }
