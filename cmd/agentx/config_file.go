package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/config"
	"github.com/org/agentx-action/pkg/publish/actions"
)

// defaultConfig is read when it is there and no other is named.
const defaultConfig = "agentx.yaml"

// configFlags name the configuration file of a run, and show what it comes to.
type configFlags struct {
	Config string `help:"Configuration file, its keys the flags below; agentx.yaml when it is there. Flags win over it." placeholder:"FILE" group:"Configuration" config:"-"`
	DryRun bool   `help:"Print the effective configuration and the engine's command, start nothing." group:"Configuration" config:"-"`

	file   *config.File
	keys   []config.Key
	inputs map[string]bool // of the Action, that the workflow gave
}

// BeforeResolve is called by the parser once it knows the flags that were typed: for
// those that were not it takes the Action's inputs, where this is the Action, and then
// the file.
func (f *configFlags) BeforeResolve(ctx *kong.Context) error {
	command := ctx.Selected()
	if command == nil {
		return nil
	}
	get := func(string) string { return "" }
	if isAction(command) {
		get = actions.New().GetInput
	}
	if err := f.read(ctx, command, get); err != nil {
		return err
	}
	f.inputs = map[string]bool{}
	for _, flag := range inputs(command) {
		f.inputs[flag.Name] = inputOf(flag, get) != ""
	}
	ctx.AddResolver(fromInputs(get)) // the last one wins
	return nil
}

// isAction reports whether a command is run by GitHub, with inputs.
func isAction(command *kong.Node) bool {
	return command.Name == verbAction || command.Parent != nil && command.Parent.Name == verbAction
}

// read reads the file.
func (f *configFlags) read(ctx *kong.Context, command *kong.Node, input func(string) string) (err error) {
	f.keys = keys(command)
	name := defaultConfig
	for _, flag := range command.Flags {
		if flag.Name != "config" {
			continue
		}
		if given, _ := ctx.FlagValue(flag).(string); given != "" {
			name = given
		} else if given := input("config"); given != "" {
			name = given
		}
	}
	text, err := readBounded(name, config.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) && name == defaultConfig {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if f.file, err = config.Read(name, text, f.keys, os.LookupEnv); err != nil {
		return err
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		v, ok := f.file.Lookup(flag.Name)
		if !ok {
			return nil, nil
		}
		return asTyped(v, flag)
	}))
	return nil
}

// substituted are the names in a mapping of the file whose values hold variables.
func (f *configFlags) substituted(key string) (names []string) {
	v, _ := f.file.Lookup(key)
	for _, raw := range v.Raw {
		if name, value, _ := strings.Cut(raw, "="); strings.Contains(value, "${") {
			names = append(names, name)
		}
	}
	return names
}

// asTyped is a value in the form that the parser takes for a flag.
func asTyped(v config.Value, flag *kong.Flag) (any, error) {
	switch {
	case flag.IsMap():
		out := map[string]any{}
		for _, item := range v.Text {
			name, value, _ := strings.Cut(item, "=")
			out[name] = value
		}
		return out, nil
	case flag.IsSlice():
		out := []any{}
		for _, item := range v.Text {
			if v.Key.Items != config.Whole {
				out = append(out, item)
				continue
			}
			n, err := strconv.ParseInt(item, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Key.Name, err)
			}
			out = append(out, n)
		}
		return out, nil
	}
	return strings.Join(v.Text, ","), nil
}
