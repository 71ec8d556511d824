package untrusted

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// obeyed is what a runner would do: the commands that it takes from a log, and the text
// that is left.
func obeyed(log string) (commands []string, text string) {
	stopped := ""
	for _, line := range regexp.MustCompile(`\r\n|\r|\n`).Split(log, -1) {
		trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
		name, ok := strings.CutPrefix(trimmed, "::")
		end := strings.Index(name, "::")
		v2 := ok && end >= 0
		switch {
		case v2 && stopped == "" && name[:end] == "stop-commands":
			stopped = name[end+2:]
		case v2 && stopped != "" && name[:end] == stopped:
			stopped = ""
		case stopped == "" && (v2 || strings.Contains(line, "##[")):
			commands = append(commands, line)
		default:
			text += line + "\n"
		}
	}
	return commands, text
}

var hostile = []string{
	"", "plain\n", "::set-env name=A::b\n", "  \t::error::x\n", "\u2003::error::x\n", "a\r::error::x\n", "a\r\n::error::x\r\n", "##[error]x\n", "text ##[set-env name=A;]b",
	"::stop-commands::x\n", "::x::\n", "\ufeff::error::x\n", "\x1b::error::x", "::", "std::vector<int>::at\n", "::stop-commands::\n::::\n",
}

func TestText(t *testing.T) {
	for _, in := range hostile {
		commands, text := obeyed(Text(in))
		_, want := in, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in)
		if len(commands) > 0 {
			t.Errorf("%q commands %q", in, commands)
		}
		if strings.TrimRight(text, "\n") != strings.TrimRight(want, "\n") {
			t.Errorf("%q reads as %q", in, text)
		}
	}
	if in := "std::vector<int>::at\n"; Text(in) != in {
		t.Error("C++ is taken for a command")
	}
	a, b := Text("::x::"), Text("::x::")
	if a == b {
		t.Error("the token is the same twice")
	}
}

func TestWriter(t *testing.T) {
	all := strings.Join(hostile, "\n")
	for _, size := range []int{1, 2, 3, 7, len(all)} {
		var out bytes.Buffer
		w := Writer(&out)
		for rest := all; rest != ""; {
			n := min(size, len(rest))
			if got, err := io.WriteString(w, rest[:n]); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if commands, _ := obeyed(out.String()); len(commands) > 0 {
			t.Errorf("in pieces of %d: %q", size, commands)
		}
	}
	// A line without end takes bounded memory and starts no command in its middle.
	var out bytes.Buffer
	w := Writer(&out)
	long := strings.Repeat("x", maxLine) + "\n"
	for _, piece := range []string{long[:maxLine-1], "xx", "::error::x", strings.Repeat(" ", maxLine), " ::error::y", "\n"} {
		if _, err := io.WriteString(w, piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if commands, _ := obeyed(out.String()); len(commands) > 0 {
		t.Errorf("%q", commands)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Writer(broken{}).Write([]byte("x\n")); err == nil {
		t.Error("the writer's error is lost")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func FuzzWriter(f *testing.F) {
	for _, in := range hostile {
		f.Add(in, 3)
	}
	f.Fuzz(func(t *testing.T, in string, size int) {
		if commands, _ := obeyed(Text(in)); len(commands) > 0 {
			t.Errorf("%q: %q", in, commands)
		}
		var out bytes.Buffer
		w := Writer(&out)
		size = max(size%100, 1)
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			_, _ = io.WriteString(w, rest[:n])
			rest = rest[n:]
		}
		_ = w.Close()
		if commands, _ := obeyed(out.String()); len(commands) > 0 {
			t.Errorf("in pieces of %d: %q", size, commands)
		}
	})
}
