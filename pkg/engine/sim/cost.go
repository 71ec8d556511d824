package sim

import (
	"math/rand/v2"
	"time"
)

// pricing says how long steps take. All figures are nanoseconds; slowdown and
// run-level noise are in them already.
type pricing struct {
	base, decode, decodeKV          float64
	prefill, prefillPair, prefillKV float64
	stepNoise                       float64
	random                          *rand.Rand
}

func newPricing(cfg Config) pricing {
	random := rand.New(rand.NewPCG(cfg.Seed, 0x6e6f697365)) // a stream of its own
	prefill := cfg.Faults.PrefillSlowdown * lognormal(cfg.Noise.Run, random.NormFloat64())
	decode := cfg.Faults.DecodeSlowdown * lognormal(cfg.Noise.Run, random.NormFloat64())
	return pricing{
		base:        cfg.Cost.StepBaseMs * 1e6 * decode,
		decode:      cfg.Cost.DecodeUsPerSeq * 1e3 * decode,
		decodeKV:    cfg.Cost.KVReadNsPerToken * decode,
		prefill:     cfg.Cost.PrefillUsPerToken * 1e3 * prefill,
		prefillPair: cfg.Cost.PrefillNsPerPair * prefill,
		prefillKV:   cfg.Cost.KVReadNsPerToken * prefill,
		stepNoise:   cfg.Noise.Step,
		random:      random,
	}
}

// step is the time that a batch takes, at least a microsecond. Its sequences
// have not been computed yet.
func (p *pricing) step(batch []chunk) time.Duration {
	ns := p.base
	for _, c := range batch {
		context := float64(c.seq.computed)
		if c.seq.isDecoding() {
			ns += p.decode + p.decodeKV*context
			continue
		}
		n := float64(c.n)
		// Each token attends to the context, to its forerunners in the chunk and itself.
		ns += p.prefill*n + p.prefillKV*context + p.prefillPair*n*(context+(n+1)/2)
	}
	if p.stepNoise > 0 {
		ns *= lognormal(p.stepNoise, p.random.NormFloat64())
	}
	return max(time.Duration(ns), time.Microsecond)
}
