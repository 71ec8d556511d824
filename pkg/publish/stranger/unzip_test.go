package stranger

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result"
)

// A .zip is taken apart within bounds.
func TestUnzip(t *testing.T) {
	write := func(entries ...*zip.FileHeader) string {
		name := filepath.Join(t.TempDir(), "a.zip")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		for _, e := range entries {
			e.Method = zip.Deflate
			w, err := z.CreateHeader(e)
			if err != nil {
				t.Fatal(err)
			}
			text := []byte("text")
			if e.Comment == "bomb" {
				text = make([]byte, 64<<20)
			}
			if _, err := w.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return name
	}
	link := &zip.FileHeader{Name: "link"}
	link.SetMode(fs.ModeSymlink | 0o777)
	many := make([]*zip.FileHeader, maxArtifactFiles+1)
	for i := range many {
		many[i] = &zip.FileHeader{Name: fmt.Sprint(i)}
	}
	for says, entries := range map[string][]*zip.FileHeader{
		"":                               {{Name: "a/b.txt"}, {Name: "c.txt"}},
		`"../x" is no path`:              {{Name: "../x"}},
		`"/etc/x" is no path`:            {{Name: "/etc/x"}},
		`"a\\..\\x" is no path`:          {{Name: `a\..\x`}},
		`"link" is no plain file`:        {link},
		`"b" grows beyond every measure`: {{Name: "b", Comment: "bomb"}},
		"file exists":                    {{Name: "a"}, {Name: "a"}},
		"more than 10000 files":          many,
	} {
		dir := t.TempDir()
		err := Unzip(write(entries...), dir)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "a", "b.txt")); says == "" && string(text) != "text" {
			t.Errorf("it holds %q", text)
		}
	}
	dir := t.TempDir()
	err := Unzip(write(&zip.FileHeader{Name: "c1/run.json"}, &zip.FileHeader{Name: "c1/x.html"}, &zip.FileHeader{Name: "bomb", Comment: "bomb"}), dir, result.FileFacts)
	if found, _ := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(found) != 1 || filepath.Base(found[0]) != result.FileFacts {
		t.Errorf("of what is wanted: %v, %v", found, err)
	}
	if err := Unzip(os.Args[0], t.TempDir()); err == nil || !strings.Contains(err.Error(), "no .zip") {
		t.Error(err)
	}
}
