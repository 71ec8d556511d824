package prompt

import (
	"regexp"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

const runOf2And7 = "d205efb6c98d"

// markerText is a marker as the engine sees it at the start of the only message.
func markerText(t *testing.T, marker Marker) string {
	t.Helper()
	tr := record(t, "T", 0, 0, req{tail: 3})
	plan := NewPlan(tr, stream(tr))
	m := maker(ShapeRoles, ISLContent)
	plain, _ := read(t, m.Prompt(tr, plan, 0, Marker{}))
	marked, _ := read(t, m.Prompt(tr, plan, 0, marker))
	text, ok := strings.CutSuffix(marked[0].Content, plain[0].Content)
	if !ok {
		t.Fatalf("the marker changed the text behind it: %q and %q", marked, plain)
	}
	return text
}

func TestMarkerOfWords(t *testing.T) {
	marker := NewMarker(MarkerWords, "run", 2, 7, "T")
	text := markerText(t, marker)
	if words.Count(text) != 12 || marker.Tokens != 12 {
		t.Errorf("%d words, Tokens says %d; want 12", words.Count(text), marker.Tokens)
	}
	known := map[string]bool{}
	for _, w := range words.List() {
		known[w] = true
	}
	for _, w := range strings.Fields(text) {
		if !known[w] {
			t.Errorf("%q is not of the list", w)
		}
	}
	if zero := markerText(t, NewMarker("", "run", 2, 7, "T")); zero != text {
		t.Error("the zero style is not that of words")
	}
}

// spec/replay.md §5; the hexadecimals are sha256("run:2:7:T") from another tool.
func TestMarkerAsAIPerfWritesIt(t *testing.T) {
	text := markerText(t, NewMarker(MarkerAIPerf, "run", 2, 7, "T::sa:agent:fa:001"))
	if text != "[rid:"+runOf2And7+"]\n\n" {
		t.Errorf("marker %q; want %s", text, runOf2And7)
	}
	if !regexp.MustCompile(`^\[rid:[0-9a-f]{12}\]\n\n$`).MatchString(text) {
		t.Errorf("marker %q has not AIPerf's form", text)
	}
}

func TestNoMarker(t *testing.T) {
	marker := NewMarker(MarkerNone, "run", 0, 0, "T")
	if text := markerText(t, marker); text != "" || marker.Tokens != 0 {
		t.Errorf("marker %q of %d tokens; want none", text, marker.Tokens)
	}
}

func TestMarkersAreDistinct(t *testing.T) {
	for _, style := range []MarkerStyle{MarkerWords, MarkerAIPerf} {
		seen := map[string]bool{}
		n := 0
		for _, run := range []string{"a", "b"} {
			for pass := range 12 {
				for lane := range 12 {
					for _, id := range []string{"T", "U"} {
						seen[string(NewMarker(style, run, pass, lane, id).text)] = true
						n++
					}
				}
			}
		}
		if len(seen) != n {
			t.Errorf("%s: %d markers for %d trees", style, len(seen), n)
		}
	}
}

// The marker leads the first message of the user's, the same in every turn; and
// the first message of all when the user has none.
func TestMarkerPlace(t *testing.T) {
	text := markerText(t, mark)
	m := maker(ShapeRoles, ISLContent)
	tr := record(t, "T", 2*blockSize, 0, req{ids: span(1, 5), out: 16}, req{ids: span(1, 9), out: 16}, req{ids: append(span(1, 4), 20, 21)},
		req{ids: append(span(1, 1), 30, 31)})
	plan := NewPlan(tr, stream(tr))
	for k, want := range []struct{ message, block int }{{1, 2}, {1, 2}, {1, 2}, {0, 0}} {
		p := m.Prompt(tr, plan, k, mark)
		chats, _ := read(t, p)
		for i, c := range chats {
			if got := strings.HasPrefix(c.Content, text); got != (i == want.message) || strings.Contains(c.Content[1:], text) {
				t.Errorf("turn %d: message %d (%s) marked: %v", k, i, c.Role, got)
			}
		}
		if p.MarkedAt() != want.block {
			t.Errorf("turn %d: marked at block %d; want %d", k, p.MarkedAt(), want.block)
		}
	}

	tr = record(t, "T", 5*blockSize, 0, req{ids: span(1, 5)}, req{ids: span(1, 7)})
	plan = NewPlan(tr, stream(tr))
	chats, _ := read(t, m.Prompt(tr, plan, 0, mark))
	if len(chats) != 1 || chats[0].Role != "system" || !strings.HasPrefix(chats[0].Content, text) {
		t.Errorf("with the system alone: %+v; want its message marked", chats)
	}
	p := m.Prompt(tr, plan, 1, mark)
	if chats, _ := read(t, p); !strings.HasPrefix(chats[1].Content, text) || strings.HasPrefix(chats[0].Content, text) || !p.Reset {
		t.Errorf("then with a user: reset %v, %+v; want the mark to move, as a reset", p.Reset, chats)
	}
	if m.Prompt(tr, plan, 1, Marker{}).Reset {
		t.Error("without a marker nothing moves, but it is a reset")
	}
}

// decisions.md 13: what stands before the first user message is shared by the
// trees of a trace, in wire mode too.
func TestSystemIsSharedByTrees(t *testing.T) {
	for _, isl := range []ISLMode{ISLContent, ISLWire} {
		m := maker(ShapeRoles, isl)
		tr := record(t, "T", 4*blockSize, 0, req{ids: span(1, 9)})
		plan := NewPlan(tr, stream(tr))
		a, _ := read(t, m.Prompt(tr, plan, 0, NewMarker(MarkerWords, "run", 0, 0, "T")))
		b, _ := read(t, m.Prompt(tr, plan, 0, NewMarker(MarkerWords, "run", 1, 5, "T")))
		if a[0] != b[0] || a[0].Role != "system" {
			t.Errorf("%s: the system messages differ", isl)
		}
		if a[1] == b[1] {
			t.Errorf("%s: the user messages are the same", isl)
		}
	}
}
