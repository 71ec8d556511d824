package result

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	jsonschemakind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/org/agentx-action/schemas"
)

// Validate holds the text of a result.json against schemas/result.schema.json.
// The error names every failing place by its JSON pointer.
func Validate(doc []byte) error { return validate("result.schema.json", doc) }

// ValidateFacts holds the text of a run.json against schemas/run.schema.json.
func ValidateFacts(doc []byte) error { return validate("run.schema.json", doc) }

// ValidateComparison holds the text of a comparison.json against schemas/comparison.schema.json.
func ValidateComparison(doc []byte) error { return validate("comparison.schema.json", doc) }

// ValidateFloor holds the text of a noise floor against schemas/floor.schema.json.
func ValidateFloor(doc []byte) error { return validate("floor.schema.json", doc) }

func validateManifest(doc []byte) error { return validate("manifest.schema.json", doc) }

// SchemaError lists the places where a document breaks its schema.
type SchemaError struct {
	Schema string
	Faults []SchemaFault
}

// SchemaFault is one place.
type SchemaFault struct {
	Pointer string // JSON pointer; empty for the whole document
	Text    string
}

// maxFaults bounds the list in an error's text.
const maxFaults = 20

func (e *SchemaError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "breaks %s:", e.Schema)
	for i, f := range e.Faults {
		if i == maxFaults {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Faults)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s: %s", cmp.Or(f.Pointer, "/"), f.Text)
	}
	return b.String()
}

var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	out := map[string]*jsonschema.Schema{}
	names := schemas.Names()
	for _, name := range names {
		text, err := schemas.FS.ReadFile(name)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := c.AddResource(name, doc); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range names {
		s, err := c.Compile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = s
	}
	return out, nil
})

func validate(name string, doc []byte) error {
	v, err := parse(doc)
	if err != nil {
		return err
	}
	return hold(name, v)
}

// parse reads a document of bounded size as the schemas take it.
func parse(doc []byte) (any, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("larger than %d bytes", maxDocument)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return v, nil
}

// hold holds a document that was parsed against a schema.
func hold(name string, v any) error {
	all, err := compiled()
	if err != nil {
		return err
	}
	schema, ok := all[name]
	if !ok {
		return fmt.Errorf("no schema is called %s", name)
	}
	more, err := moreMembers(name, v)
	if err != nil {
		return err
	}
	err = schema.Validate(v)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	e := &SchemaError{Schema: name}
	collect(invalid, e, more)
	if len(e.Faults) == 0 {
		return nil
	}
	slices.SortStableFunc(e.Faults, func(a, b SchemaFault) int { return strings.Compare(a.Pointer, b.Pointer) })
	return e
}

// moreMembers tells whether a document was written by a newer program, which may
// have added to it.
func moreMembers(schema string, doc any) (bool, error) {
	top, _ := doc.(map[string]any)
	version, isText := top["schema_version"].(string)
	for _, k := range kinds {
		if k.schema == schema && isText {
			return newer(version, k.version)
		}
	}
	return false, nil
}

// ValidateAny holds a document against the schema of its kind, which it says itself.
func ValidateAny(doc []byte) (kindName string, err error) {
	v, err := parse(doc)
	if err != nil {
		return "", err
	}
	top, _ := v.(map[string]any)
	name, _ := top["kind"].(string)
	k, known := kinds[name]
	if !known {
		return "", fmt.Errorf("its kind is %q, no document of ours; those are %s", name, strings.Join(Kinds(), ", "))
	}
	return name, hold(k.schema, v)
}

// collect walks to the causes that have no further cause. Of a newer document,
// members that this program does not know are no fault.
func collect(v *jsonschema.ValidationError, into *SchemaError, more bool) {
	for _, c := range v.Causes {
		collect(c, into, more)
	}
	if len(v.Causes) > 0 {
		return
	}
	if _, unknown := v.ErrorKind.(*jsonschemakind.AdditionalProperties); unknown && more {
		return
	}
	var pointer strings.Builder
	for _, token := range v.InstanceLocation {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	text := v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	into.Faults = append(into.Faults, SchemaFault{pointer.String(), text})
}
