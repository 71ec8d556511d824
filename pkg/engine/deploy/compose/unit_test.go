package compose

import (
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestParsePort(t *testing.T) {
	if p, err := ParsePort("router:8000"); err != nil || p != (Port{"router", 8000}) || p.String() != "router:8000" {
		t.Errorf("%v, %v", p, err)
	}
	for _, bad := range []string{"", "router", "router:", ":8000", "router:0", "router:70000", "router:x", "a:1:2"} {
		if p, err := ParsePort(bad); err == nil {
			t.Errorf("%q is taken as %v", bad, p)
		}
	}
}

func TestMask(t *testing.T) {
	m := newMask([]deploy.Var{{Name: "PIN", Value: "12", Secret: true}, {Name: "A", Value: "long-secret", Secret: true}, {Name: "B", Value: "long-secret-too", Secret: true}, {Name: "C", Value: "plain"}})
	if got := m.string("a long-secret-too, a long-secret, plain, 12"); got != "a ***, a ***, plain, 12" {
		t.Error(got)
	}
	for name, want := range map[string]bool{
		"PIN": true, "C": false, "HF_TOKEN": true, "AWS_SECRET_ACCESS_KEY": true, "api_key": true, "TOKENIZER": false,
		"MAX_TOKENS": false, "PYTHONHASHSEED": false,
	} {
		if m.hidden(name) != want {
			t.Errorf("hidden(%s) is %v", name, !want)
		}
	}
}

// TestLines wants whole lines in the order of each source, secrets masked.
func TestLines(t *testing.T) {
	var out strings.Builder
	all := &lines{to: &out, hide: newMask([]deploy.Var{{Value: "secret", Secret: true}})}
	a, b := all.from("a-1"), all.from("b-1")
	for _, w := range []struct {
		to   int
		text string
	}{{0, "one\r\ntw"}, {1, "b\n"}, {0, "o sec"}, {0, "ret\n\nlast"}} {
		if _, err := []interface{ Write([]byte) (int, error) }{a, b}[w.to].Write([]byte(w.text)); err != nil {
			t.Fatal(err)
		}
	}
	_ = a.Close()
	_ = b.Close()
	if want := "a-1 | one\nb-1 | b\na-1 | two ***\na-1 | \na-1 | last\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	_, _ = a.Write([]byte(strings.Repeat("x", longest+10)))
	if got := out.Len(); got != len("a-1 | ")+longest+1 {
		t.Errorf("an endless line: %d bytes written", got)
	}
}
