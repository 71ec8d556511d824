package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/org/agentx-action/pkg/config"
)

// inputs are the flags of a command that the Action takes as inputs, by the same
// names: every key of agentx.yaml, the file itself, and what the Action alone has.
func inputs(command *kong.Node) (flags []*kong.Flag) {
	for _, f := range command.Flags {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			continue
		}
		flags = append(flags, f)
	}
	return flags
}

// inputOf is what the workflow gave for a flag, by its name or another that it goes
// by; empty when nothing.
func inputOf(flag *kong.Flag, get func(string) string) string {
	for _, name := range append([]string{flag.Name}, visibleAliases(flag)...) {
		if v := get(name); v != "" {
			return v
		}
	}
	return ""
}

// fromInputs makes flags of what the workflow gave. A list has an item a line, or
// separated by commas where the command line takes that too; a map has NAME=VALUE a
// line. What was not given is left to the file.
func fromInputs(get func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		text := inputOf(flag, get)
		if text == "" || flag.Hidden {
			return nil, nil
		}
		kind, items := kindOf(flag.Target.Type())
		k := config.Key{Name: flag.Name, Kind: kind, Items: items}
		switch {
		case kind == config.List || kind == config.Map:
			return asTyped(config.Value{Key: k, Text: inputList(text, kind == config.List && flag.Tag.Sep != -1)}, flag)
		case slices.Contains(strings.Split(flag.Tag.Get("config"), ","), "list=whole"):
			return strings.Join(inputList(text, true), ","), nil
		}
		return asTyped(config.Value{Key: k, Text: []string{text}}, flag)
	})
}

// inputList are the items of a list.
func inputList(text string, commas bool) (items []string) {
	split := func(r rune) bool { return r == '\n' || r == '\r' || commas && r == ',' }
	for item := range strings.FieldsFuncSeq(text, split) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
