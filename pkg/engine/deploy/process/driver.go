package process

import (
	"slices"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Driver starts a command. Only Command is needed.
type Driver struct {
	// Command and its arguments. {port} is replaced.
	Command []string
	// Dir is where it runs; empty is our own working directory.
	Dir string
	// Env is declared for it. {port} is replaced. PATH here also decides where the
	// command is looked for.
	Env []deploy.Var
	// Port it will listen on; 0 picks a free one.
	Port int
	// Metrics are its metrics pages; /metrics of its URL when empty. {port} is
	// replaced.
	Metrics []string
	// StateDir holds a file for each engine that runs. Empty is
	// $XDG_STATE_HOME/agentx/engines, or ~/.local/state/agentx/engines.
	StateDir string
}

var _ deploy.Driver = (*Driver)(nil)

// portMark in a command line stands for the port.
const portMark = "{port}"

// The variables that mark a process as part of an engine. Tests have their own,
// so that those that run at the same time don't sweep each other's leftovers.
var (
	markEngine = "AGENTX_ENGINE"
	markOwner  = "AGENTX_OWNER"
)

// asksForPort tells whether a picked port would reach the engine.
func (d *Driver) asksForPort() bool {
	return slices.ContainsFunc(d.Command, func(arg string) bool { return strings.Contains(arg, portMark) }) ||
		slices.ContainsFunc(d.Env, func(v deploy.Var) bool { return strings.Contains(v.Value, portMark) })
}

func withPort(text string, port int) string {
	return strings.ReplaceAll(text, portMark, strconv.Itoa(port))
}

func allWithPort(texts []string, port int) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = withPort(text, port)
	}
	return out
}

func envWithPort(env []deploy.Var, port int) []deploy.Var {
	out := make([]deploy.Var, len(env))
	for i, v := range env {
		v.Value = withPort(v.Value, port)
		out[i] = v
	}
	return out
}
