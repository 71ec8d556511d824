package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/workload/trace"
)

func ids(c *Corpus) []string {
	var list []string
	for _, t := range c.Traces {
		list = append(list, t.ID)
	}
	return list
}

func one(id string) string { return traceJSON(id, request{in: 130, out: 3}) }

func TestOpenKeepsOrder(t *testing.T) {
	files := map[string]string{"notes.txt": "not looked at", "oracle.json": `{"traces":[{"id":7}],"total":{}}`}
	var want []string
	for i := range 40 {
		id := fmt.Sprintf("t%02d", i)
		want = append(want, id)
		files[fmt.Sprintf("f%02d.json", i)] = one(id)
	}
	var lines []string
	for i := range 200 {
		id := fmt.Sprintf("row%03d", i)
		want = append(want, id)
		lines = append(lines, one(id))
	}
	files["rows.JSONL"] = strings.Join(lines, "\n") + "\n\n"
	folder := write(t, files)
	if err := os.Mkdir(filepath.Join(folder, "sub.json"), 0o700); err != nil {
		t.Fatal(err)
	}

	c, err := Open([]string{folder}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, ids(c)); diff != "" {
		t.Error(diff)
	}
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "oracle.json") {
		t.Errorf("notes %q", c.Notes)
	}
	if len(c.Files) != 41 || c.Files[40].Traces != 200 {
		t.Errorf("%d files", len(c.Files))
	}
	if got, want := c.Traces[40].File, filepath.Join(folder, "rows.JSONL")+":1"; got != want {
		t.Errorf("the first row is from %s, want %s", got, want)
	}
	if got := c.Selection; got.Read != 240 || got.Kept != 240 || got.String() != "kept 240 of 240 traces" {
		t.Errorf("selection %+v", got)
	}
}

// The digest is what the documented shell line gives, whatever the names,
// the filters and the files that are passed over.
func TestDigest(t *testing.T) {
	a, b := one("a"), one("b")+"\n"
	list := sha256.New()
	for _, content := range []string{a, b} {
		sum := sha256.Sum256([]byte(content))
		fmt.Fprintln(list, hex.EncodeToString(sum[:]))
	}
	want := hex.EncodeToString(list.Sum(nil))
	for name, files := range map[string]map[string]string{
		"plain":   {"1.json": a, "2.json": b},
		"renamed": {"x.json": a, "y.jsonl": b},
		"passed":  {"1.json": a, "2.json": b, "0.json": `[1]`},
	} {
		c, err := Open([]string{write(t, files)}, Options{Entries: 1})
		if err != nil {
			t.Fatal(err)
		}
		if c.Digest != want {
			t.Errorf("%s: digest %s, want %s", name, c.Digest, want)
		}
	}
	c, err := Open([]string{write(t, map[string]string{"1.json": b, "2.json": a})}, Options{})
	if err != nil || c.Digest == want {
		t.Errorf("another order has the same digest (%v)", err)
	}
}

func TestFilters(t *testing.T) {
	traces := []string{
		traceJSON("small", request{in: 1000, out: 0}, request{t: 9, in: 900, out: 99}),
		traceJSON("long", request{in: 1000, out: 200}),
		traceJSON("edge", request{in: 1000, out: 99}),
		traceJSON("last", request{in: 100, out: 1}),
	}
	for _, tt := range []struct {
		o    Options
		want []string
		text string
		peak int // of those kept
	}{
		{Options{}, []string{"small", "long", "edge", "last"}, "kept 4 of 4 traces", 1200},
		{Options{MaxContextTokens: 1099}, []string{"small", "edge", "last"}, "kept 3 of 4 traces; 1 need more than 1099 tokens of context (the largest 1200)", 1099},
		{Options{MaxContextTokens: 1099, Entries: 2}, []string{"small", "edge"}, "kept 2 of 4 traces; 1 need more than 1099 tokens of context (the largest 1200); 1 stand behind the first 2", 1099},
		{Options{MaxContextTokens: 1099, MaxOutputTokens: 50}, []string{"small", "long", "edge", "last"}, "kept 4 of 4 traces", 1050},
		{Options{MaxContextTokens: 1000}, []string{"last"}, "kept 1 of 4 traces; 3 need more than 1000 tokens of context (the largest 1200)", 101},
	} {
		c := mustOpen(t, tt.o, traces...)
		if !slices.Equal(ids(c), tt.want) || c.Selection.String() != tt.text {
			t.Errorf("%+v keeps %v, want %v: %s", tt.o, ids(c), tt.want, c.Selection)
		}
		if c.Selection.Dropped() != 4-len(tt.want) {
			t.Errorf("%+v: %d dropped", tt.o, c.Selection.Dropped())
		}
		if c.Selection.KeptContextTokens != tt.peak {
			t.Errorf("%+v: the largest kept is %d, want %d", tt.o, c.Selection.KeptContextTokens, tt.peak)
		}
	}
}

// A subagent's answer is not capped in the context sum (spec/replay.md §2.1).
func TestFilterLeavesSubagentOutputs(t *testing.T) {
	with := `{"id":"x","block_size":64,"hash_id_scope":"local","requests":[{"t":0,"type":"n","model":"m","in":10,"out":500},
	 {"t":5,"type":"subagent","agent_id":"a","status":"completed","requests":[{"t":5,"type":"n","model":"m","in":10,"out":300}]}]}`
	o := Options{MaxContextTokens: 200, MaxOutputTokens: 20}
	_, err := Open([]string{write(t, map[string]string{"x.json": with})}, o)
	if err == nil || !strings.Contains(err.Error(), "the smallest needs 310") {
		t.Errorf("error %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	bad := func(n int) string {
		return fmt.Sprintf(`{"id":"bad%d","block_size":64,"hash_id_scope":"local","requests":[{"t":0,"type":"q"}]}`, n)
	}
	var many []string
	for i := range 50 {
		many = append(many, bad(i))
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		o     Options
		want  []string // parts of the message
	}{
		{"no file", map[string]string{"readme.md": ""}, Options{}, []string{"holds no *.json or *.jsonl file"}},
		{"no trace", map[string]string{"a.json": `{"id":3,"models":{}}`}, Options{}, []string{"no trace found", `a.json is passed over: it has no list "requests"`}},
		{"empty file", map[string]string{"a.json": " \n", "b.json": one("b")}, Options{}, []string{"a.json: the file is empty", "fetch it again"}},
		{"empty lines", map[string]string{"a.jsonl": "\n\n"}, Options{}, []string{"a.jsonl: the file is empty"}},
		{"same id in two files", map[string]string{"a.json": one("x"), "b.json": one("x")}, Options{}, []string{"b.json: x: id: the id is taken by the trace in ", "a.json"}},
		{"same id in one file", map[string]string{"a.json": one("x") + one("x")}, Options{}, []string{"two traces of this file have the id"}},
		{"same id in two rows", map[string]string{"a.jsonl": one("x") + "\n" + one("x")}, Options{}, []string{"a.jsonl:2: x: id: the id is taken by the trace in ", "a.jsonl:1"}},
		{"bad rows", map[string]string{"a.jsonl": one("ok") + "\n" + bad(1) + "\n" + one("ok2") + "\n" + bad(2)}, Options{}, []string{"2 faults", `a.jsonl:2: bad1: requests[0].type: unknown type "q"`, `a.jsonl:4: bad2: requests[0].type`}},
		{"bad objects", map[string]string{"a.json": bad(1) + one("ok") + bad(2), "b.json": bad(3)}, Options{}, []string{"3 faults", "bad1", "bad2", "bad3"}},
		{"many bad", map[string]string{"a.json": strings.Join(many, "")}, Options{}, []string{"50 faults", "bad19", "and 30 more"}},
		{"indented rows", map[string]string{"a.jsonl": "{\n\"id\":\n\"x\"}"}, Options{}, []string{"a.jsonl:1: cut off", "name it .json if its objects span lines"}},
		{"garbage", map[string]string{"a.json": "\x00\xff"}, Options{}, []string{"a.json: no valid JSON at byte 0"}},
		{"all dropped", map[string]string{"a.json": one("x")}, Options{MaxContextTokens: 132}, []string{"none of the 1 traces fits into 132 tokens", "the smallest needs 133", "raise the limit"}},
		{"negative entries", map[string]string{"a.json": one("x")}, Options{Entries: -1}, []string{"the number of entries is -1"}},
		{"basis", map[string]string{"a.json": one("x")}, Options{Basis: "both"}, []string{`unknown time basis "both"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Open([]string{write(t, tt.files)}, tt.o)
			if err == nil || c != nil {
				t.Fatalf("corpus %v, error %v", c, err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}

func TestOpenPaths(t *testing.T) {
	folder := write(t, map[string]string{"a.json": one("a"), "b.json": one("b"), "locked.json": one("c"), "x.txt": one("x")})
	at := func(name string) string { return filepath.Join(folder, name) }
	if _, err := Open(nil, Options{}); err == nil {
		t.Error("no path is accepted")
	}
	if _, err := Open([]string{at("gone")}, Options{}); err == nil || !strings.Contains(err.Error(), "gone does not exist; give") {
		t.Errorf("missing path: %v", err)
	}
	c, err := Open([]string{at("b.json"), at("a.json"), at("x.txt")}, Options{})
	if err != nil || !slices.Equal(ids(c), []string{"b", "a", "x"}) {
		t.Errorf("order %v, error %v", ids(c), err)
	}
	var e *trace.Error
	if _, err = Open([]string{at("a.json"), folder}, Options{}); !errors.As(err, &e) || e.Trace != "a" {
		t.Errorf("a path given twice: %v", err)
	}
	if err := os.Remove(at("locked.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", at("locked.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open([]string{folder}, Options{}); err == nil || !strings.Contains(err.Error(), "locked.json") || !strings.Contains(err.Error(), "check its rights") {
		t.Errorf("unreadable file: %v", err)
	}
}

func TestBasis(t *testing.T) {
	later := strings.Replace(one("x"), `}]}`, `},{"t":10,"type":"subagent","agent_id":"a","status":"completed","duration_ms":4000,"requests":[{"t":10,"type":"n","model":"m","in":9,"out":1}]}]}`, 1)
	for basis, want := range map[trace.Basis]float64{"": 10, trace.BasisAbsolute: 10, trace.BasisRelative: 6} {
		c, err := Open([]string{write(t, map[string]string{"x.json": later})}, Options{Basis: basis})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Traces[0].Entries[1].Subagent.StartS; got != want {
			t.Errorf("%q: the subagent starts at %g s, want %g", basis, got, want)
		}
	}
}
