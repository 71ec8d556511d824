package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// baselineDirs are the fixed-length runs in the folder of a run.
func baselineDirs(dir string) (dirs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), result.FolderFixed) {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs
}

// againstFixed puts a run beside the baselines in its folder. One that cannot be
// read is left out: the run itself says what became of it.
func againstFixed(dir string, doc *result.Document) []compare.AgainstFixed {
	var fixed []*result.Document
	for _, d := range baselineDirs(dir) {
		if f, err := result.Read(d); err == nil {
			fixed = append(fixed, f)
		}
	}
	return compare.AgainstFixedRuns(doc, fixed)
}

// inColor reports whether colour codes help: on a terminal whose user did not
// switch them off.
func inColor(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
