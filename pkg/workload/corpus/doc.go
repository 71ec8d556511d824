// Package corpus holds sets of recorded traces.
//
// In go folders and files of traces, the bundled sample, a public set, which is
// fetched into a cache ([PublicSet.Fetch]), or a seed; out comes a [Corpus]: the
// traces in the order in which they are replayed, a digest that goes into a
// result's identity, what the filters left, and the figures of the set
// ([Corpus.Stats]).
//
// It refuses, naming file and place: what cannot be read, bad traces (all of
// them at once), two traces with one id, and a set with nothing left in it.
// A file that is no trace is passed over with a note.
//
// Sources of its rules: spec/replay.md §1.5, §1.6, §2.1; spec/traces.md §9, §14;
// decisions.md 2 to 8.
package corpus
