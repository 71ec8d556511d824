package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxBytes bounds a file.
const MaxBytes = 1 << 20

// File is what a file says.
type File struct {
	Name   string
	values map[string]Value
}

// Value is what it says about one key.
type Value struct {
	Key  Key
	Text []string // one for a scalar; of a map NAME=VALUE, in order of the file
	// Raw is Text before ${…} was replaced.
	Raw  []string
	Line int
}

// Substituted reports whether a variable stands in the value.
func (v Value) Substituted() bool {
	return v.Key.Substitute && slices.ContainsFunc(v.Raw, variable.MatchString)
}

// Lookup is the value of a key, by its name.
func (f *File) Lookup(name string) (Value, bool) {
	if f == nil {
		return Value{}, false
	}
	v, ok := f.values[name]
	return v, ok
}

// Read reads a file. lookup finds variables of the environment; nil finds none.
func Read(name string, text []byte, keys []Key, lookup func(string) (string, bool)) (*File, error) {
	r := &reader{file: name, lookup: lookup}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, MaxBytes)
	}
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, values: map[string]Value{}}
	if root == nil {
		return f, nil
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		r.entry(f, root.Content[i], root.Content[i+1], keys)
	}
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return f, nil
}

type reader struct {
	file   string
	lookup func(string) (string, bool)
	errs   []error
}

func (r *reader) refuse(n *yaml.Node, format string, a ...any) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, fmt.Errorf("%s:%d:%d: %s", r.file, n.Line, n.Column, fmt.Sprintf(format, a...)))
	}
}

// maxErrors bounds what a hostile file can make us say.
const maxErrors = 50

// parse is the file's mapping; nil when it says nothing.
func (r *reader) parse(text []byte) (*yaml.Node, error) {
	var docs []yaml.Node
	if err := yaml.Load(text, &docs, yaml.WithAllDocuments(), yaml.WithUniqueKeys(false)); err != nil {
		return nil, r.place(err)
	}
	if len(docs) == 0 {
		return nil, nil
	}
	root := &docs[0]
	if root.Kind == yaml.DocumentNode && len(root.Content) > 0 {
		root = root.Content[0]
	}
	switch {
	case len(docs) > 1:
		return nil, fmt.Errorf("%s:%d: a second document; one file is one configuration", r.file, docs[1].Line)
	case root.Kind == 0, root.Kind == yaml.DocumentNode, root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("%s:%d:%d: want keys and values, as `concurrency: 8`", r.file, root.Line, root.Column)
	}
	return root, r.plain(root)
}

// place is an error of the parser, written as ours are.
func (r *reader) place(err error) error {
	var at *yaml.LoadError
	if errors.As(err, &at) && at.Mark.Line > 0 {
		return fmt.Errorf("%s:%d:%d: no YAML: %s", r.file, at.Mark.Line, at.Mark.Column, clip(at.Message))
	}
	return fmt.Errorf("%s: no YAML: %w", r.file, err)
}

// plain refuses what makes a node stand for more than what is written there.
func (r *reader) plain(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("%s:%d:%d: anchors and aliases are not taken; write the value out", r.file, n.Line, n.Column)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("%s:%d:%d: the tag %s is not taken", r.file, n.Line, n.Column, n.Tag)
	}
	for _, c := range n.Content { // the parser bounds the depth
		if err := r.plain(c); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) entry(f *File, name, value *yaml.Node, keys []Key) {
	key, ok := find(keys, name.Value)
	if !ok || name.Kind != yaml.ScalarNode {
		hint := ""
		if near, ok := nearest(keys, name.Value); ok {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		r.refuse(name, "unknown key %q%s", clip(name.Value), hint)
		return
	}
	if earlier, twice := f.values[key.Name]; twice {
		r.refuse(name, "%s is on line %d already", key.Name, earlier.Line)
		return
	}
	v := Value{Key: *key, Line: name.Line}
	before := len(r.errs)
	switch {
	case key.Kind == Map:
		r.mapping(&v, value)
	case key.Kind == List && value.Kind == yaml.SequenceNode:
		for _, item := range value.Content {
			r.scalar(&v, key.Items, item, "an item of "+key.Name)
		}
	case key.Kind == List:
		r.scalar(&v, key.Items, value, key.Name)
	default:
		r.scalar(&v, key.Kind, value, key.Name)
	}
	if len(r.errs) == before {
		f.values[key.Name] = v
	}
}

func (r *reader) mapping(v *Value, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.refuse(n, "%s: want names and values, as\n  %s:\n    NAME: value", v.Key.Name, v.Key.Name)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		switch {
		case name.Kind != yaml.ScalarNode || name.Value == "" || strings.ContainsAny(name.Value, "=\x00"):
			r.refuse(name, "%s: %q is no name", v.Key.Name, clip(name.Value))
			continue
		case seen[name.Value]:
			r.refuse(name, "%s: %s is there already", v.Key.Name, clip(name.Value))
			continue
		}
		seen[name.Value] = true
		had := len(v.Text)
		r.scalar(v, String, value, v.Key.Name+"."+name.Value)
		if len(v.Text) > had {
			v.Text[had] = name.Value + "=" + v.Text[had]
			v.Raw[had] = name.Value + "=" + v.Raw[had]
		}
	}
}

// scalar takes one value, checked against its kind.
func (r *reader) scalar(v *Value, kind Kind, n *yaml.Node, what string) {
	if n.Kind != yaml.ScalarNode {
		r.refuse(n, "%s: want a %s, not a %s", what, kind, shape(n))
		return
	}
	raw := n.Value
	switch kind {
	case Whole:
		if n.Tag != "!!int" || !decimal(raw) {
			r.refuse(n, "%s: %q is no whole number", what, clip(raw))
			return
		}
	case Number:
		text, ok := number(n, v.Key.Infinite)
		if !ok {
			r.refuse(n, "%s: %q is no number", what, clip(raw))
			return
		}
		raw = text
	case Bool:
		if n.Tag != "!!bool" {
			r.refuse(n, "%s: %q is neither true nor false", what, clip(raw))
			return
		}
		raw = strings.ToLower(raw)
	default:
		if n.Tag == "!!null" {
			r.refuse(n, "%s: has no value; leave the key out", what)
			return
		}
		if n.Tag == "!!bool" && v.Key.Kind != Map {
			r.refuse(n, "%s: want a word; quote %q if you mean it", what, clip(raw))
			return
		}
	}
	text, ok := r.substitute(n, v.Key, raw, what)
	if !ok {
		return
	}
	if len(v.Key.Enum) > 0 && !slices.Contains(v.Key.Enum, text) {
		r.refuse(n, "%s: %q is not one of %s", what, clip(text), strings.Join(v.Key.Enum, ", "))
		return
	}
	v.Text = append(v.Text, r.below(v.Key, text))
	v.Raw = append(v.Raw, r.below(v.Key, raw))
}

// shape names what a node is to a reader.
func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "list"
	case yaml.MappingNode:
		return "map"
	}
	return "value"
}

// decimal tells 12 from 0x0c, 0o14 and 1_2, which a flag would read otherwise.
func decimal(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	_, errU := strconv.ParseUint(text, 10, 64)
	plain := strings.TrimPrefix(text, "-")
	return (err == nil || errU == nil) && (plain == "0" || !strings.HasPrefix(plain, "0")) && !strings.HasPrefix(text, "+")
}

func number(n *yaml.Node, infinite bool) (string, bool) {
	if infinite && slices.Contains([]string{"inf", ".inf", "Inf", ".Inf"}, n.Value) {
		return "inf", true
	}
	if n.Tag != "!!int" && n.Tag != "!!float" || strings.ContainsAny(n.Value, "xXoO_") {
		return "", false
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	return n.Value, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// clip bounds what an error repeats.
func clip(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}
