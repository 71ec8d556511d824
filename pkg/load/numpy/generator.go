package numpy

import (
	"fmt"
	"math"
	"math/bits"
)

// The multiplier of the 128-bit linear congruential step.
const (
	stepHigh = 0x2360ed051fc65da4
	stepLow  = 0x4385df649fccf645
)

// Generator yields what numpy.random.default_rng(seed) yields: PCG64 with the
// XSL-RR output function. Make one with [New]; the zero value yields only
// zeros. It is not safe for concurrent use.
type Generator struct {
	high, low       uint64 // state
	incHigh, incLow uint64 // stream, odd

	// half keeps the upper half of a word whose lower half a 32-bit draw has
	// used; 64-bit draws in between leave it alone, as in NumPy.
	half    uint32
	hasHalf bool
}

// New returns the generator of numpy.random.default_rng(seed).
func New(seed uint64) *Generator {
	w := newSeedPool(seed).uint64s()
	g := &Generator{
		incHigh: w[2]<<1 | w[3]>>63,
		incLow:  w[3]<<1 | 1,
	}
	g.step()
	var carry uint64
	g.low, carry = bits.Add64(g.low, w[1], 0)
	g.high, _ = bits.Add64(g.high, w[0], carry)
	g.step()
	return g
}

// step advances the state: state·multiplier + increment, modulo 2¹²⁸.
func (g *Generator) step() {
	high, low := bits.Mul64(g.low, stepLow)
	high += g.high*stepLow + g.low*stepHigh
	var carry uint64
	g.low, carry = bits.Add64(low, g.incLow, 0)
	g.high, _ = bits.Add64(high, g.incHigh, carry)
}

// Uint64 returns the next 64 bits.
func (g *Generator) Uint64() uint64 {
	g.step()
	return bits.RotateLeft64(g.high^g.low, -int(g.high>>58))
}

// Uint32 returns the next 32 bits; two draws share one 64-bit word, its lower
// half first.
func (g *Generator) Uint32() uint32 {
	if g.hasHalf {
		g.hasHalf = false
		return g.half
	}
	w := g.Uint64()
	g.half, g.hasHalf = uint32(w>>32), true
	return uint32(w)
}

// Float64 returns a number in [0, 1) with 53 random bits.
func (g *Generator) Float64() float64 {
	return float64(g.Uint64()>>11) * 0x1p-53
}

// Uniform returns a number in [lo, hi), as Generator.uniform does. lo and hi
// must be finite and lo ≤ hi.
func (g *Generator) Uniform(lo, hi float64) float64 {
	// The conversion forbids a fused multiply-add, which some processors would
	// use and whose last bit differs.
	return lo + float64((hi-lo)*g.Float64())
}

// IntN returns a number in [0, n), as Generator.integers(n) does. It panics
// unless 1 ≤ n < 2³².
func (g *Generator) IntN(n int) int {
	if n < 1 || uint64(n) > math.MaxUint32 {
		panic(fmt.Sprintf("numpy: IntN(%d) is outside 1 … 2³²−1", n))
	}
	if n == 1 {
		return 0 // NumPy draws nothing when there is nothing to choose
	}
	bound := uint32(n)
	product := uint64(g.Uint32()) * uint64(bound)
	if uint32(product) < bound {
		for reject := -bound % bound; uint32(product) < reject; {
			product = uint64(g.Uint32()) * uint64(bound)
		}
	}
	return int(product >> 32)
}

// Shuffle puts n things in the order that Generator.shuffle gives a list of
// them; swap exchanges two of them. It panics unless n < 2³².
func (g *Generator) Shuffle(n int, swap func(i, j int)) {
	if n > 0 && uint64(n) > math.MaxUint32 {
		panic(fmt.Sprintf("numpy: Shuffle(%d) is above 2³²−1", n))
	}
	for i := n - 1; i >= 1; i-- {
		swap(i, int(g.upTo(uint32(i))))
	}
}

// upTo returns a number in [0, last]. Shuffling draws by masking and
// rejecting, unlike integers, and so needs other words of the same stream.
func (g *Generator) upTo(last uint32) uint32 {
	mask := uint32(1)<<bits.Len32(last) - 1
	for {
		if v := g.Uint32() & mask; v <= last {
			return v
		}
	}
}

// Permutation returns the order of Generator.permutation(n).
func (g *Generator) Permutation(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	g.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
