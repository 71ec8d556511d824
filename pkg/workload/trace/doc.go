// Package trace reads and writes recorded agent sessions in the Weka format,
// both families of it (spec/traces.md §2, §10; spec/replay.md §1).
//
// In goes JSON, one object a trace, one or many a stream. Out comes a [Trace]:
// requests in list order with absolute times, subagent markers brought to one
// clock (decisions.md 4, 5), and block ids held as runs that keep a prefix of an
// earlier run and add new ids, so that memory follows the distinct blocks.
// [Trace.Hits] says what an endless prefix cache could serve of each request.
//
// It refuses, naming file, entry and field: wrong types, missing required
// fields, block lists whose length disagrees with the prompt's, nested
// subagents, ids that are no small non-negative integers, and any single value
// beyond [MaxValueBytes]. What is odd but usable becomes a [Note].
package trace
