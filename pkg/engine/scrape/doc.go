// Package scrape reads what an engine says about itself on its Prometheus page.
//
// In go a URL and, for a run, the moments at which phases begin and end; out
// come typed snapshots of an engine's counters and gauges, the increase of the
// counters between two of them, and the time-weighted mean and maximum of the
// gauges over a phase.
//
// What an engine does not say is absent, with the reason in [Snapshot.Missing];
// it is never 0. A page that is too big, late, not a Prometheus page, or broken
// in a family we read is refused with its URL and what to do. A number that
// can't be one (NaN, infinity, a negative counter) makes its quantity missing,
// not the page.
//
// A logical engine is one KV pool: its series are those that agree in all
// labels but the rank inside a tensor, pipeline or expert parallel group. Such
// ranks repeat one figure and count once, as do pages of several API servers in
// front of the same engines; an aggregate beside the ranks it adds up is
// dropped. [Together] makes one of several servers' recorders, and [Distinct]
// finds those that read the same engines. What stands in front of engines, a
// router or Dynamo's front end, is a [Kind] of its own and adds to no engine.
//
// Beside the quantities that it knows, a recorder may keep account of every
// family on the page, for an [Export] in AIPerf's layout.
//
// Source of the rules: spec/inferencex.md §4 (families, identity), spec/replay.md
// §8.3 (interval, exposition, export), spec/pitfalls.md "Metrics". The families
// of each program are a table in a file of its name.
package scrape
