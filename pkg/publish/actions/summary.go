package actions

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"text/template"
)

// MaxSummary is how large GitHub takes the summary of a step, in bytes; from a larger
// one it takes nothing at all.
const MaxSummary = 1 << 20

const summaryCut = "\n\n_The rest is left out: GitHub takes 1 MiB of a summary._\n"

// AddStepSummary appends Markdown to the summary of the step. What goes beyond
// GitHub's 1 MiB is left out, at a line end, and the summary says so.
func (a *Action) AddStepSummary(markdown string) {
	room := MaxSummary - len(summaryCut) - 1
	if info, err := os.Stat(a.getenv("GITHUB_STEP_SUMMARY")); err == nil {
		room -= int(min(info.Size(), MaxSummary))
	}
	if len(markdown) > room {
		if room <= 0 {
			a.Warningf("the step's summary is full: GitHub takes 1 MiB")
			return
		}
		markdown = strings.ToValidUTF8(markdown[:room], "")
		if end := strings.LastIndexByte(markdown, '\n'); end >= 0 {
			markdown = markdown[:end]
		}
		markdown += summaryCut
	}
	a.IssueFileCommand(&Command{Name: "step-summary", Message: markdown})
}

// AddStepSummaryTemplate appends the output of a template to the summary.
func (a *Action) AddStepSummaryTemplate(tmpl string, data any) error {
	t, err := template.New("summary").Parse(tmpl)
	if err != nil {
		return fmt.Errorf("actions: summary template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return fmt.Errorf("actions: summary template: %w", err)
	}
	a.AddStepSummary(b.String())
	return nil
}
