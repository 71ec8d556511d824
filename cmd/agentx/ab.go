package main

import (
	"errors"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/run"
)

// abCmd measures two engines in one job, in alternating order.
type abCmd struct {
	HeadURL string `name:"head-url" help:"Address of the engine under test; the same as --url." placeholder:"URL" group:"Base" config:"substitute"`
	runCmd
}

// Run is called by the parser. Unlike run it makes no demonstration of a job
// without a rule set.
func (a *abCmd) Run(c *console, parsed *kong.Context) error {
	if a.HeadURL != "" && len(a.URL) > 0 {
		return &run.UsageError{Err: errors.New("--url: the same as --head-url; give one of them")}
	}
	if a.HeadURL != "" {
		a.URL = []string{a.HeadURL}
	}
	if !a.alternates() {
		return &run.UsageError{Err: errors.New("ab takes two sides: --head-url and --base-url, --image and --base-image, or --engine-command and --base-engine-command")}
	}
	a.noDemo = true
	return a.runCmd.Run(c, parsed)
}
