package preset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Edit changes a command line by a list of edits, in the order they are given:
//
//	--flag, --flag=value, or --flag and then its values   replaces the flag, or appends it
//	!--flag                                                removes it
//
// A flag is replaced where it stands. It is known by its name: vLLM takes _ for -,
// --no-flag switches off --flag, and the usual short forms are the flag itself. One
// that is edited twice is there twice. Removing what is not there is an error, since
// it does not do what somebody believes it does.
func Edit(args, edits []string) ([]string, error) {
	groups, err := group(edits)
	if err != nil {
		return nil, err
	}
	base, _ := group(args) // may begin with a positional
	var errs errorList
	ours := make([]bool, len(base)) // came from an edit
	for _, e := range groups {
		remove := strings.HasPrefix(e[0], "!")
		name := flagName(strings.TrimPrefix(e[0], "!"))
		if remove && (len(e) > 1 || strings.Contains(e[0], "=")) {
			errs.addf("--args %s: a flag is removed by its name alone", strings.Join(e, " "))
			continue
		}
		at := slices.IndexFunc(base, func(g []string) bool { return len(g) > 0 && flagName(g[0]) == name })
		switch {
		case remove && at < 0:
			errs.addf("--args %s: the command line has no %s", e[0], strings.TrimPrefix(e[0], "!"))
		case remove:
			base, ours = dropFlag(base, ours, name)
		case at < 0 || ours[at]:
			base, ours = append(base, e), append(ours, true)
		default:
			base[at], ours[at] = e, true
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return slices.Concat(base...), nil
}

func dropFlag(base [][]string, ours []bool, name string) (rest [][]string, restOurs []bool) {
	for i, g := range base {
		if flagName(g[0]) != name {
			rest, restOurs = append(rest, g), append(restOurs, ours[i])
		}
	}
	return rest, restOurs
}

// group puts every flag together with its values. What stands before the first
// flag is an error, and a group of its own.
func group(args []string) (groups [][]string, err error) {
	for i, a := range args {
		switch {
		case isFlag(a) || strings.HasPrefix(a, "!-"):
			groups = append(groups, []string{a})
		case i == 0:
			groups = append(groups, []string{a})
			err = fmt.Errorf("--args %s: want --flag, --flag=value or !--flag", a)
		default:
			last := len(groups) - 1
			groups[last] = append(groups[last], a)
		}
	}
	return groups, err
}

// isFlag tells a flag from a value; -1 is a value.
func isFlag(a string) bool {
	return len(a) > 1 && a[0] == '-' && (a[1] < '0' || a[1] > '9') && a[1] != '.'
}

// shortForms of flags, as the engines' parsers take them.
var shortForms = map[string]string{
	"tp": "tensor-parallel-size", "tp-size": "tensor-parallel-size", "pp": "pipeline-parallel-size", "pp-size": "pipeline-parallel-size",
	"dp": "data-parallel-size", "dp-size": "data-parallel-size", "ep": "expert-parallel-size", "ep-size": "expert-parallel-size",
	"model": "model-path", "sc": "speculative-config",
}

// flagName is what a flag is known by.
func flagName(flag string) string {
	name, _, _ := strings.Cut(flag, "=")
	if !isFlag(name) {
		return name // a positional
	}
	name = strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")
	name = strings.TrimPrefix(name, "no-")
	if long, ok := shortForms[name]; ok {
		return long
	}
	return name
}
