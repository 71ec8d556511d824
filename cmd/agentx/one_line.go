package main

import "strings"

// oneLine is an error's text where there is room for a single line: errors that were
// joined, each of which has a line of its own, are parted by semicolons.
func oneLine(err error) string {
	text := err.Error()
	switch e := err.(type) { //nolint:errorlint // it looks at every layer by itself
	case interface{ Unwrap() []error }:
		var lines, parts []string
		for _, one := range e.Unwrap() {
			lines, parts = append(lines, one.Error()), append(parts, oneLine(one))
		}
		if text == strings.Join(lines, "\n") {
			return strings.Join(parts, "; ")
		}
		for i, line := range lines {
			text = strings.Replace(text, line, parts[i], 1)
		}
	case interface{ Unwrap() error }:
		if one := e.Unwrap(); one != nil {
			text = strings.Replace(text, one.Error(), oneLine(one), 1)
		}
	}
	return text
}
