package numpy

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Derive returns the seed of a named stream of random numbers under the run's
// root seed: the first 8 bytes, big-endian, of the SHA-256 of "root:name"
// (spec/replay.md §3.2). AIPerf's shuffled sampling uses the name
// "dataset.sampler.shuffle".
func Derive(root uint64, name string) uint64 {
	sum := sha256.Sum256([]byte(strconv.FormatUint(root, 10) + ":" + name))
	return binary.BigEndian.Uint64(sum[:8])
}

// TStar returns the trace time, in seconds, at which a lane enters its first
// tree (spec/replay.md §4.3). spanMinS and spanMaxS are the earliest and the
// latest start of any turn of the trace; the ratios cut the part of that span
// from which t* is drawn evenly. All four must be finite, and each pair in
// order; equal ends give that end.
func TStar(root uint64, traceID string, lane int, spanMinS, spanMaxS, ratioMin, ratioMax float64) float64 {
	seed := Derive(root, traceID+":"+strconv.Itoa(lane))
	// The conversions forbid fused multiply-adds; see [Generator.Uniform].
	lo := spanMinS + float64(ratioMin*(spanMaxS-spanMinS))
	hi := spanMinS + float64(ratioMax*(spanMaxS-spanMinS))
	return New(seed).Uniform(lo, hi)
}
