package compare

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/result"
)

// Documents of every version that was ever written stay readable (docs/schemas.md).
// A folder here is never changed: a new version gets a new one.
func TestOldDocumentsStayReadable(t *testing.T) {
	versions, err := filepath.Glob("testdata/fixtures/*")
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	for _, dir := range versions {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			run := filepath.Join(dir, "run")
			if problems, err := result.Check(run); err != nil || len(problems) > 0 {
				t.Errorf("%v %v", err, problems)
			}
			r, err := Load(run)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Compare(one(r), one(r), Options{}); err != nil {
				t.Error(err)
			}
			if _, err := LoadFloor(filepath.Join(dir, "floor.json")); err != nil {
				t.Error(err)
			}
			for name, kind := range map[string]string{"run/result.json": result.KindResult, "run/run.json": result.KindFacts,
				"run/manifest.json": result.KindManifest, "comparison.json": Kind, "floor.json": FloorKind} {
				got, err := result.ValidateAny(read(t, filepath.Join(dir, name)))
				if err != nil || got != kind {
					t.Errorf("%s: %s, %v", name, got, err)
				}
			}
		})
	}
}

// A newer program of the same MAJOR may have added members; of another MAJOR nothing
// can be said.
func TestNewerDocuments(t *testing.T) {
	text := string(read(t, "testdata/fixtures/1.0/comparison.json"))
	with := func(version, member string) []byte {
		return []byte(strings.Replace(text, `"schema_version": "1.0"`, `"schema_version": "`+version+`"`+member, 1))
	}
	if string(with("1.0", "")) != text {
		t.Fatal("the fixture has no version where this test looks for it")
	}
	if _, err := Decode(with("1.7", `, "new_member": {"x": 1}`)); err != nil {
		t.Errorf("a newer MINOR with a new member: %v", err)
	}
	if _, err := Decode(with("1.0", `, "new_member": 1`)); err == nil {
		t.Error("an unknown member of our own version was taken")
	}
	var version *result.VersionError
	for _, v := range []string{"2.0", "0.9", "1", "x.y", "1.-1", ""} {
		if _, err := Decode(with(v, "")); !errors.As(err, &version) {
			t.Errorf("version %q: %v", v, err)
		}
	}
	broken := strings.Replace(string(with("1.7", "")), `"kind": "agentx.comparison"`, `"kind": "other"`, 1)
	if _, err := Decode([]byte(broken)); err == nil {
		t.Error("a wrong value of a newer MINOR was taken")
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
