package replay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// decisions.md 19: the same seed plays the same requests, whatever the speed of
// the engine and the run's id.
func TestSameSeedSamePlan(t *testing.T) {
	long, short := 0, 0
	for seed := range uint64(12) {
		traces := someTraces(t, 900+seed, 1+int(seed%4))
		cfg := Config{
			Concurrency: 1 + int(seed%5), Seed: seed, Duration: 30 * time.Minute, StartMaxRatio: float64(seed % 2),
			WarmupPerLane: 4 * int(seed%3), SystemIdleCap: 10 * time.Second,
			Sampling: []Sampling{SamplingSequential, SamplingShuffle, SamplingRandom}[seed%3],
		}
		if seed%4 == 3 {
			cfg.LanePlan = LanePlanSeeded
		}
		cfg.RunID = "fast"
		fast := replayed(t, traces, cfg, luck(seed, 2*time.Second, 5, 0))
		cfg.RunID = "slow"
		slow := replayed(t, traces, cfg, luck(seed+1, 90*time.Second, 20, 0))
		a, b := digests(t, fast), digests(t, slow)
		for key, mine := range a {
			n := min(len(mine), len(b[key]))
			if !slices.Equal(mine[:n], b[key][:n]) {
				t.Fatalf("seed %d: %s: %v and %v", seed, key, mine, b[key])
			}
			if n > 0 && n < len(mine) {
				short++
			}
			long += n
		}
		if cfg.LanePlan == LanePlanSeeded {
			checkLanes(t, fast, slow, cfg.Concurrency)
		}
		if fast.bodies[0] == slow.bodies[0] {
			t.Error("the markers of two runs are alike")
		}
	}
	if long < 1000 || short < 5 {
		t.Errorf("too little was compared: %d requests, %d lists cut", long, short)
	}
}

func digests(t *testing.T, p *played) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, r := range p.requests {
		if r.Seen.Outcome == record.Censored {
			continue
		}
		if r.Asked.Digest == "" {
			t.Fatal("no digest")
		}
		key := fmt.Sprintf("%s pass %d", r.Asked.StreamID, r.Asked.Pass)
		out[key] = append(out[key], r.Asked.Digest)
	}
	return out
}

// checkLanes wants every lane to have drawn the same traces as far as both got.
func checkLanes(t *testing.T, a, b *played, lanes int) {
	t.Helper()
	for lane := range lanes {
		x, y := drawn(a, lane), drawn(b, lane)
		if n := min(len(x), len(y)); n == 0 || !slices.Equal(x[:n], y[:n]) {
			t.Errorf("lane %d: %v and %v", lane, x, y)
		}
	}
}

func drawn(p *played, lane int) (out []string) {
	for _, tr := range p.trees {
		if tr.Lane == lane {
			out = append(out, tr.TraceID)
		}
	}
	return out
}
