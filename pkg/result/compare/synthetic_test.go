package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
)

// synthetic describes runs whose truth is known: log-normal latencies with a
// part for the trace, one for the request, one for the run and one for itself.
type synthetic struct {
	traces, turns      int
	seed               uint64  // of the work, the same on both sides
	run                uint64  // of the run's own noise
	runSD, selfSD      float64 // of logarithms
	scale              float64 // of all latencies; 0 = 1
	failures           float64 // share
	failedTrace        string  // all of whose requests fail
	identity           map[string]string
	lanes, gpus        int
	censored, overflow float64
}

func (s synthetic) defaults() synthetic {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&s.traces, 20)
	set(&s.turns, 20)
	set(&s.lanes, 8)
	if s.scale == 0 {
		s.scale = 1
	}
	return s
}

func (s synthetic) records() []*record.Record {
	s = s.defaults()
	work, self := rand.New(rand.NewPCG(s.seed, 1)), rand.New(rand.NewPCG(s.run, 2))
	factor := s.scale * math.Exp(s.runSD*self.NormFloat64())
	var out []*record.Record
	for trace := range s.traces {
		heavy := math.Exp(0.5 * work.NormFloat64())
		for turn := range s.turns {
			ttft := 100 * heavy * math.Exp(0.5*work.NormFloat64()) * factor * math.Exp(s.selfSD*self.NormFloat64())
			itl := 10 * math.Exp(0.2*work.NormFloat64()) * factor * math.Exp(s.selfSD*self.NormFloat64())
			n, prompt := int64(20+work.IntN(200)), int64(2000+work.IntN(20000))
			cached := prompt * int64(work.IntN(100)) / 100
			sent := record.Stamp(1e9 + float64(trace*s.turns+turn)*1e8)
			first := sent + record.Stamp(ttft*1e6)
			r := &record.Record{
				Asked: record.Asked{
					Num: len(out), Phase: record.PhaseProfiling, Kind: record.KindTurn, Lane: trace % s.lanes,
					TraceID: fmt.Sprintf("trace-%02d", trace), StreamID: fmt.Sprintf("trace-%02d", trace), Turn: turn,
				},
				Seen: record.Seen{
					Outcome: record.OK, Sent: sent, FirstToken: first, LastToken: first + record.Stamp(itl*1e6*float64(n-1)),
					Usage: &record.Usage{PromptTokens: &prompt, CompletionTokens: &n, CachedTokens: &cached},
				},
			}
			r.Seen.End = r.Seen.LastToken
			switch u := self.Float64(); {
			case u < s.failures || r.Asked.TraceID == s.failedTrace:
				r.Seen = record.Seen{Outcome: record.Failed, Sent: sent, End: sent + 1, Error: &record.Error{Code: 500, Type: "http_500"}}
			case u < s.failures+s.censored:
				r.Seen = record.Seen{Outcome: record.Censored, Sent: sent}
			case u < s.failures+s.censored+s.overflow:
				r.Seen = record.Seen{Outcome: record.Overflow, Sent: sent}
			}
			out = append(out, r)
		}
	}
	return out
}

func (s synthetic) make() *Run { return s.of(s.records()) }

func (s synthetic) of(records []*record.Record) *Run {
	b := summary.New(summary.Options{})
	for _, r := range records {
		b.Record(r)
	}
	f := b.Figures()
	identity := map[string]string{"corpus": "c", "seed": "1", "history": "recorded", "engine_version": "1", "engine_args": `["--x"]`}
	for k, v := range s.identity {
		identity[k] = v
	}
	d := &result.Document{
		Mode: result.ModeAgentic, RunID: fmt.Sprintf("run-%d", s.run), Identity: result.NewIdentity(identity),
		Requests: f.Requests, Metrics: result.Metrics{Request: f.Metrics, Run: f.Run}, Cache: result.CacheAccounting{Cache: f.Cache},
		Load: f.Load, Sessions: f.Sessions, InferenceX: f.InferenceX,
		Phases: []result.PhaseTimes{{Phase: result.Phase{Name: record.PhaseProfiling, Start: 1e9}}},
	}
	d.Validity.Trusted = true
	if s.gpus > 0 {
		d.GPUs = &result.GPUs{Count: s.gpus}
	}
	return NewRun(d, slices.Values(records))
}
