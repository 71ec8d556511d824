package store

import "github.com/org/agentx-action/pkg/result/compare"

// maxSaid bounds what is repeated of somebody else's words, in runes.
const maxSaid = 300

// printable takes out what could steer a terminal or a workflow's log, and what is
// too long: names, keys and messages come from others.
func printable(text string) string {
	runes := []rune(text)
	cut := len(runes) > maxSaid
	if cut {
		runes = runes[:maxSaid]
	}
	out := compare.Printable(string(runes))
	if cut {
		out += "…"
	}
	return out
}
