// Package table says in tables what a run measured, and what changed between two:
// on the terminal, as Markdown for a job summary, and as HTML for the report page.
//
// In goes a result document (result.Document), a comparison, or the figures of a set of
// traces; out comes text of at most 100 columns. It computes nothing that the
// document doesn't hold, apart from units, differences and figures per GPU. What
// was not measured is shown as "–", never as 0.
//
// Text of others (error messages, names, models) is taken for hostile: escape
// sequences and control characters are dropped, line ends become spaces, long
// text is cut, and in Markdown nothing in it is markup (spec/ecosystem.md §1.3).
// It refuses a missing document and passes on what the writer says.
package table
