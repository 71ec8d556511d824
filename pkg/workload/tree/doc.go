// Package tree turns a recorded trace into a session tree: streams of turns,
// the branches that spawn and join them, the delays between turns, and the
// ordering gates between streams (spec/replay.md §2).
//
// In goes a [trace.Trace]; out comes a [Tree] that replay plays as it is. It
// refuses a trace whose declared system prompt is longer than the first prompt's
// blocks. What cannot be played is left out and listed in Tree.Dropped: a
// subagent that no kept turn could have spawned, and an ordering edge that would
// make a turn wait for itself.
package tree
