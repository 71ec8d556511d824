package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/org/agentx-action/pkg/config"
)

var update = flag.Bool("update", false, "write schemas/agentx.schema.json and the table of docs/configuration.md")

const schemaFile = "../../schemas/agentx.schema.json"

// runKeys are the keys of agentx.yaml.
func runKeys(t testing.TB) []config.Key {
	t.Helper()
	parser, err := kong.New(&grammar{}, kong.Vars{"version": "test", "sampleSeed": "1"})
	if err != nil {
		t.Fatal(err)
	}
	return keys(commandNode(parser.Model, "run"))
}

// The schema and the page come out of the flags, so that none of them can drift.
func TestGenerated(t *testing.T) {
	list := runKeys(t)
	for file, want := range map[string][]byte{schemaFile: schemaOf(t, list), "../../docs/configuration.md": tableOf(t, list)} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date: go test ./cmd/agentx -run TestGenerated -update\n%s", file, diff)
		}
	}
}

func schemaOf(t *testing.T, list []config.Key) []byte {
	t.Helper()
	s := &jsonschema.Schema{
		Version: jsonschema.Version, ID: "https://github.com/org/agentx-action/schemas/agentx.schema.json",
		Title: "agentx.yaml", Description: "The configuration of agentx run: its keys are the long flags.",
		Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
	}
	for _, k := range list {
		p := schemaOfKey(k)
		s.Properties.Set(k.Name, p)
		for _, alias := range k.Aliases {
			same := *p
			same.Description = "The same as " + k.Name + ". " + p.Description
			s.Properties.Set(alias, &same)
		}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func schemaOfKey(k config.Key) *jsonschema.Schema {
	s := ofKind(k.Kind, k)
	switch k.Kind {
	case config.List:
		item := ofKind(k.Items, k)
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{item, {Type: "array", Items: item}}}
	case config.Map:
		s = &jsonschema.Schema{Type: "object", AdditionalProperties: oneType("string", "number", "boolean"), PropertyNames: &jsonschema.Schema{Pattern: "^[^=]+$"}}
	}
	s.Title, s.Description = k.Group, k.Help
	if k.Substitute {
		s.Description += " ${NAME} is replaced by a variable of the environment."
	}
	s.Default = defaultOf(k)
	return s
}

func ofKind(kind config.Kind, k config.Key) *jsonschema.Schema {
	switch {
	case kind == config.Whole:
		return &jsonschema.Schema{Type: "integer"}
	case kind == config.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case kind == config.Number && k.Infinite:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Enum: []any{"inf"}}}}
	case kind == config.Number:
		return &jsonschema.Schema{Type: "number"}
	case len(k.Enum) > 0:
		s := &jsonschema.Schema{Type: "string"}
		for _, e := range k.Enum {
			s.Enum = append(s.Enum, e)
		}
		return s
	}
	return oneType("string", "number") // a word may look like a number
}

func oneType(names ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, n := range names {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: n})
	}
	return s
}

func defaultOf(k config.Key) any {
	if k.Default == "" {
		return nil
	}
	switch k.Kind {
	case config.Whole, config.Number:
		if v, err := strconv.ParseFloat(k.Default, 64); err == nil {
			return v
		}
	case config.Bool:
		return k.Default == "true"
	}
	return k.Default
}

const tableMark = "<!-- The table below is made by go generate ./cmd/agentx. -->\n"

func tableOf(t *testing.T, list []config.Key) []byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(page), tableMark)
	if !ok {
		t.Fatalf("docs/configuration.md has no line %q", tableMark)
	}
	var b strings.Builder
	b.WriteString(head + tableMark)
	group := ""
	for _, k := range list {
		if k.Group != group {
			group = k.Group
			fmt.Fprintf(&b, "\n### %s\n\n| key | takes | default | what it does |\n|---|---|---|---|\n", group)
		}
		name := "`" + k.Name + "`"
		for _, a := range k.Aliases {
			name += ", `" + a + "`"
		}
		takes := string(k.Kind)
		if k.Kind == config.List {
			takes = "list of " + string(k.Items) + "s"
		}
		if len(k.Enum) > 0 {
			takes = "`" + strings.Join(k.Enum, "`, `") + "`"
		}
		if k.Infinite {
			takes += ", or inf"
		}
		if k.Substitute {
			takes += ", `${…}`"
		}
		value := ""
		if k.Default != "" {
			value = "`" + k.Default + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, takes, value, strings.ReplaceAll(k.Help, "|", "\\|"))
	}
	return []byte(b.String())
}

// Every key says what it is for, and its default is a value that it takes.
func TestKeysAreSound(t *testing.T) {
	list := runKeys(t)
	seen := map[string]bool{}
	for _, k := range list {
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if k.Help == "" || k.Group == "" || k.Kind == "" || k.Kind == config.List && k.Items == "" {
			t.Errorf("%s: help %q, group %q, kind %q of %q", k.Name, k.Help, k.Group, k.Kind, k.Items)
		}
		if k.Default == "" {
			continue
		}
		var b strings.Builder
		if err := config.Write(&b, []config.Entry{{Key: k, Text: []string{k.Default}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Read("f", []byte(b.String()), list, nil); err != nil {
			t.Errorf("%s: its default is refused: %v", k.Name, err)
		}
	}
	for _, name := range []string{"config", "dry-run", "help", "version", "request-rate", "tokenizer"} {
		if seen[name] {
			t.Errorf("%s is a key", name)
		}
	}
	for _, name := range []string{"api-key", "header"} {
		for _, k := range list {
			if k.Name == name && !k.Secret {
				t.Errorf("%s is no secret", name)
			}
		}
	}
}

// compiled is the schema as an editor reads it.
func compiled(t testing.TB) *validator.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("agentx.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("agentx.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bySchema is what the schema says of a file.
func bySchema(t testing.TB, s *validator.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Load([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if v == nil {
		v = map[string]any{}
	}
	return s.Validate(v)
}

// The schema and the reader are of one mind.
func TestSchemaAgreesWithReader(t *testing.T) {
	list, s := runKeys(t), compiled(t)
	for text, taken := range map[string]bool{
		"concurrency: 8": true, "concurrency: [1, 2]": true, "concurrency: many": false, "concurrency: 1.5": false, "concurrency: {a: 1}": false,
		"model: m": true, "model-names: [m]": true, "modell: m": false, "driver: docker": true, "driver: rocket": false, "cache-reset: false": true, "cache-reset: 1": false,
		"benchmark-duration: 60": true, "benchmark-duration: long": false, "benchmark-grace-period: inf": true, "trace-idle-gap-cap-seconds: 1.5": true,
		"engine-env: {A: 1, B: x, C: true}": true, "engine-env: [A=1]": false, "engine-env: {A: [1]}": false, "engine-env: {A: }": false,
		"gpus: 2": true, "gpus: all": true, "gpus: true": false, "scenario:": false, "args: [--a=b, '!--c']": true, "args: [[a]]": false, "kv-offload: hicache": true, "kv-offload: disk": false,
		"config: x": false, "{}": true,
	} {
		_, err := config.Read("f", []byte(text), list, nil)
		if (err == nil) != taken {
			t.Errorf("%s: the reader says %v", text, err)
		}
		if err := bySchema(t, s, text); (err == nil) != taken {
			t.Errorf("%s: the schema says %v", text, err)
		}
	}
	if filepath.Base(schemaFile) != "agentx.schema.json" {
		t.Error("the name is in the docs")
	}
}
