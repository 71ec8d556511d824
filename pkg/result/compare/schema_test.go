package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/org/agentx-action/schemas"
)

var update = flag.Bool("update", false, "write the schemas")

const module = "github.com/org/agentx-action/"

// TestSchemas generates the schemas from the Go types and their comments, and
// fails when a committed one differs.
func TestSchemas(t *testing.T) {
	for name, v := range map[string]any{"comparison": &Comparison{}, "floor": &Floor{}} {
		file := name + ".schema.json"
		got := generate(t, name, v)
		if *update {
			if err := os.WriteFile(filepath.Join("..", "..", "..", "schemas", file), got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := schemas.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("schemas/%s is out of date: go test ./pkg/result/compare -run TestSchemas -update", file)
		}
	}
}

func generate(t *testing.T, name string, v any) []byte {
	t.Helper()
	r := &jsonschema.Reflector{
		BaseSchemaID: "https://" + module + "schemas",
		Mapper: func(typ reflect.Type) *jsonschema.Schema {
			switch typ {
			case reflect.TypeFor[time.Time]():
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			case reflect.TypeFor[Verdict]():
				return &jsonschema.Schema{Type: "string", Enum: []any{Regression, Improvement, NoChange, NotEnough, Changed, Refused, NotJudged}}
			case reflect.TypeFor[Direction]():
				return &jsonschema.Schema{Type: "string", Enum: []any{LowerIsBetter, HigherIsBetter, ""}}
			}
			return nil
		},
	}
	// Comments are looked up by import path, so they are read from the top.
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("..", "..", ".."))
	if err := r.AddGoComments(strings.TrimSuffix(module, "/"), "pkg/result", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	t.Chdir(back)
	for k, text := range r.CommentMap {
		r.CommentMap[k] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(v)
	s.ID = jsonschema.ID("https://" + module + "schemas/" + name + ".schema.json")
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
