package store

import (
	"strings"
	"unicode"
)

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
	out := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, string(runes))
	if cut {
		out += "…"
	}
	return out
}
