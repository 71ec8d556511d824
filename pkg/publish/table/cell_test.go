package table

import (
	"strings"
	"testing"
	"unicode"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"as it is", "as it is"},
		{"", ""},
		{" a\r\n\tb\u2028c\u00a0 d ", "a b c d"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"},
		{"\x1b]0;never ended", "]0;never ended"},
		{"a\x00b\x7fc\u009b31md", "abc31md"},
		{"\u202eevil\u200b\u2066", "evil"},
		{"bad\xffbytes", "bad\uFFFDbytes"},
		{strings.Repeat("x", 20), strings.Repeat("x", 20)},
		{strings.Repeat("x", 21), strings.Repeat("x", 19) + "…"},
		{strings.Repeat("漢", 10), strings.Repeat("漢", 10)},
		{strings.Repeat("漢", 11), strings.Repeat("漢", 9) + "…"},
		{"1234567890 12345678 0123", "1234567890 12345678…"},
		{strings.Repeat(" ", 1<<20) + "x", "…"},
		{"a" + strings.Repeat("\u0301", 200) + "b\u0301\u0302\u0303\u0304\u0305", "a\u0301\u0301\u0301\u0301b\u0301\u0302\u0303\u0304"},
		{"a" + strings.Repeat("\u0301\u200b\u20dd", 50) + " \u0301", "a\u0301\u20dd\u0301\u20dd \u0301"},
		{strings.Repeat("漢", 1<<20), strings.Repeat("漢", 9) + "…"},
	} {
		if got := plain(c.in, 20); got != c.want {
			t.Errorf("plain(%.40q) = %q, want %q", c.in, got, c.want)
		}
	}
	if n := len(plain("a"+strings.Repeat("\u0301", 1<<16), 20)); n > 1000 {
		t.Errorf("%d bytes of marks", n)
	}
}

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"a|b":                  `a\|b`,
		`a\|b`:                 `a\\\|b`,
		"*b* _i_ `c` ~s~":      "\\*b\\* \\_i\\_ \\`c\\` \\~s\\~",
		"![i](u) #1 $x$":       "!\\[i\\](u) \\#\u20601 \\$x\\$",
		"<b>&amp;</b>":         "&lt;b&gt;&amp;amp;&lt;/b&gt;",
		"GH-7 gh-7":            "GH\u2060-7 gh\u2060-7",
		"http://x www.x @team": "http:\u2060//x www\u2060.x @\u2060team",
	} {
		if got := markdown(in); got != want {
			t.Errorf("markdown(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"one", "two"}, "L: one · two"},
		{[]string{"one and two", "three"}, "L: one and two ·\n  three"},
		{[]string{"one", "a part that is too long for it"}, "L: one · a part that\n  is too long for it"},
		{[]string{strings.Repeat("x", 45)}, "L: " + strings.Repeat("x", 17) + "\n  " + strings.Repeat("x", 18) + "\n  " + strings.Repeat("x", 10)},
		{nil, "L: "},
	} {
		if got := strings.Join(wrapped("L: ", c.parts, " · ", "  ", 20), "\n"); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.parts, got, c.want)
		}
	}
}

func FuzzCell(f *testing.F) {
	for _, seed := range []string{"", "a|b\\", "\x1b[1m\x9b", "漢字 🇩🇪 ❤️ 👩‍👩‍👧", "\u202e\xff\r\n", "e\u0301\u0301"} {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 2 + max(width, -width)%80
		if width < 2 {
			return
		}
		line := plain(text, width)
		if w := twwidth.Width(line); w > width {
			t.Errorf("%q is %d columns, want %d", line, w, width)
		}
		for _, r := range line {
			if unicode.In(r, unicode.C) || r == '\n' {
				t.Errorf("%U in %q", r, line)
			}
		}
		if again := plain(line, width); again != line {
			t.Errorf("%q changes to %q", line, again)
		}
		if cells := split("| " + markdown(line) + " |"); len(cells) != 3 {
			t.Errorf("%q makes %d cells", line, len(cells))
		}
		joined := ""
		for _, l := range wrapped("", []string{line}, " ", "", width/2+1) {
			if w := twwidth.Width(l); w > max(width/2+1, 2) {
				t.Errorf("%q is %d columns, want %d", l, w, width/2+1)
			}
			joined += strings.ReplaceAll(l, " ", "")
		}
		if want := strings.ReplaceAll(line, " ", ""); joined != want {
			t.Errorf("wrapped keeps %q of %q", joined, want)
		}
	})
}
