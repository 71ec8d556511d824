// Package summary turns the records of a run into its figures.
//
// In go records, trees and samples, one at a time and in any order; out come
// Figures: distributions per metric, run-level rates, cache accounting, load
// over time, InferenceX' aggregates, session measures and the client's health.
// It is pure: no files, no clock, the same input gives the same figures. It
// refuses nothing but turns a record that contradicts itself into a failed one
// (record.Record.Check).
//
// Only successful requests of the profiling phase enter latencies and token
// sums; warm-up has a summary of its own, overflows and censored requests are
// counted apart (spec/replay.md §4.11, decisions.md 18). A figure without
// samples is absent.
//
// Rules: spec/replay.md §7 and spec/inferencex.md §3; quantiles interpolate
// linearly everywhere (decisions.md 27).
package summary
