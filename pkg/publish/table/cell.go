package table

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// lineWidth is how wide the text gets, in columns.
const lineWidth = 100

var escapes = twwidth.Filter()

// maxMarks is how many combining marks a letter keeps: more than any script needs, and
// too few to run over the lines above and below.
const maxMarks = 4

// plain makes one harmless line of any text, at most width columns: no escape
// sequences, no control or invisible format characters (which could turn the
// direction of a line), no line ends, no runs of blanks. What is cut off is
// marked by "…".
func plain(text string, width int) string {
	text, long := bounded(text, 64*width)
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	marks := 0
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			if marks++; marks > maxMarks {
				return -1
			}
			return r
		}
		if !unicode.In(r, unicode.C) || unicode.IsSpace(r) { // what is left out parts nothing
			marks = 0
		}
		switch {
		case unicode.IsSpace(r) || unicode.In(r, unicode.Z):
			return ' '
		case unicode.In(r, unicode.C):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	// Characters that take no column must not pile up either.
	if runes := []rune(text); len(runes) > 4*width {
		text, long = string(runes[:4*width]), true
	}
	if long {
		text += "…"
	}
	return cut(text, width)
}

// bounded cuts text to size bytes, between two characters.
func bounded(text string, size int) (short string, long bool) {
	if len(text) <= size {
		return text, false
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size], true
}

// cut shortens text to width columns.
func cut(text string, width int) string {
	if twwidth.Width(text) <= width {
		return text
	}
	return strings.TrimRight(text[:fits(text, width-1)], " ") + "…"
}

// fits is the length of the start of text that takes at most width columns.
func fits(text string, width int) int {
	end, wide := 0, 0
	for i, r := range text {
		if wide += twwidth.Width(string(r)); wide > width {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	// Some characters are wider together than one by one.
	for end > 0 && twwidth.Width(text[:end]) > width {
		_, size := utf8.DecodeLastRuneInString(text[:end])
		end -= size
	}
	return end
}

// markup takes away the meaning that characters have in GitHub's Markdown:
// emphasis, code, links (written or recognised), HTML, mathematics, table cells,
// and the mentions and references (@name, #1, GH-1) that would send mail or leave
// marks elsewhere: those are found after Markdown is, so that only a character
// between parts them. So are addresses, when a filter after Markdown looks for some.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `~`, `\~`, `[`, `\[`, `]`, `\]`, `#`, "\\#\u2060", `GH-`, "GH\u2060-", `gh-`, "gh\u2060-", `Gh-`, "Gh\u2060-", `gH-`, "gH\u2060-", `$`, `\$`, `|`, `\|`,
	`<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`, `://`, ":\u2060//", `www.`, "www\u2060.", `@`, "@\u2060",
)

// markdown escapes a plain line.
func markdown(text string) string { return markup.Replace(text) }

// wrapped breaks parts into lines of at most width columns, the parts kept
// together where they fit. Lines after the first are indented.
func wrapped(first string, parts []string, between, indent string, width int) []string {
	w := wrapper{line: first, fresh: true, indent: indent, width: width}
	for _, part := range parts {
		if twwidth.Width(indent+part+between) <= width {
			w.add(between, part)
			continue
		}
		gap := between
		for _, word := range strings.Fields(part) {
			w.add(gap, word)
			gap = " "
		}
	}
	return append(w.lines, w.line)
}

type wrapper struct {
	lines  []string
	line   string
	fresh  bool // nothing stands on the line but its start
	indent string
	width  int
}

// add puts text on the line after a gap, or on the next line, and breaks what is
// too long for any. The visible part of a gap stays at the end of a line.
func (w *wrapper) add(gap, text string) {
	if w.fresh {
		gap = ""
	}
	end := strings.TrimRight(gap, " ")
	if !w.fresh && twwidth.Width(w.line+gap+text+end) > w.width {
		w.next(end)
		gap = ""
	}
	w.line += gap
	for {
		n := fits(text, w.width-twwidth.Width(w.line))
		if n == len(text) || n == 0 && w.fresh {
			break
		}
		w.line += text[:n]
		text = text[n:]
		w.next("")
	}
	w.line += text
	w.fresh = false
}

func (w *wrapper) next(end string) {
	w.lines = append(w.lines, w.line+end)
	w.line, w.fresh = w.indent, true
}
