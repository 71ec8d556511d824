// Package validity judges a run: is it a valid submission, and can its figures
// be trusted?
//
// In go the figures of a run and the few facts that a judgement needs
// (Evidence); out come findings, each with its code, severity, figure, limit
// and the remedy in words. The two stamps, submission_valid and trusted, are
// derived from the findings and can't be set.
//
// Severity invalid means exactly AIPerf's reasons (spec/replay.md §6.3);
// untrusted are the holes that AIPerf leaves open (DESIGN.md §3, decisions.md
// 20); a note changes no stamp. AIPerf's scenario_reresolve_failed can't occur:
// the rule set is stored in the result, nothing is rebuilt after the run.
package validity
