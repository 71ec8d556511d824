package numpy

// Seeding constants of the seed_seq alternative, as NumPy's SeedSequence uses
// them.
const (
	poolInit   = 0x43b0d7e5
	poolFactor = 0x931e8875
	outInit    = 0x8b51f9dd
	outFactor  = 0x58f38ded
	mixLeft    = 0xca01f9dd
	mixRight   = 0x4973f715

	halfWord = 16
)

// seedPool is the entropy pool of a SeedSequence without spawn key.
type seedPool [4]uint32

// newSeedPool spreads a seed over the whole pool. NumPy drops leading zero
// words of a seed, but an absent word and a zero word enter a pool that has
// room for both in the same way, so two words serve every 64-bit seed.
func newSeedPool(seed uint64) seedPool {
	factor := uint32(poolInit)
	hash := func(v uint32) uint32 {
		v ^= factor
		factor *= poolFactor
		v *= factor
		return v ^ v>>halfWord
	}

	words := seedPool{uint32(seed), uint32(seed >> 32)}
	var p seedPool
	for i, w := range words {
		p[i] = hash(w)
	}
	for src := range p {
		for dst := range p {
			if src == dst {
				continue
			}
			v := mixLeft*p[dst] - mixRight*hash(p[src])
			p[dst] = v ^ v>>halfWord
		}
	}
	return p
}

// uint64s draws the four words that seed a PCG64, low half first in each.
func (p seedPool) uint64s() [4]uint64 {
	factor := uint32(outInit)
	hash := func(v uint32) uint64 {
		v ^= factor
		factor *= outFactor
		v *= factor
		return uint64(v ^ v>>halfWord)
	}

	var out [4]uint64
	for i := range out {
		low := hash(p[2*i%len(p)])
		high := hash(p[(2*i+1)%len(p)])
		out[i] = high<<32 | low
	}
	return out
}
