// Package scenario holds the rule sets under which a replay may call itself a
// benchmark: which settings are locked, which are only filled in, which are
// forbidden, and which corpora count.
//
// In go the settings a user gave, with the knowledge which were given; out
// come the settings the run uses, every default that was filled in, and every
// broken rule at once, each with what was asked, what the rule is, what to do
// and where the rule stands. It refuses a run that breaks a rule unless the
// user overrides it, and always one without recorded traces. It judges no
// result: that is result/validity's work (spec/decisions.md 30).
//
// The rules follow spec/replay.md §6.1, §6.6 and spec/decisions.md 1, 2, 19.
package scenario
