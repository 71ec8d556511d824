package config

import "slices"

// Kind is the form of a value.
type Kind string

// Kinds.
const (
	String Kind = "string"
	Whole  Kind = "whole number"
	Number Kind = "number"
	Bool   Kind = "true or false"
	List   Kind = "list" // or a scalar, which is a list of one
	Map    Kind = "map"  // of names to scalars
)

// Key is one setting.
type Key struct {
	Name string
	// Aliases are other names it goes by.
	Aliases []string
	Kind    Kind
	// Items is the kind of a list's elements.
	Items Kind
	// Enum lists the values there are; empty takes any.
	Enum []string
	// Infinite takes inf too, where Kind is Number.
	Infinite bool
	Help     string
	// Default is what holds when the key is not given; empty says nothing.
	Default string
	Group   string
	// Secret values are shown nowhere.
	Secret bool
	// Substitute says that ${NAME} is replaced.
	Substitute bool
	// Path values that are relative are taken from the file's folder. In a List of
	// source:target, those that begin with a dot.
	Path bool
}

// find is the key of a name or alias.
func find(keys []Key, name string) (*Key, bool) {
	for i := range keys {
		if keys[i].Name == name || slices.Contains(keys[i].Aliases, name) {
			return &keys[i], true
		}
	}
	return nil, false
}

// nearest is the key that somebody who wrote name may have meant.
func nearest(keys []Key, name string) (string, bool) {
	best, at := "", max(2, len(name)/3)+1
	for _, k := range keys {
		for _, candidate := range append([]string{k.Name}, k.Aliases...) {
			if d := distance(name, candidate, at); d < at {
				best, at = candidate, d
			}
		}
	}
	return best, best != ""
}

// distance is the number of letters to insert, drop or change; limit when it is
// not below that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 100 {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}
