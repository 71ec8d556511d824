package main

import (
	"io"
	"os"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
)

// againstFixed puts a run beside the baselines in its folder. One that cannot be
// read is left out: the run itself says what became of it.
func againstFixed(dir string, doc *result.Document) []compare.AgainstFixed {
	var fixed []*result.Document
	for _, d := range result.Baselines(dir) {
		if f, err := result.Read(d); err == nil {
			fixed = append(fixed, f)
		}
	}
	return compare.AgainstFixedRuns(doc, fixed)
}

// inColor reports whether colour codes help: on a terminal whose user did not
// switch them off.
func inColor(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
