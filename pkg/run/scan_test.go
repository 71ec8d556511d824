package run

import (
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/workload/corpus"
)

func TestScan(t *testing.T) {
	for _, traces := range []int{32} {
		for _, lanes := range []int{2, 3, 4} {
			for _, secs := range []int{120, 240, 480} {
				powerSeconds, powerLanes = secs, lanes
				b := newBench()
				b.work.Traces = corpus.Synth(11, corpus.SynthOptions{Traces: traces, MaxContextTokens: 16_000})
				b.play(t, powerConfig(), 0, 1)
				start := time.Now()
				var runs []*compare.Run
				for i := range 8 {
					runs = append(runs, b.play(t, powerConfig(), 0, uint64(i)))
				}
				took := time.Since(start) / 8
				f, err := compare.NewFloor(runs, "")
				if err != nil {
					t.Fatal(err)
				}
				c, _ := compare.Compare(runs[:1], runs[1:2], compare.Options{})
				t.Logf("traces %d lanes %d secs %d: %v ok %d roots %.0f: ttft50 %.3f ttft90 %.3f itl50 %.3f e2e90 %.3f tput %.3f; eff %.1f", traces, lanes, secs, took, runs[0].Doc.Requests.Profiling.OK,
					*runs[0].Doc.Sessions.EffectiveRoots, f.Figures["ttft_p50"].SD, f.Figures["ttft_p90"].SD, f.Figures["itl_p50"].SD, f.Figures["e2e_per_output_token_p90"].SD, f.Figures["output_throughput"].SD, c.Pairing.EffectiveN)
				for _, g := range c.Gated {
					if g.Low == nil {
						t.Logf("   %+v", g)
						continue
					}
					t.Logf("   %s %.3f..%.3f", g.Metric, *g.Low, *g.High)
				}
			}
		}
	}
}
