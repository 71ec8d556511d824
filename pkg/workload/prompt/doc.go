// Package prompt turns a turn of a session tree into chat messages
// (spec/replay.md §3, decisions.md 7–14).
//
// In goes a [tree.Stream] and the number of a turn; out comes a [Prompt]: the
// JSON of the message array as a reader of known length that is copied from one
// shared word text, block by block, so that no prompt is ever assembled in
// memory and the same block is the same text wherever it stands. Its size in
// tokens is known by construction: n words are n tokens (package words).
package prompt
