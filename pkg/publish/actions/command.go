package actions

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// CommandProperties are the properties of a command.
type CommandProperties map[string]string

// String is the properties as GitHub reads them: sorted, separated by commas.
func (p CommandProperties) String() string {
	list := make([]string, 0, len(p))
	for k, v := range p {
		if v != "" {
			list = append(list, k+"="+escapeProperty(v))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// Command is a workflow command.
type Command struct {
	Name       string
	Message    string
	Properties CommandProperties
}

// String is the command's line: ::name key=value,key=value::message
func (c *Command) String() string {
	name := c.Name
	if name == "" {
		name = "missing.command"
	}
	var b strings.Builder
	b.WriteString("::" + name)
	if p := c.Properties.String(); p != "" {
		b.WriteString(" " + p)
	}
	b.WriteString("::" + escapeData(c.Message))
	return b.String()
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeData(v string) string     { return dataEscapes.Replace(v) }
func escapeProperty(v string) string { return propertyEscapes.Replace(v) }

// IssueCommand writes a command to the log, where the runner finds it.
func (a *Action) IssueCommand(c *Command) {
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	a.line(c.String())
}

// line writes one line at once, so that lines of several goroutines don't mix.
func (a *Action) line(text string) {
	_, _ = io.WriteString(a.w, text+"\n") // nobody is left to be told
}

// IssueFileCommand appends a command's message, as it stands, to the file that the
// runner named for it (GITHUB_ and the command's name in upper case). Outside Actions
// there is no such file, and nothing happens.
func (a *Action) IssueFileCommand(c *Command) {
	if err := a.appendTo(c.Name, c.Message); err != nil {
		a.Errorf("%v", err)
	}
}

func (a *Action) appendTo(name, text string) (err error) {
	variable := "GITHUB_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	path := a.getenv(variable)
	if path == "" {
		return nil
	}
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600) // #nosec G304 -- the runner's own file
	if err != nil {
		return fmt.Errorf("actions: %s: %w", variable, err)
	}
	defer func() {
		if e := f.Close(); err == nil && e != nil {
			err = fmt.Errorf("actions: %s: %w", variable, e)
		}
	}()
	if _, err := io.WriteString(f, text+"\n"); err != nil {
		return fmt.Errorf("actions: %s: %w", variable, err)
	}
	return nil
}

// keyValue writes a value to a file command, between two delimiters.
func (a *Action) keyValue(file, name, value string) {
	text, err := heredoc(name, value, rand.Text)
	if err != nil {
		a.Errorf("%v", err)
		return
	}
	a.IssueFileCommand(&Command{Name: file, Message: text})
}

// heredoc is name and value between two lines of a delimiter that neither contains.
func heredoc(name, value string, random func() string) (string, error) {
	if name == "" || strings.ContainsAny(name, "=<\r\n") {
		return "", fmt.Errorf("actions: %q can't be the name of an output, a variable or a state", name)
	}
	for range 10 {
		delimiter := "ghadelimiter_" + random()
		if !strings.Contains(name, delimiter) && !strings.Contains(value, delimiter) {
			return name + "<<" + delimiter + "\n" + value + "\n" + delimiter, nil
		}
	}
	return "", errors.New("actions: every delimiter occurs in the value of " + name)
}
