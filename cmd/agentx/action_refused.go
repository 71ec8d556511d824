package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/publish/actions"
	"github.com/org/agentx-action/pkg/run"
)

// refuseInputs ends a step whose inputs or file the parser did not take: who wrote them
// looks at annotations, summary and outputs, not into the log. The post step after it
// fails for the same reason, and must not: it has nothing left to do.
func (c *console) refuseInputs(args []string, err error) error {
	err = &run.UsageError{Err: err}
	get := actions.New().GetInput
	raw := unparsed(get)
	c.muzzle(raw.secrets(), slices.Concat(raw.Args, raw.EngineCommand, raw.BaseEngineCommand))
	w, failed := newWorkplace(actions.New(actions.WithWriter(c.commands)))
	if failed != nil {
		w, err = nowhere(c), errors.Join(err, failed)
	}
	if slices.Contains(args, "post") {
		return c.postRefused(w, err)
	}
	return c.refuse(w, err)
}

// refuse ends a step that can't begin: everybody who looks at the job is told, and
// nobody else.
func (c *console) refuse(w *workplace, err error) error {
	p := &publication{console: c, workplace: w, flags: new(publishFlags), cell: w.GetInput("cell"), quiet: true}
	w.SaveState(statePublished, "true")
	return unlessFailed(err, p.publish(nil, err))
}

// nowhere is the workplace of a job whose event or environment can't be read: there is
// still somebody who looks at its annotations.
func nowhere(c *console) *workplace {
	return &workplace{Action: actions.New(actions.WithWriter(c.commands)), github: &actions.GitHubContext{Actions: true}}
}

// postRefused is the post step without its inputs.
func (c *console) postRefused(w *workplace, err error) error {
	c.sweep()
	if w.Getenv("STATE_"+stateDir) == "" || w.Getenv("STATE_"+statePublished) == "true" {
		fmt.Fprintln(c.out, "nothing is left to do")
		return nil
	}
	// The file was changed while the step ran, and the step could not tell of itself.
	w.Errorf("What the step measured was not published: %s", c.secrets.Mask(oneLine(err)))
	return err
}

// unparsed are the inputs that may hold secrets, as the workflow gave them. A line of
// engine-env is taken for one whatever its name is: an error repeats what is wrong.
func unparsed(get func(string) string) *runCmd {
	r := new(runCmd)
	list := func(name string) []string { return inputList(get(name), false) }
	r.GitHubToken = cmp.Or(get("github-token"), os.Getenv("GITHUB_TOKEN"))
	r.APIKey, r.Header, r.URL, r.BaseURL = get("api-key"), list("header"), list("url"), get("base-url")
	r.Args, r.EngineCommand, r.BaseEngineCommand = list("args"), list("engine-command"), list("base-engine-command")
	r.EngineSecretEnv = list("engine-secret-env")
	r.EngineEnv = map[string]string{}
	for i, line := range list("engine-env") {
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			name, value = "", line
		}
		if !harmless.MatchString(value) {
			r.EngineEnv[fmt.Sprintf("%s_%d_SECRET", name, i)] = value
		}
	}
	return r
}
