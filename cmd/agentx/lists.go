package main

import (
	"slices"
	"strings"
)

// listFlags take several words, as in --url a b: AIPerf's command line reads on
// until the next flag.
var listFlags = []string{
	"--url", "-u", "--header", "-H", "--extra-inputs", "--goodput", "--server-metrics", "--server-metrics-formats",
	"--input-file", "--gpu-telemetry", "--dataset-filter",
}

// spreadLists gives every word of a list its own flag.
func spreadLists(args []string) ([]string, error) {
	if len(args) == 0 || !slices.Contains([]string{"run", "replay", "profile", "fixed"}, args[0]) {
		return args, nil
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
var secretFlags = []string{"--api-key", "--header", "-H"}

// redactArgs is the command line without its secrets.
func redactArgs(args []string) []string {
	out := make([]string, 0, len(args)+1)
	out = append(out, "agentx")
	hide := false
	for _, a := range args {
		name, _, inline := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "-") && slices.Contains(secretFlags, name):
			hide = !inline
			if inline {
				a = name + "=***"
			}
		case strings.HasPrefix(a, "-"):
			hide = false
		case hide:
			a = "***"
		}
		out = append(out, a)
	}
	return out
}
