// Package fixed is the fixed-sequence-length benchmark as InferenceX runs it
// (spec/inferencex.md §2, decisions.md 22): random prompts of one shape, all
// issued at once under a cap of requests in flight.
//
// In go a [Config] and a [replay.Sender]; out come the same records, samples and
// phases as a replay gives, through the same [replay.Sink], and an [Outcome].
// Prompts are word text of exactly the tokens drawn, and no two of them begin
// with the same word, or with the same two where there are more prompts than
// words, so that no prefix cache can help. Where the template or
// the tokenizer adds tokens of its own ([Config.OverheadTokens], measured by
// probes), the text gives up as many: the engine counts what was drawn. What the
// chat template puts before the text is the same in every prompt and cannot be
// avoided; InferenceX has it too.
//
// It differs from InferenceX in one thing on purpose: warm-ups have prompts of
// their own (decisions.md 22).
//
// It refuses shapes without input or output, and ends with an error when every
// warm-up fails or more than 5 % of the measured requests do.
package fixed
