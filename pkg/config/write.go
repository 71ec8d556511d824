package config

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Entry is a value to be written.
type Entry struct {
	Key    Key
	Text   []string // as Value.Text; NAME=VALUE for a map
	Source string   // a comment: where the value comes from
	// Raw says that ${…} in Text stands for a variable, and is no text.
	Raw bool
	// Hidden marks the items that must not be shown; nil shows all.
	Hidden []bool
}

// Write writes a file that Read takes. A value that must not be shown is left out,
// in a comment.
func Write(w io.Writer, entries []Entry) error {
	var b strings.Builder
	for _, e := range entries {
		e.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e Entry) write(b *strings.Builder) {
	if e.Key.Secret {
		fmt.Fprintf(b, "# %s: not shown  # %s\n", e.Key.Name, e.Source)
		return
	}
	switch e.Key.Kind {
	case List:
		if len(e.Text) == 0 {
			fmt.Fprintf(b, "%s: []  # %s\n", e.Key.Name, e.Source)
			return
		}
		switch shown := e.shown(); {
		case shown == 0:
			fmt.Fprintf(b, "# %s: not shown  # %s\n", e.Key.Name, e.Source)
			return
		case shown == 1 && len(e.Text) == 1:
			fmt.Fprintf(b, "%s: %s  # %s\n", e.Key.Name, e.scalar(e.Key.Items, e.Text[0]), e.Source)
			return
		}
		fmt.Fprintf(b, "%s:  # %s\n", e.Key.Name, e.Source)
		for i, item := range e.Text {
			if e.hidden(i) {
				fmt.Fprint(b, "  # an item is not shown\n")
				continue
			}
			fmt.Fprintf(b, "  - %s\n", e.scalar(e.Key.Items, item))
		}
	case Map:
		e.writeMap(b)
	default:
		for _, text := range e.Text {
			fmt.Fprintf(b, "%s: %s  # %s\n", e.Key.Name, e.scalar(e.Key.Kind, text), e.Source)
		}
	}
}

func (e Entry) writeMap(b *strings.Builder) {
	if e.shown() == 0 {
		fmt.Fprintf(b, "%s: {}  # %s\n", e.Key.Name, e.Source)
	} else {
		fmt.Fprintf(b, "%s:  # %s\n", e.Key.Name, e.Source)
	}
	for i, item := range e.Text {
		name, value, _ := strings.Cut(item, "=")
		if e.hidden(i) {
			fmt.Fprintf(b, "  # %s: not shown\n", quote(name))
			continue
		}
		fmt.Fprintf(b, "  %s: %s\n", quote(name), e.scalar(String, value))
	}
}

func (e Entry) hidden(i int) bool { return i < len(e.Hidden) && e.Hidden[i] }

func (e Entry) shown() (n int) {
	for i := range e.Text {
		if !e.hidden(i) {
			n++
		}
	}
	return n
}

func (e Entry) scalar(kind Kind, text string) string {
	switch kind {
	case Whole, Number, Bool:
		return text
	}
	if e.Key.Substitute && !e.Raw {
		text = strings.ReplaceAll(text, "$", "$$")
	}
	return quote(text)
}

// simple words are the same text in YAML, quoted or not.
var simple = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./@+=-]*(:[A-Za-z0-9_./@+=-]+)*$`)

func quote(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan":
	default:
		if simple.MatchString(text) {
			return text
		}
	}
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD")) // a JSON string is a YAML one
	if err != nil {
		return `""`
	}
	var b strings.Builder
	for _, c := range string(quoted) {
		if printable(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// printable tells what YAML takes unescaped (YAML 1.2 §5.1).
func printable(c rune) bool {
	return c >= 0x20 && c < 0x7F || c >= 0xA0 && c <= 0xD7FF && c != 0x2028 && c != 0x2029 || c >= 0xE000 && c <= 0xFFFD && c != 0xFEFF || c >= 0x10000
}
