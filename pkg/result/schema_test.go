package result

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

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/schemas"
)

var update = flag.Bool("update", false, "write golden files and schemas")

// TestSchemas generates the schemas from the Go types and their comments, and
// fails when a committed one differs.
func TestSchemas(t *testing.T) {
	for name, v := range map[string]any{
		"result": &Document{}, "run": &Facts{}, "manifest": &Manifest{},
		"record": &record.Record{}, "tree": &record.Tree{}, "sample": &record.Sample{},
	} {
		file := name + ".schema.json"
		got := generate(t, name, v)
		if *update {
			if err := os.WriteFile(filepath.Join("..", "..", "schemas", file), got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := schemas.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("schemas/%s is out of date: go test ./pkg/result -run TestSchemas -update", file)
		}
	}
}

const module = "github.com/org/agentx-action/"

func generate(t *testing.T, name string, v any) []byte {
	t.Helper()
	r := &jsonschema.Reflector{
		BaseSchemaID: "https://" + module + "schemas",
		Mapper: func(typ reflect.Type) *jsonschema.Schema {
			if typ == reflect.TypeFor[time.Time]() {
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			}
			return nil
		},
		Namer: typeName,
		LookupComment: func(_ reflect.Type, field string) string {
			if q, ok := strings.CutPrefix(field, "P"); ok && strings.Trim(q, "0123456789") == "" && q != "" {
				return "Percentile " + q + "."
			}
			return ""
		},
	}
	// Comments are looked up by import path, so they are read from the top.
	t.Chdir(filepath.Join("..", ".."))
	if err := r.AddGoComments(strings.TrimSuffix(module, "/"), "pkg/result", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("pkg", "result"))
	for k, text := range r.CommentMap {
		r.CommentMap[k] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(v)
	for def, d := range s.Definitions {
		for p := d.Properties.Oldest(); p != nil && !strings.HasPrefix(def, "Record"); p = p.Next() {
			if p.Value.Description == "" && p.Value.Ref == "" {
				t.Errorf("%s: %s/%s has no description; give the Go field a comment with its unit", name, def, p.Key)
			}
		}
	}
	s.ID = jsonschema.ID("https://" + module + "schemas/" + name + ".schema.json")
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// typeName keeps types of one name in different packages apart.
func typeName(t reflect.Type) string {
	pkg := t.PkgPath()
	if pkg == "" || pkg == module+"pkg/result" {
		return t.Name()
	}
	p := filepath.Base(pkg)
	return strings.ToUpper(p[:1]) + p[1:] + t.Name()
}
