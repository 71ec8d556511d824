package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var keys = []Key{
	{Name: "model-names", Aliases: []string{"model"}, Kind: List, Items: String},
	{Name: "url", Kind: List, Items: String, Substitute: true},
	{Name: "concurrency", Kind: List, Items: Whole},
	{Name: "benchmark-duration", Kind: Number},
	{Name: "benchmark-grace-period", Kind: Number, Infinite: true},
	{Name: "cache-reset", Kind: Bool},
	{Name: "max-num-seqs", Kind: Whole},
	{Name: "driver", Kind: String, Enum: []string{"url", "docker"}},
	{Name: "scenario", Kind: String},
	{Name: "engine-env", Kind: Map, Substitute: true},
	{Name: "api-key", Kind: String, Substitute: true, Secret: true},
	{Name: "compose-file", Kind: List, Items: String, Path: true},
	{Name: "mount", Kind: List, Items: String, Path: true},
}

func env(name string) (string, bool) {
	v, ok := map[string]string{"HF": "canary", "EMPTY": "", "TRICK": "a: [b]\n# ${HF}"}[name]
	return v, ok
}

func TestRead(t *testing.T) {
	text := `# A comment.
model: org/m
url: http://${HF}:8000/$$x
concurrency: [1, 4, 16]
benchmark-duration: 1.5e3
benchmark-grace-period: .inf
cache-reset: false
max-num-seqs: 0
driver: docker
scenario: "123"
engine-env:
  A: 1
  B: "${EMPTY}${TRICK}"
  C: True
api-key: ${HF}
compose-file: [compose.yaml, /abs.yaml]
mount:
  - ./here:/there
  - name:/there
`
	f, err := Read("dir/agentx.yaml", []byte(text), keys, env)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, k := range keys {
		if v, ok := f.Lookup(k.Name); ok {
			got[k.Name] = strings.Join(v.Text, "|")
		}
	}
	want := map[string]string{
		"model-names": "org/m", "url": "http://canary:8000/$x", "concurrency": "1|4|16", "benchmark-duration": "1.5e3", "benchmark-grace-period": "inf",
		"cache-reset": "false", "max-num-seqs": "0", "driver": "docker", "scenario": "123", "engine-env": "A=1|B=a: [b]\n# ${HF}|C=True", "api-key": "canary",
		"compose-file": "dir/compose.yaml|/abs.yaml", "mount": "./dir/here:/there|name:/there",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v, _ := f.Lookup("api-key"); v.Line != 15 || v.Raw[0] != "${HF}" {
		t.Errorf("line %d, raw %q", v.Line, v.Raw)
	}
}

func TestReadNothing(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "---\n", "{}", "null", "\n\n"} {
		f, err := Read("agentx.yaml", []byte(text), keys, nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if _, ok := f.Lookup("url"); ok {
			t.Errorf("%q has a url", text)
		}
	}
	var none *File
	if _, ok := none.Lookup("url"); ok {
		t.Error("no file has a url")
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"concurency: 8", "agentx.yaml:1:1: unknown key \"concurency\"; did you mean concurrency?"},
		{"\nxyzzy-plugh: 8", "agentx.yaml:2:1: unknown key \"xyzzy-plugh\""},
		{"modell: m", "did you mean model?"},
		{"[a]: b", "unknown key"},
		{"<<: {a: b}", "unknown key"},
		{"cache-reset: true\nurl: a\ncache-reset: true", "agentx.yaml:3:1: cache-reset is on line 1 already"},
		{"model: a\nmodel-names: b", "agentx.yaml:2:1: model-names is on line 1 already"},
		{"max-num-seqs: many", `agentx.yaml:1:15: max-num-seqs: "many" is no whole number`},
		{"max-num-seqs: 1.5", "no whole number"},
		{"max-num-seqs: 0x10", "no whole number"},
		{"max-num-seqs: 1_000", "no whole number"},
		{"max-num-seqs: 010", "no whole number"},
		{"max-num-seqs: 99999999999999999999", "no whole number"},
		{"max-num-seqs: [1]", "want a whole number, not a list"},
		{"max-num-seqs:", "no whole number"},
		{"concurrency: [1, two]", `agentx.yaml:1:18: an item of concurrency: "two" is no whole number`},
		{"benchmark-duration: long", "no number"},
		{"benchmark-duration: .nan", "no number"},
		{"benchmark-duration: .inf", "no number"},
		{"benchmark-duration: 1e999", "no number"},
		{"benchmark-duration: '5'", "no number"},
		{"cache-reset: yes", `"yes" is neither true nor false`},
		{"cache-reset: 1", "neither true nor false"},
		{"driver: rocket", `"rocket" is not one of url, docker`},
		{"scenario: true", "quote \"true\""},
		{"scenario:", "scenario: has no value"},
		{"scenario: {a: b}", "not a map"},
		{"engine-env: [A=1]", "want names and values"},
		{"engine-env: {A: 1, A: 2}", "A is there already"},
		{"engine-env: {A: [1]}", "engine-env.A: want a string, not a list"},
		{"engine-env: {A=B: 1}", "is no name"},
		{"engine-env: {A: }", "engine-env.A: has no value"},
		{"url: ${NOPE}", "agentx.yaml:1:6: url: the environment has no variable NOPE"},
		{"url: a$b", "write $$"},
		{"url: '${A'", "write $$"},
		{"url: ${}", "write $$"},
		{"scenario: ${HF}", "takes no variables, and ${HF} is one"},
		{"url: &a x", "1:6: anchors and aliases"},
		{"url: &a x\nscenario: *a", "anchors and aliases"},
		{"url: !!str x", "the tag !!str"},
		{"url: !evil x", "the tag !evil"},
		{"url: a\n---\nurl: b", "a second document"},
		{"- url", "want keys and values"},
		{"just words", "want keys and values"},
		{"url: [", "agentx.yaml"},
		{"url: \x00", "agentx.yaml"},
		{strings.Repeat("a", MaxBytes+1), "larger than"},
		{"url: " + strings.Repeat("[", 100_000), "agentx.yaml"},
		{bomb(), "anchors and aliases"},
	} {
		f, err := Read("agentx.yaml", []byte(c.text), keys, env)
		if err == nil {
			t.Errorf("%.60q was taken", c.text)
			continue
		}
		if f != nil {
			t.Errorf("%.60q: an error and a file", c.text)
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v; want %q", c.text, err, c.want)
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%.60q: shows a variable: %v", c.text, err)
		}
	}
}

// bomb is a billion laughs.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x, x]\n")
	for c := 'b'; c < 'z'; c++ {
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "*" + string(c-1) + "]\n")
	}
	return b.String()
}

// All that is wrong is said at once, within bounds.
func TestAllErrorsAtOnce(t *testing.T) {
	_, err := Read("f", []byte("a-a: 1\nmax-num-seqs: x\ncache-reset: 3\n"), keys, nil)
	if err == nil || strings.Count(err.Error(), "f:") != 3 {
		t.Errorf("%v", err)
	}
	_, err = Read("f", []byte(strings.Repeat("q: 1\n", 10_000)), keys, nil)
	if err == nil || len(err.Error()) > 10_000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

func TestNearest(t *testing.T) {
	if got, _ := nearest(keys, "max_num_seqs"); got != "max-num-seqs" {
		t.Errorf("%q", got)
	}
	if got, ok := nearest(keys, "entirely-other"); ok {
		t.Errorf("entirely-other is near %q", got)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"url", "url", 0}} {
		if got := distance(c.a, c.b, 9); got != c.want || got != distance(c.b, c.a, 9) {
			t.Errorf("%s to %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
