package main

import (
	"io"
	"os"
	"strings"
)

// commandsTo is where commands to GitHub's runner go: to its log, or, where there is no
// runner that would read them, in words to whoever is at the terminal.
func commandsTo(stdout, stderr io.Writer) io.Writer {
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		return stdout
	}
	return &inWords{w: stderr}
}

// inWords takes whole lines, and makes words of commands: what an annotation says. The
// others command a runner, and say nothing.
type inWords struct{ w io.Writer }

func (i *inWords) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		b.WriteString(wordsOf(line))
	}
	if _, err := io.WriteString(i.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// asWritten undoes what is done to texts in a command.
var asWritten = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")

func wordsOf(line string) string {
	rest, ok := strings.CutPrefix(line, "::")
	if !ok {
		return line
	}
	head, data, _ := strings.Cut(rest, "::")
	kind, properties, _ := strings.Cut(head, " ")
	switch kind {
	case "error", "warning", "notice":
	default:
		return ""
	}
	for property := range strings.SplitSeq(properties, ",") {
		if title, ok := strings.CutPrefix(property, "title="); ok {
			data = title + ": " + data
		}
	}
	return kind + ": " + asWritten.Replace(data)
}
