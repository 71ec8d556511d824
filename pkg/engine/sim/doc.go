// Package sim is the embedded engine: a model of an LLM server with continuous
// batching and a tiered prefix cache, and an OpenAI-compatible HTTP server
// around it.
//
// In come chat and text completions; out come streams whose timing follows the
// model, usage with cached tokens, and Prometheus metrics under vLLM's or
// SGLang's names. Nothing is computed: a token is a word
// (pkg/workload/prompt/words), the text generated is words too.
//
// [Model] is the engine without HTTP and without a clock: its caller says what
// time it is. [Server] drives one in real time, or in the virtual time of a
// testing/synctest bubble. [Faults] are dials that make the server misbehave in
// the ways spec/pitfalls.md lists, each at a rate and repeatable by seed.
//
// It refuses: an impossible [Config] (naming every bad setting), a body that is
// no JSON or beyond the limit, an unknown model, a wrong key, and a prompt that
// does not fit the context, all in the words a real server uses.
//
// Sources: spec/replay.md §3.8 and §9.2–9.4 (what clients send and read),
// spec/inferencex.md §4.2–4.3 (metric names), spec/decisions.md 3, 9, 10, 15, 21.
package sim
