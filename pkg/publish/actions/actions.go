package actions

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Action is the runner as a step sees it. Safe for concurrent use.
type Action struct {
	w          io.Writer
	fields     CommandProperties
	getenv     GetenvFunc
	httpClient *http.Client
	exit       func(int)
	shared     *shared
}

// shared is what an Action and those derived from it have in common.
type shared struct {
	mu        sync.Mutex
	annotated map[string]int // by command
}

// GetenvFunc looks a variable of the environment up; empty when it isn't set.
type GetenvFunc func(key string) string

// Option changes an Action as it is made.
type Option func(*Action) *Action

// New is the runner of this process' environment and standard output.
func New(opts ...Option) *Action {
	a := &Action{
		w:          os.Stdout,
		getenv:     os.Getenv,
		httpClient: &http.Client{Timeout: 30 * time.Second},
		exit:       os.Exit,
		shared:     &shared{annotated: map[string]int{}},
	}
	for _, opt := range opts {
		if opt != nil {
			a = opt(a)
		}
	}
	return a
}

// WithWriter sends commands elsewhere than to standard output.
func WithWriter(w io.Writer) Option {
	return func(a *Action) *Action { a.w = w; return a }
}

// WithFields sets properties of every command, e.g. file and line of annotations.
func WithFields(fields CommandProperties) Option {
	return func(a *Action) *Action { a.fields = fields; return a }
}

// WithGetenv takes the environment from elsewhere.
func WithGetenv(getenv GetenvFunc) Option {
	return func(a *Action) *Action { a.getenv = getenv; return a }
}

// WithHTTPClient sets the client that asks for the OIDC token; the default gives up
// after 30 s.
func WithHTTPClient(c *http.Client) Option {
	return func(a *Action) *Action { a.httpClient = c; return a }
}

// Getenv looks a variable of the environment up.
func (a *Action) Getenv(key string) string { return a.getenv(key) }

// WithFieldsSlice is a copy of the Action whose annotations carry fields, each given as
// "key=value". It panics on one without "=", which is a mistake of the program.
func (a *Action) WithFieldsSlice(fields ...string) *Action {
	m := make(map[string]string, len(fields))
	for _, f := range fields {
		key, value, ok := strings.Cut(f, "=")
		if !ok {
			panic(fmt.Sprintf("actions: field %q is not key=value", f))
		}
		m[key] = value
	}
	return a.WithFieldsMap(m)
}

// WithFieldsMap is a copy of the Action whose annotations carry fields.
func (a *Action) WithFieldsMap(fields map[string]string) *Action {
	b := *a
	b.fields = maps.Clone(fields)
	return &b
}

// GetInput is an input of the action, without blanks around it; empty when it wasn't
// given. The runner passes it as INPUT_NAME: upper case, blanks as "_", dashes kept.
func (a *Action) GetInput(name string) string {
	return strings.TrimSpace(a.getenv(inputName(name)))
}

func inputName(name string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
}

// AddMask makes the runner hide a value in all logs from here on. The runner hides line
// by line, so each line of it is masked by itself as well.
func (a *Action) AddMask(value string) {
	if strings.TrimSpace(value) == "" {
		return // it would hide every blank
	}
	a.IssueCommand(&Command{Name: "add-mask", Message: value})
	for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line != value && strings.TrimSpace(line) != "" {
			a.IssueCommand(&Command{Name: "add-mask", Message: line})
		}
	}
}

// AddMatcher registers a problem matcher file.
func (a *Action) AddMatcher(path string) {
	a.IssueCommand(&Command{Name: "add-matcher", Message: path})
}

// Group starts a part of the log that folds.
func (a *Action) Group(title string) { a.IssueCommand(&Command{Name: "group", Message: title}) }

// EndGroup ends it.
func (a *Action) EndGroup() { a.IssueCommand(&Command{Name: "endgroup"}) }

// SetOutput sets an output of the step.
func (a *Action) SetOutput(name, value string) { a.keyValue("output", name, value) }

// SetEnv sets a variable for the steps that follow.
func (a *Action) SetEnv(name, value string) { a.keyValue("env", name, value) }

// SaveState keeps a value for the post step, which finds it as STATE_name.
func (a *Action) SaveState(name, value string) { a.keyValue("state", name, value) }

// AddPath puts a folder in front of the search path of the steps that follow.
func (a *Action) AddPath(path string) {
	a.IssueFileCommand(&Command{Name: "path", Message: path})
}
