// Package openai sends one request to an engine that speaks the OpenAI API and
// says what came of it.
//
// In goes a [Call]: the messages as a stream of bytes of known length, the
// model, a limit on the output and the ids of the request. Out comes a
// [record.Seen]: every time of the request, the engine's own token counts, the
// phases of the HTTP exchange and, if it failed, a class and the engine's
// words. Nothing is retried, unless the caller asks for what provably was not
// sent (decisions.md 17).
//
// The answer is scanned while it arrives and never decoded on the way: each
// read from the connection is stamped once, and all events that it completes
// get that time (spec/replay.md §9.4). An event counts as output when the first
// choice has non-empty content, reasoning, completion text or tool-call text;
// role frames and empty strings don't. Usage and error objects are kept as they
// came and decoded when the stream has ended.
//
// It refuses, as failed records, answers that are not what was asked for.
// [record.Error.Type] is one of:
//
//	connect_refused   nothing listens at the address
//	connect_timeout   no connection within the dial timeout
//	connect           any other failure to connect
//	dns               the name has no address
//	tls               handshake or certificate
//	stale_connection  the engine closed an idle connection as it was taken into use
//	reset             the engine closed or reset the connection before the answer was complete
//	timeout           no complete answer within Config.Timeout (or the caller's deadline)
//	cancelled         the caller cancelled (code 499)
//	run_ended         the caller cancelled with ErrRunEnded: outcome censored (code 499)
//	http_NNN          a status that is not 2xx (code NNN)
//	context_overflow  the prompt exceeds the engine's context: outcome overflow
//	stream_error      an error event inside the stream (code 502, or its own 400–599)
//	truncated         the stream ended without [DONE] and without finish_reason
//	no_content        a complete answer without any output
//	bad_stream        an event that is no JSON object, or output after [DONE]
//	bad_response      neither an event stream nor JSON: a web page, an encoding not asked for
//	too_long          an event of more than MaxEventBytes or more than MaxChunks chunks
//	protocol          not HTTP/1.1, or broken framing
//	body              the request body could not be read or is not as long as it said
//	call              a Call that can't be sent
//	clock             times that contradict each other (record.ErrorTypeClock)
//	transport         anything else
//
// The rules are those of spec/replay.md §3.8, §4.6, §7.1, §7.5, §7.9 and §9,
// decisions.md 17 and 18, and spec/pitfalls.md "Streams" and "Connections".
package openai
