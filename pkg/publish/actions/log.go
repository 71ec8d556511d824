package actions

import (
	"fmt"
	"strings"

	"github.com/org/agentx-action/pkg/publish/actions/untrusted"
)

// MaxAnnotations is how many annotations of one type GitHub shows of a step. The
// runner drops those beyond without a word.
const MaxAnnotations = 10

// Debugf writes a line that shows only when debugging is switched on.
func (a *Action) Debugf(msg string, args ...any) {
	// The name "debug" is no annotation and has no limit.
	a.IssueCommand(&Command{Name: "debug", Message: fmt.Sprintf(msg, args...), Properties: a.fields})
}

// Noticef makes an annotation of the gentlest kind.
func (a *Action) Noticef(msg string, args ...any) { a.annotate("notice", fmt.Sprintf(msg, args...)) }

// Warningf makes a warning.
func (a *Action) Warningf(msg string, args ...any) { a.annotate("warning", fmt.Sprintf(msg, args...)) }

// Errorf makes an error. It does not fail the step; the exit code does.
func (a *Action) Errorf(msg string, args ...any) { a.annotate("error", fmt.Sprintf(msg, args...)) }

// Fatalf makes an error and ends the process with code 1.
func (a *Action) Fatalf(msg string, args ...any) {
	a.Errorf(msg, args...)
	a.exit(1)
}

// Infof writes plain text to the log. A line of it that the runner would take for a
// command is put between stop-commands, since only the methods above issue commands.
func (a *Action) Infof(msg string, args ...any) {
	text := untrusted.Text(fmt.Sprintf(msg, args...))
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	a.line(text)
}

// annotate issues an annotation, or a plain line where the runner would drop it.
func (a *Action) annotate(kind, text string) {
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	a.shared.annotated[kind]++
	if a.shared.annotated[kind] > MaxAnnotations {
		a.line(untrusted.Text(strings.ToUpper(kind[:1]) + kind[1:] + ": " + text))
		return
	}
	a.line((&Command{Name: kind, Message: text, Properties: a.fields}).String())
}
