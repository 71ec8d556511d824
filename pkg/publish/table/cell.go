package table

import (
	"strings"
	"unicode"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// lineWidth is how wide the text gets, in columns.
const lineWidth = 100

var escapes = twwidth.Filter()

// plain makes one harmless line of any text, at most width columns: no escape
// sequences, no control or invisible format characters (which could turn the
// direction of a line), no line ends, no runs of blanks. What is cut off is
// marked by "…".
func plain(text string, width int) string {
	text, long := bounded(text, 64*width)
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.In(r, unicode.Z):
			return ' '
		case unicode.In(r, unicode.C):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	// Marks that take no column must not pile up.
	if runes := []rune(text); len(runes) > 4*width {
		text, long = string(runes[:4*width]), true
	}
	if long && twwidth.Width(text) < width {
		return text + "…"
	}
	return cut(text, width)
}

func bounded(text string, size int) (string, bool) {
	if len(text) <= size {
		return text, false
	}
	return text[:size], true
}

// cut shortens text to width columns.
func cut(text string, width int) string {
	if twwidth.Width(text) <= width {
		return text
	}
	end, wide := 0, 0
	for i, r := range text {
		wide += twwidth.Width(string(r))
		if wide > width-1 {
			break
		}
		end = i + len(string(r))
	}
	return strings.TrimRight(text[:end], " ") + "…"
}

// markup takes away the meaning that characters have in GitHub's Markdown:
// emphasis, code, links (written or recognised), HTML, mathematics, table cells,
// and the mentions that would send mail.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `~`, `\~`, `[`, `\[`, `]`, `\]`, `#`, `\#`, `$`, `\$`, `|`, `\|`,
	`<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`, `://`, `&#58;//`, `www.`, `www&#46;`, `@`, "@\u2060",
)

// markdown escapes a plain line.
func markdown(text string) string { return markup.Replace(text) }

// wrapped breaks parts into lines of at most width columns, the parts kept
// together where they fit. Lines after the first are indented.
func wrapped(first string, parts []string, between, indent string, width int) []string {
	line, empty := first, true
	var lines []string
	add := func(text, gap string) {
		if empty {
			gap = ""
		}
		if !empty && twwidth.Width(line+gap+text+strings.TrimRight(between, " ")) > width {
			lines = append(lines, strings.TrimRight(line+gap, " "))
			line, gap = indent, ""
		}
		line += gap + text
		empty = false
	}
	for _, part := range parts {
		if twwidth.Width(indent+part) <= width {
			add(part, between)
			continue
		}
		for i, word := range strings.Fields(part) {
			if i == 0 {
				add(word, between)
			} else {
				add(word, " ")
			}
		}
	}
	return append(lines, line)
}
