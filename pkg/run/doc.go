// Package run is the pipeline: corpus, engine, calibration, replay, result,
// and the fixed-length baseline beside it
// (DESIGN.md §1, §4). In go [Options] as the command line or a configuration
// file gives them; out come the artifacts of a run in a folder and a [Report] of
// what was written and how the run ended.
//
// It refuses bad settings ([UsageError]) before anything is started or written.
// Whatever was measured before a failure is on disk when Run returns.
package run
