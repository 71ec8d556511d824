// Package numpy reproduces, bit for bit, the few random figures that AIPerf
// takes from NumPy, so that the same seed enters the same trace at the same
// moment in both programs.
//
// In go a 64-bit seed, a trace id and a lane; out come start positions t* and
// shuffled orders equal to those of numpy.random.default_rng. It refuses
// nothing and is no general-purpose generator: seeds above 64 bits, legacy
// RandomState and Python's Mersenne Twister are left out, since no figure of
// ours depends on them (spec/replay.md §12.1). Go's own math/rand/v2 PCG is a
// different member of the family (DXSM output) and can't stand in.
//
// Sources: spec/replay.md §3.2 (derived seeds), §4.2 (shuffle) and §4.3 (t*);
// M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically
// Good Algorithms for Random Number Generation" (2014) for the generator and
// her "Developing a seed_seq Alternative" (2015) for the seeding; D. Lemire,
// "Fast Random Integer Generation in an Interval" (2019) for bounded integers.
// The golden values come from NumPy 1.24.2 itself.
package numpy
