// Package pkg_test holds what is true of all rooms together.
package pkg_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/org/agentx-action"

// room is a part of the house and what its packages may import of ours. A path
// stands for its packages and those below.
type room struct {
	path  string
	may   []string
	tests []string // tests may import these as well
}

// rooms is the import table. The longest path that fits a package decides.
// Whoever is not in it may not exist below pkg.
var rooms = []room{
	{path: "pkg/workload", may: []string{"pkg/workload"}},
	{path: "pkg/result", may: []string{"pkg/result", "schemas"}},
	{path: "pkg/result/record", may: []string{"pkg/result/record"}},
	{path: "pkg/engine", may: []string{"pkg/engine", "pkg/result/record"}},
	{path: "pkg/engine/sim", may: []string{"pkg/engine", "pkg/result/record", "pkg/workload/prompt/words"}},
	{path: "pkg/load", may: []string{"pkg/load", "pkg/workload", "pkg/result/record"}, tests: []string{"pkg/engine/sim"}},
	{path: "pkg/publish", may: []string{"pkg/publish", "pkg/result"}},
	{path: "pkg/run", may: []string{"pkg", "schemas"}},
	{path: "pkg/config", may: []string{"pkg", "schemas"}},
}

// outside tells which packages of the standard library a room must not know.
var outside = map[string][]string{
	"pkg/result": {"net"}, // it judges what was seen, and sees nothing itself
}

// harmless are packages below a denied one that only handle text.
var harmless = []string{"net/url"}

// below tells whether a package is p or lies below it.
func below(pkg, p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") }

func roomOf(pkg string) (room, bool) {
	var best room
	for _, r := range rooms {
		if below(pkg, r.path) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best, best.path != ""
}

// allowed tells whether a package below pkg may import another, both named by
// their path in the module, or by the import path for one that isn't ours.
func allowed(from, to string, test, ours bool) bool {
	r, ok := roomOf(from)
	if !ok {
		return false
	}
	if !ours {
		for in, denied := range outside {
			for _, d := range denied {
				if below(from, in) && below(to, d) && !slices.Contains(harmless, to) {
					return false
				}
			}
		}
		return true
	}
	may := r.may
	if test {
		may = append(append([]string{}, may...), r.tests...)
	}
	for _, p := range may {
		if below(to, p) {
			return true
		}
	}
	return false
}

func TestImportsFollowTheTable(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || filepath.Dir(name) == ".":
			return nil
		}
		files++
		from := path.Join("pkg", filepath.ToSlash(filepath.Dir(name)))
		if _, ok := roomOf(from); !ok {
			t.Errorf("%s belongs to no room: put it where its data is", from)
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			to, ours := strings.CutPrefix(to, module+"/")
			if !allowed(from, to, strings.HasSuffix(name, "_test.go"), ours) {
				t.Errorf("%s must not import %s", name, to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("found no Go files")
	}
}

func TestTheTableRefusesArrowsThatPointBack(t *testing.T) {
	for _, c := range []struct {
		from, to   string
		test, ours bool
		want       bool
	}{
		{from: "pkg/workload/tree", to: "pkg/workload/trace", ours: true, want: true},
		{from: "pkg/workload/tree", to: "pkg/load/replay", ours: true},
		{from: "pkg/workload/tree", to: "pkg/result/record", ours: true},
		{from: "pkg/result/record", to: "pkg/result/summary", ours: true},
		{from: "pkg/result/summary", to: "pkg/result/record", ours: true, want: true},
		{from: "pkg/result/summary", to: "pkg/load/scenario", ours: true},
		{from: "pkg/result", to: "schemas", ours: true, want: true},
		{from: "pkg/result/record", to: "schemas", ours: true},
		{from: "pkg/result/summary", to: "net/http"},
		{from: "pkg/result/summary", to: "math", want: true},
		{from: "pkg/result/record", to: "net/netip"},
		{from: "pkg/load/openai", to: "net/http", want: true},
		{from: "pkg/load/replay", to: "pkg/workload/prompt", ours: true, want: true},
		{from: "pkg/load/replay", to: "pkg/result/record", ours: true, want: true},
		{from: "pkg/load/replay", to: "pkg/result/recorder", ours: true},
		{from: "pkg/load/replay", to: "pkg/result/validity", ours: true},
		{from: "pkg/load/replay", to: "pkg/engine/sim", ours: true},
		{from: "pkg/load/replay", to: "pkg/engine/sim", test: true, ours: true, want: true},
		{from: "pkg/load/replay", to: "pkg/engine/deploy", test: true, ours: true},
		{from: "pkg/engine/sim", to: "pkg/workload/prompt/words", ours: true, want: true},
		{from: "pkg/engine/sim", to: "pkg/workload/prompt", ours: true},
		{from: "pkg/engine/scrape", to: "pkg/workload/prompt/words", ours: true},
		{from: "pkg/engine/scrape", to: "pkg/load/openai", ours: true},
		{from: "pkg/publish/table", to: "pkg/result/compare", ours: true, want: true},
		{from: "pkg/publish/table", to: "pkg/workload/trace", ours: true},
		{from: "pkg/run", to: "pkg/publish/github", ours: true, want: true},
		{from: "pkg/run", to: "cmd/agentx", ours: true},
		{from: "pkg/publish/github", to: "pkg/run", ours: true},
		{from: "pkg/util", to: "strings"},
	} {
		if got := allowed(c.from, c.to, c.test, c.ours); got != c.want {
			t.Errorf("%s → %s (test %v): got %v, want %v", c.from, c.to, c.test, got, c.want)
		}
	}
}
