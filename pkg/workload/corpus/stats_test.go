package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"

	"github.com/go-json-experiment/json"
)

// Every figure of the independent oracle is there under its name, and no other.
func TestStatsOracle(t *testing.T) {
	folder := tracetest.Folder(t)
	c, err := Open([]string{folder}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	raw, err := json.Marshal(c.Stats())
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	raw, err = os.ReadFile(filepath.Join(folder, "oracle.json"))
	if err == nil {
		err = json.Unmarshal(raw, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "oracle_version")
	delete(want, "sub_base")
	if n := compare(t, "", got, want); n < 900 {
		t.Errorf("only %d figures compared", n)
	}
}

// compare reports every difference between two JSON values and returns how many
// leaves it looked at.
func compare(t *testing.T, at string, got, want any) int {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		n := 0
		for name := range want {
			if _, ok := got[name]; !ok {
				t.Errorf("%s.%s is missing", at, name)
				continue
			}
			n += compare(t, at+"."+name, got[name], want[name])
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("%s.%s is not in the oracle", at, name)
			}
		}
		return n
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			t.Errorf("%s has %d elements, want %d", at, len(got), len(want))
			return 0
		}
		n := 0
		for i := range want {
			n += compare(t, fmt.Sprintf("%s[%d]", at, i), got[i], want[i])
		}
		return n
	default:
		if got != want {
			t.Errorf("%s = %v, want %v", at, got, want)
		}
		return 1
	}
}

func TestPeakInFlightIgnoresTouching(t *testing.T) {
	c := mustOpen(t, Options{}, traceJSON("a",
		request{t: 0, in: 64, api: 1}, request{t: 1, in: 64, api: 2}, request{t: 2, in: 64}, request{t: 2.5, in: 64, api: 2}, request{t: 3, in: 64, api: 2}))
	if got := c.Stats().Traces[0].PeakInFlight; got != 2 {
		t.Errorf("peak %d, want 2", got)
	}
	if !slices.Equal(c.Stats().Total.Models, []string{"m"}) {
		t.Errorf("models %v", c.Stats().Total.Models)
	}
}
