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

// TestLines wants whole lines in the order of each source, secrets masked.
func TestLines(t *testing.T) {
	var out strings.Builder
	all := &lines{to: &out, hide: deploy.SecretsOf(nil, []deploy.Var{{Value: "secret", Secret: true}})}
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
