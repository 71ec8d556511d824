package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// listFlags take several words, as in --url a b: AIPerf's command line reads on
// until the next flag.
var listFlags = []string{
	"--url", "-u", "--header", "-H", "--extra-inputs", "--goodput", "--server-metrics", "--server-metrics-formats",
	"--input-file", "--gpu-telemetry", "--dataset-filter",
}

// foreign are flags of AIPerf that a script may hold and that have no place in a
// replay of recorded sessions, with the reason or the flag to take.
var foreign = map[string]string{
	"--request-count": "a replay is bounded by time: give --benchmark-duration", "--num-requests": "a replay is bounded by time: give --benchmark-duration",
	"--warmup-request-count": "give --warmup-requests-per-lane", "--num-warmup-requests": "give --warmup-requests-per-lane",
	"--warmup-duration": "give --agentic-cache-warmup-duration", "--num-warmup-sessions": "give --warmup-requests-per-lane",
	"--warmup-concurrency": "warm-up has as many lanes as the measured phase",
	"--osl":                "the trace says how long an answer is", "--output-tokens-mean": "the trace says how long an answer is",
	"--prompt-input-tokens-mean": "the trace says how long a prompt is", "--synthetic-input-tokens-mean": "the trace says how long a prompt is",
	"--num-profile-runs": "start a run for each repeat", "--num-sessions": "give --num-dataset-entries", "--conversation-num": "give --num-dataset-entries",
	"--prefill-concurrency": "lanes are not limited by phase", "--concurrency-ramp-duration": "lanes start as recorded",
	"--request-cancellation-rate": "not built", "--profile-export-file": "the names of the artifacts are fixed", "--profile-export-prefix": "the names of the artifacts are fixed",
	"--no-streaming": "give --streaming=false", "--no-use-server-token-count": "give --use-server-token-count=false",
	"--transport": "HTTP only", "--model-selection-strategy": "recorded models are mapped in turn", "--hf-weka-dataset": "put the corpus on disk and give --input-file",
}

// refuseForeign says what to do instead of a flag that only AIPerf has.
func refuseForeign(args []string) error {
	var errs errorList
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		if why, ok := foreign[name]; ok {
			errs.add(fmt.Errorf("%s is a flag of AIPerf that has no place here: %s", name, why))
		}
	}
	return errs.join()
}

// spreadLists gives every word of a list its own flag.
func spreadLists(args []string) ([]string, error) {
	if len(args) == 0 || !slices.Contains([]string{"run", "replay", "profile", "fixed"}, args[0]) {
		return args, nil
	}
	if err := refuseForeign(args); err != nil {
		return nil, err
	}
	var out []string
	list, words := "", 0
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "-") && len(a) > 1:
			list, words = "", 0
			if slices.Contains(listFlags, a) {
				list = a
			}
		case list != "" && words > 0:
			out = append(out, list)
			words++
		case list != "":
			words++
		}
		out = append(out, a)
	}
	return out, nil
}

// secretFlags hold what must never be written down.
var secretFlags = []string{"--api-key", "--header", "-H", "--github-token", flagEngineEnv}

// flagEngineEnv takes NAME=VALUE, of which the name may be written down.
const flagEngineEnv = "--engine-env"

// harmless values say nothing: switches, and numbers too short to be a secret.
var harmless = regexp.MustCompile(`^(?i:true|false|on|off|yes|no|[0-9]{1,3})$`)

// hidden is the value of a secret flag as it is shown.
func hidden(flag, value string) string {
	name, v, ok := strings.Cut(value, "=")
	switch {
	case flag != flagEngineEnv || !ok:
		return "***"
	case harmless.MatchString(v) && !deploy.SecretName(name):
		return value
	}
	return name + "=***"
}

// redactArgs is the command line without its secrets.
func redactArgs(args []string) []string {
	out := make([]string, 0, len(args)+1)
	out = append(out, "agentx")
	hide, before := "", ""
	for _, a := range args {
		name, value, inline := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "-") && slices.Contains(secretFlags, name):
			hide = name
			if inline {
				a, hide = name+"="+hidden(name, value), ""
			}
		case name == "--args" || name == "--engine-command":
			hide = ""
			if flag, word, ok := strings.Cut(a, "="); ok {
				a = flag + "=" + deploy.MaskFlags([]string{before, word})[1] // --api-key may be a word by itself
				before = word
			}
		case strings.HasPrefix(a, "-"):
			hide = ""
		case hide != "":
			a = hidden(hide, a)
		}
		out = append(out, a)
	}
	return out
}
