// Package compare judges what changed between two sides, each one run or several
// repeats of the same (decisions.md 23–27).
//
// In go results with their records; out comes a [Comparison]: findings with an
// interval, the smallest change that could have been seen, a verdict, and the
// layer that moved. It refuses to compare what is not the same but for the axis
// under test, naming the first key of the identity that differs, and says "not
// enough data" below ten effective root traces.
package compare
