// Package replay plays session trees against an engine the way AgentX does
// (spec/replay.md §4, decisions.md 16–20): lanes that each hold one live tree,
// warm-up that fills the prefix cache, and a measured phase in which every turn
// is sent when its predecessor's live answer, its recorded delay, its children
// and its gates allow.
//
// In go traces, a [Config] and a [Sender]; out come records of requests, trees
// and client health through a [Sink], and an [Outcome]. One goroutine owns all
// lanes; requests run in goroutines of their own and report back over one
// channel. All deadlines count from one clock's origin; no sleep is summed up.
//
// It refuses a run without traces or lanes, and ends early when a root's primer
// fails (spec/replay.md §4.4), when warm-up's answers do not come or all fail,
// when more requests fail than allowed (§4.10), or when the context is cancelled.
package replay
