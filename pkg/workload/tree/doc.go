// Package tree turns a recorded trace into a session tree: streams of turns,
// the branches that spawn and join them, the delays between turns, and the
// ordering gates between streams (spec/replay.md §2).
//
// In goes a [trace.Trace]; out comes a [Tree] that replay plays as it is: every
// turn can be reached. It refuses a trace without a main request, one whose
// declared system prompt is longer than the first prompt's blocks, blocks larger
// than [MaxBlockSize], and requests that fall into so many chains side by side
// that they are no session. What cannot be played is left out and listed in
// Tree.Dropped: a subagent that no kept turn could have spawned, and ordering
// gates that would make a turn wait for itself.
package tree
