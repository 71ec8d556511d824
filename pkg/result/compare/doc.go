// Package compare judges what changed between two sides, each one run or several
// repeats of the same (decisions.md 23–27).
//
// In go results with their records ([Load], [NewRun]); out comes a [Comparison]
// ([Compare]): findings with an interval, the smallest change that could have been
// seen, a verdict, and the layer that moved. Repeats of one thing give a noise
// floor ([NewFloor]) that later comparisons take.
//
// Which stored runs are a base is decided by one rule ([Accept], [Window]).
//
// It refuses to compare what is not the same but for the axis under test, naming
// the keys of the identity that differ, and says "not enough data" below ten
// effective root traces. It is pure but for reading files: the same runs, options
// and seed give the same document, whatever the order of the records.
//
// How it judges, and how well, is in docs/statistics.md.
package compare
