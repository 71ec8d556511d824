package preset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
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
	edited, err := group(edits)
	if err != nil {
		return nil, err
	}
	base, _ := group(args) // may begin with a positional
	line := make([]part, 0, len(base)+len(edited))
	for _, words := range base {
		line = append(line, part{words: words})
	}
	var errs errorList
	for _, words := range edited {
		first, removes := strings.CutPrefix(words[0], "!")
		name := flagName(first)
		at := slices.IndexFunc(line, func(p part) bool { return flagName(p.words[0]) == name })
		switch {
		case removes && (len(words) > 1 || strings.Contains(first, "=")):
			errs.addf("--args %s: a flag is removed by its name alone", strings.Join(words, " "))
		case removes && at < 0:
			errs.addf("--args %s: the command line has no %s", words[0], first)
		case removes:
			line = slices.DeleteFunc(line, func(p part) bool { return flagName(p.words[0]) == name })
		case at < 0 || line[at].edited:
			line = append(line, part{words, true})
		default:
			line[at] = part{words, true}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var out []string
	for _, p := range line {
		out = append(out, p.words...)
	}
	return out, nil
}

// part of a command line: a flag and its values, or what stands before all flags.
type part struct {
	words  []string
	edited bool // given by an edit, so not to be replaced by the next
}

// group puts every flag together with its values. What stands before the first
// flag is an error, and a group of its own.
func group(args []string) (groups [][]string, err error) {
	for i, a := range args {
		switch {
		case deploy.IsFlag(a) || strings.HasPrefix(a, "!-"):
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

// shortForms of flags, as the engines' parsers take them.
var shortForms = map[string]string{
	"tp": "tensor-parallel-size", "tp-size": "tensor-parallel-size", "pp": "pipeline-parallel-size", "pp-size": "pipeline-parallel-size",
	"dp": "data-parallel-size", "dp-size": "data-parallel-size", "ep": "expert-parallel-size", "ep-size": "expert-parallel-size",
	"model": "model-path", "sc": "speculative-config",
}

// flagName is what a flag is known by.
func flagName(flag string) string {
	name, _, _ := strings.Cut(flag, "=")
	if !deploy.IsFlag(name) {
		return name // a positional
	}
	name = strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")
	name = strings.TrimPrefix(name, "no-")
	if long, ok := shortForms[name]; ok {
		return long
	}
	return name
}
