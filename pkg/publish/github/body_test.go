package github

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/org/agentx-action/pkg/result/validity"
)

func bodyOf(t *testing.T, c Content) *body {
	t.Helper()
	b, err := newBody(&Options{Workflow: "bench", Cell: "h200", Run: 77, Attempt: 2}, &c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBodyGolden(t *testing.T) {
	for name, c := range contents(t) {
		t.Run(name, func(t *testing.T) {
			b := bodyOf(t, c)
			golden(t, name+".md", b.String())
			if again := bodyOf(t, c); again.String() != b.String() {
				t.Error("the same content gives another text")
			}
		})
	}
}

// cmark renders as GitHub does; without it there is nothing to test, but in CI.
func cmark(t *testing.T, markdown string) string {
	t.Helper()
	path, err := exec.LookPath("cmark-gfm")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("cmark-gfm is missing; .ci/run installs it")
		}
		t.Skip("cmark-gfm is not installed (apt-get install cmark-gfm)")
	}
	cmd := exec.Command(path, "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tasklist")
	cmd.Stdin = strings.NewReader(markdown)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// walk visits the rendered nodes.
func walk(n *html.Node, visit func(*html.Node)) {
	visit(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

func text(n *html.Node) string {
	var b strings.Builder
	walk(n, func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	})
	return strings.TrimSpace(b.String())
}

// tables are the rendered tables, as rows of cells.
func tables(t *testing.T, rendered string) [][][]string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(rendered))
	if err != nil {
		t.Fatal(err)
	}
	var list [][][]string
	walk(doc, func(n *html.Node) {
		if n.DataAtom == atom.Table {
			list = append(list, nil)
		}
		if n.DataAtom == atom.Tr {
			var row []string
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
					row = append(row, text(c))
				}
			}
			list[len(list)-1] = append(list[len(list)-1], row)
		}
	})
	return list
}

// The cells that GitHub's parser sees are the figures of the comparison.
func TestCells(t *testing.T) {
	list := tables(t, cmark(t, bodyOf(t, regressed(t)).String()))
	want := [][]string{
		{"Moved most", "base", "head", "change [interval]", "seen from", "verdict"},
		{"TTFT p90*", "1.62 s", "1.82 s", "+12.1 % [8.1, 16.1]", "8.00 %", "regression"},
		{"TTFT p50*", "812 ms", "895 ms", "+10.2 % [8.1, 12.3]", "4.28 %", "regression"},
		{"Output throughput per GPU*", "37.8 tok/s", "35.6 tok/s", "-5.9 % [-7.9, -3.9]", "4.00 %", "regression"},
	}
	if len(list) == 0 {
		t.Fatal("no table")
	}
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Error(diff)
	}
	if list[1][0][0] != "Against fixed 8192/1024" || !slices.Equal(list[1][2], []string{"Output throughput per GPU", "37.8 tok/s", "141 tok/s", "0.268×", "higher"}) {
		t.Errorf("the fixed-length baseline is not next: %v", list[1])
	}
}

// However hostile the texts, GitHub's parser sees the structure of a friendly comment:
// the same elements, tables of even rows, no link but ours, no mention, no reference.
func TestHostile(t *testing.T) {
	body := bodyOf(t, hostile(t)).String()
	rendered := cmark(t, body)
	doc, err := html.Parse(strings.NewReader(rendered))
	if err != nil {
		t.Fatal(err)
	}
	allowed := []atom.Atom{0, atom.Html, atom.Head, atom.Body, atom.H3, atom.P, atom.Strong, atom.Em, atom.Table, atom.Thead, atom.Tbody, atom.Tr, atom.Th, atom.Td,
		atom.Details, atom.Summary, atom.Ul, atom.Li, atom.Sub, atom.Pre, atom.Code}
	comments := 0
	walk(doc, func(n *html.Node) {
		switch n.Type {
		case html.ElementNode:
			if !slices.Contains(allowed, n.DataAtom) {
				t.Errorf("<%s> with %q", n.Data, text(n))
			}
			for _, a := range n.Attr {
				if a.Key != "align" && (a.Key != "class" || a.Val != "language-sh") && a.Key != "lang" {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		case html.CommentNode:
			comments++
		case html.TextNode:
			inCode := n.Parent != nil && n.Parent.DataAtom == atom.Code
			for _, bad := range []string{"@team", "@evil", "#1", "GH-2", "#3", "://evil", "www.evil"} {
				if !inCode && strings.Contains(n.Data, bad) {
					t.Errorf("%q in %q", bad, n.Data)
				}
			}
			for _, r := range n.Data {
				if unicode.In(r, unicode.C) && r != '\n' && r != '\u2060' {
					t.Errorf("%U in %q", r, n.Data)
				}
			}
		}
	})
	if comments != 1 {
		t.Errorf("%d comments, want only the marker", comments)
	}
	for _, table := range tables(t, rendered) {
		for _, row := range table {
			if len(row) != len(table[0]) {
				t.Errorf("%d cells under a head of %d: %q", len(row), len(table[0]), row)
			}
		}
	}
	if open, closed := strings.Count(rendered, "<details>"), strings.Count(rendered, "</details>"); open != closed || open < 5 {
		t.Errorf("%d <details>, %d </details>", open, closed)
	}
	for _, line := range strings.Split(body, "\n")[1:] {
		if strings.HasPrefix(line, "<!--") || strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("line %q", line)
		}
	}
	if _, _, ok := readMarker(body); !ok {
		t.Error("the marker is gone")
	}
}

// Sections go in a fixed order, the marker and the verdict never.
func TestShedding(t *testing.T) {
	c := regressed(t)
	b := bodyOf(t, c)
	var order []string
	for size := length(b.String()); ; size = length(b.String()) {
		b.fit(size - 1)
		if len(b.shed) == len(order) {
			break
		}
		order = slices.Clone(b.shed)
	}
	want := []string{"all figures of the head", "how to reproduce", "validity and identity", "findings", "where the change sits", "head against base",
		"agentic load against the fixed-length baseline"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	rest := b.String()
	m, _, ok := readMarker(rest)
	if !ok || m.standing != Regressed {
		t.Errorf("marker %v %+v", ok, m)
	}
	for _, keep := range []string{"REGRESSION", "Moved most", "commit 0123456789abcdef", "_Left out, because GitHub takes no longer comment: all figures of the head, how to", "/actions/runs/77/attempts/1)"} {
		if !strings.Contains(rest, keep) {
			t.Errorf("%q is gone from\n%s", keep, rest)
		}
	}
	if n := length(rest); n > 8000 {
		t.Errorf("%d characters are left when everything was shed", n)
	}
	big := bodyOf(t, c)
	for i := range big.sections {
		big.sections[i].text += strings.Repeat("漢😀", 10_000*big.sections[i].worth)
	}
	big.fit(MaxBody)
	if n := length(big.String()); n > MaxBody || len(big.shed) == 0 {
		t.Errorf("%d characters, %d sections shed", n, len(big.shed))
	}
}

func TestMarker(t *testing.T) {
	for _, m := range []marker{
		{},
		{workflow: "bench", cell: "h200-tp8", standing: Regressed},
		{workflow: "a --> b", cell: "x=y workflow=z", standing: Worse, superseded: 7, run: run{77, 2}},
		{workflow: "Nacht 🌙\n", cell: "--", standing: "?"},
	} {
		text := m.String()
		if strings.ContainsAny(text, "\r\n") || strings.Count(text, "-->") != 1 || strings.Contains(strings.Trim(text, "<!->"), "--") {
			t.Errorf("%q", text)
		}
		got, rest, ok := readMarker(text + "\nrest")
		if !ok || got != m || rest != "rest" {
			t.Errorf("%q: %v %+v %q, want %+v", text, ok, got, rest, m)
		}
	}
	for _, text := range []string{"", "x", "> <!-- agentx:v1 workflow=a -->", " <!-- agentx:v1 workflow=a -->", "<!-- agentx:v1 workflow=a", "<!-- agentx:v1 workflow=%zz -->",
		"<!-- agentx:v2 workflow=a -->", "<!-- agentx:v1 " + strings.Repeat("x", 1<<20) + " -->"} {
		if _, _, ok := readMarker(text); ok {
			t.Errorf("%.60q is taken for a marker", text)
		}
	}
	a, b := marker{workflow: "w", cell: "a"}, marker{workflow: "w", cell: "ab"}
	if a.same(&b) || !a.same(&marker{workflow: "w", cell: "a", standing: Failed}) {
		t.Error("markers of other cells are the same, or of the same cell are not")
	}
}

func FuzzMarker(f *testing.F) {
	f.Add("bench", "h200", "<!-- agentx:v1 workflow=a cell=b standing=c -->\nx")
	f.Fuzz(func(t *testing.T, workflow, cell, body string) {
		readMarker(body)
		m := marker{workflow: workflow, cell: cell}
		got, _, ok := readMarker(m.String() + "\n" + body)
		if !ok || !got.same(&m) && len(workflow) <= maxName && len(cell) <= maxName {
			t.Errorf("%q: %v %+v", m.String(), ok, got)
		}
	})
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"https://github.com/o/r/actions/runs/7": "https://github.com/o/r/actions/runs/7",
		"javascript:alert(1)":                   "", "data:text/html,x": "", "//evil": "", "": "", "s3://b/k": "", "https://user:pw@x/": "",
		"https://x/a)b [c](d)|e\"f": "https://x/a%29b%20%5Bc%5D%28d%29%7Ce%22f",
		"https://x/?a=b%2Fc&d=e":    "https://x/?a=b%2Fc&d=e",
		"https://x/\n## h":          "", "https://x/" + strings.Repeat("a", 2000): "",
	} {
		if got := address(in); got != want {
			t.Errorf("address(%.40q) = %q, want %q", in, got, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	for _, arg := range []string{"a", "", "a b", "it's", `"$HOME"`, "`id`", "a;b", "\\", "!x", "*"} {
		out, err := exec.Command(sh, "-c", "printf %s "+quoted(arg)).Output()
		if err != nil || !bytes.Equal(out, []byte(arg)) {
			t.Errorf("%q comes out as %q, %v", arg, out, err)
		}
	}
}

func TestStanding(t *testing.T) {
	want := map[string]Standing{
		"regression": Regressed, "nochange": NoChange, "invalid": Invalid, "alone": NotCompared, "manyfailed": ManyFailed, "allfailed": Failed, "noresult": Failed,
		"refused": NotCompared, "notenough": NotEnough, "hostile": Regressed,
	}
	for name, c := range contents(t) {
		if got := StandingOf(&c); got != want[name] {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
	}
	few, good := contents(t)["manyfailed"], unchanged(t)
	good.Head.Validity.Findings = few.Head.Validity.Findings
	if got := StandingOf(&good); got != ManyFailed {
		t.Errorf("many failed and nothing moved: %s", got)
	}
	few.Head.Validity.Findings[0].Severity = validity.Note
	if got := StandingOf(&few); got != NotCompared {
		t.Errorf("a few failed: %s", got)
	}
	order := []Standing{NoChange, Worse, Invalid, Regressed, Failed}
	for i := range order[1:] {
		if order[i].gravity() >= order[i+1].gravity() {
			t.Errorf("%s is no better than %s", order[i], order[i+1])
		}
	}
	got := fmt.Sprintln(NoChange.Conclusion(false), Improved.Conclusion(false), NotCompared.Conclusion(false), Worse.Conclusion(false), Invalid.Conclusion(false), Regressed.Conclusion(false), Failed.Conclusion(false))
	if got != "success success neutral neutral failure failure failure\n" {
		t.Error(got)
	}
}
