// Package record holds what was asked and what was seen, one value a request,
// a tree, and a sample of the client's health.
//
// In go the observations of a load generator; out come JSON lines that every
// later figure is computed from. It is a leaf: plain types and their encoding,
// so that every room may import it (DESIGN.md §2). It refuses a record whose
// times contradict each other: Record.Check turns such a record into a failed
// one, never into a negative latency.
//
// All times are [Stamp]s: nanoseconds since the run's one origin, 0 where the
// event was not seen. A figure that was not measured is absent (nil, or a zero
// Stamp), never 0.
//
// The fields and their names follow spec/replay.md §7.1, §7.9 and §8.1.
package record
