// Package chart draws what a run measured: SVG for the report page and PNG for
// where only pictures can go.
//
// In go result documents and, for what has a course in time, the records and trees
// of a run (Evidence). Out comes a Chart for each picture, or an *Absent that says
// why there is none: an empty frame is never drawn. It computes nothing that a
// verdict rests on; figures are the document's, curves are counted from records.
//
// The background is transparent, and every colour keeps a contrast of at least 3 to
// 1 (text 4 to 1) on white and on GitHub's dark background alike. What colour tells
// is told by shape or dashes too. Times are those of the measured phase.
package chart
