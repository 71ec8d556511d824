package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/config"
)

// keys are the keys of agentx.yaml: the flags of a command, in their order. What a
// flag's type does not say stands in its tag `config`:
//
//	substitute    ${NAME} is replaced
//	secret        shown nowhere
//	path          a relative path is taken from the file's folder
//	inf           inf is a number
//	list=whole    a comma list of whole numbers on the command line
//	-             no key
func keys(command *kong.Node) (out []config.Key) {
	for _, f := range command.Flags {
		tags := strings.Split(f.Tag.Get("config"), ",")
		if f.Hidden || f.Tag.Get("config") == "-" {
			continue
		}
		k := config.Key{
			Name: f.Name, Aliases: visibleAliases(f), Help: f.Help, Default: f.Default,
			Secret: slices.Contains(tags, "secret"), Substitute: slices.Contains(tags, "substitute"), Path: slices.Contains(tags, "path"), Infinite: slices.Contains(tags, "inf"),
		}
		if f.Group != nil {
			k.Group = f.Group.Title
		}
		for _, e := range strings.Split(f.Enum, ",") {
			if e != "" {
				k.Enum = append(k.Enum, e)
			}
		}
		k.Kind, k.Items = kindOf(f.Target.Type())
		if slices.Contains(tags, "list=whole") {
			k.Kind, k.Items = config.List, config.Whole
		}
		out = append(out, k)
	}
	return out
}

// visibleAliases leaves out AIPerf's older spellings, which are there for commands
// that were written for it; model is how everybody says it.
func visibleAliases(f *kong.Flag) []string {
	if slices.Contains(f.Aliases, "model") {
		return []string{"model"}
	}
	return nil
}

func kindOf(t reflect.Type) (kind, items config.Kind) {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return config.Bool, ""
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return config.Whole, ""
	case reflect.Float64:
		return config.Number, ""
	case reflect.Map:
		return config.Map, ""
	case reflect.Slice:
		items, _ = kindOf(t.Elem())
		return config.List, items
	}
	return config.String, ""
}

// commandNode finds a command of the grammar.
func commandNode(app *kong.Application, name string) *kong.Node {
	for _, n := range app.Children {
		if n.Name == name {
			return n
		}
	}
	return nil
}
