package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Where the rules stand.
const (
	section12 = "spec/replay.md §12 point 6"
	section42 = "spec/replay.md §4.2, spec/decisions.md 19"
	section49 = "spec/replay.md §4.9, spec/decisions.md 2"
	section61 = "spec/replay.md §6.1"
	section66 = "spec/replay.md §6.6"
	preset    = "spec/replay.md §6.1, spec/decisions.md 1"
)

// The names of the rule sets.
const (
	InferenceX = "inferencex-agentx-mvp"
	AgentX     = "agentx"
)

// corpora are the public corpora that count, the newest first.
var corpora = []string{
	"semianalysis_cc_traces_weka_062126",
	"semianalysis_cc_traces_weka_062126_256k",
	"semianalysis_cc_traces_weka_061526",
	"semianalysis_cc_traces_weka_061526_256k",
	"semianalysis_cc_traces_weka_061326",
	"semianalysis_cc_traces_weka_061326_256k",
	"semianalysis_cc_traces_weka_with_subagents_060826",
	"semianalysis_cc_traces_weka_with_subagents_060826_256k",
	"semianalysis_cc_traces_weka_with_subagents_060526",
	"semianalysis_cc_traces_weka_with_subagents_060526_256k",
	"semianalysis_cc_traces_weka_with_subagents_060226",
	"semianalysis_cc_traces_weka_with_subagents_060226_256k",
	"semianalysis_cc_traces_weka_with_subagents",
	"semianalysis_cc_traces_weka_with_subagents_256k",
}

var hubs = []string{"semianalysisai/cc-traces-weka-062126"}

// locks are common to both rule sets.
var locks = []Rule{
	{"request-rate", Forbid, nil, "the recorded sessions set the pace", section61},
	{"arrival-pattern", Forbid, nil, "the recorded sessions set the pace", section61},
	{"user-centric-rate", Forbid, nil, "the recorded sessions set the pace", section61},
	{"fixed-schedule", Forbid, nil, "turns follow the engine's answers, not the recorded clock", section61},
	{"streaming", Lock, true, "TTFT and ITL need a stream", section61},
	{"extra-inputs ignore_eos", Lock, true, "every answer must have its recorded length", section61},
	{"ignore-trace-delays", Forbid, nil, "think time belongs to the load", section61},
	{"synthesis-max-isl", Forbid, nil, "leaving out long prompts changes the load", section61},
	{"inter-turn-delay-cap-seconds", Forbid, nil, "think time belongs to the load", section61},
	{"system-idle-gap-cap-seconds", Lock, 10.0, "it decides how much think time is skipped", "spec/replay.md §4.7, spec/decisions.md 2"},
	{"cache-bust", Lock, "first_turn_prefix", "trees must not share a cached prefix that real sessions would not", section61},
	{"history", Lock, "recorded", "prompts must be the recorded ones, whatever the engine answers", section12},
	{"lane-plan", Lock, "shared", "lanes draw their next trace from one common order", section42},
	{"benchmark-duration", AtLeast, 900.0, "a shorter run does not reach its steady state", section61},
}

// sets holds every rule set by its name. The empty name is a run without a
// scenario: the same load, with every setting free.
var sets = map[string]Rules{
	"": {
		Version:    1,
		SeedRandom: true,
		Rules: []Rule{
			{"streaming", Default, true, "", section61},
			{"extra-inputs ignore_eos", Default, true, "", section61},
			{"system-idle-gap-cap-seconds", Default, 10.0, "", section61},
			{"cache-bust", Default, "first_turn_prefix", "", section61},
			{"history", Default, "recorded", "", section12},
			{"lane-plan", Default, "shared", "", section42},
			{"benchmark-duration", Default, 1800.0, "", section61},
			{"benchmark-grace-period", Default, 30.0, "", section49},
			{"trajectory-start-min-ratio", Default, 0.0, "", section61},
			{"trajectory-start-max-ratio", Default, 1.0, "", section61},
		},
	},
	InferenceX: {
		Name: InferenceX, Version: 1,
		Traces: true, Corpora: corpora, Hubs: hubs,
		SeedRandom: true,
		Rules: slices.Concat(locks, []Rule{
			{"benchmark-duration", Default, 1800.0, "", section61},
			{"benchmark-grace-period", Default, 30.0, "", section49},
			{"trajectory-start-min-ratio", Default, 0.0, "", section61},
			{"trajectory-start-max-ratio", Default, 1.0, "", section61},
		}),
	},
	AgentX: {
		Name: AgentX, Version: 1,
		Traces: true, Corpora: corpora, Hubs: hubs,
		Rules: slices.Concat(locks, []Rule{
			{"benchmark-duration", Default, 3600.0, "", preset},
			{"benchmark-grace-period", Default, 30.0, "", section49},
			{"trajectory-start-min-ratio", Default, 0.25, "", preset},
			{"trajectory-start-max-ratio", Default, 0.75, "", preset},
			{"random-seed", Default, uint64(42), "", preset},
			{"warmup-requests-per-lane", Default, 10, "", preset},
			{"warmup-grace-period", Default, 1800.0, "", section66},
			{"trace-idle-gap-cap-seconds", Default, 300.0, "", preset},
			{"failed-request-threshold", Default, 0.10, "", preset},
			{"use-server-token-count", Default, true, "", section61},
			{"slice-duration", Default, 1.0, "", section61},
			{"AIPERF_HTTP_TCP_USER_TIMEOUT", Default, 900_000, "", section61},
		}),
	},
}

// Names lists the rule sets.
func Names() []string { return []string{InferenceX, AgentX} }

// Lookup returns a rule set. The empty name stands for no scenario, whose set
// only has defaults; an unknown name is an error that lists the known ones.
func Lookup(name string) (Rules, error) {
	r, ok := sets[name]
	if !ok {
		return Rules{}, fmt.Errorf("--scenario %q is unknown; give one of %s, or none", name, strings.Join(Names(), ", "))
	}
	return r, nil
}
