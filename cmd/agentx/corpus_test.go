package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/workload/corpus/hubtest"
)

// A corpus that does not come fails the run; one that must not be fetched is bad usage.
func TestExitCodesOfCorpora(t *testing.T) {
	const name = "semianalysis_cc_traces_weka_062126_256k"
	h := hubtest.Start(t, hubtest.Traces(1))
	h.Endpoint = func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	cache := t.TempDir()
	t.Setenv("AGENTX_CACHE", cache)
	t.Chdir(t.TempDir())
	for _, verb := range [][]string{{"run", "--public-dataset", name}, {"replay", "--url", "http://127.0.0.1:1", "--model", "m", "--public-dataset", name}, {"corpus", "fetch", name}} {
		_, errors, code := runMain(verb...)
		if code != exitFailed || !strings.Contains(errors, "set HF_TOKEN to a token") || !strings.Contains(errors, filepath.Join(cache, name, "traces.jsonl")) {
			t.Errorf("%v: %d, %s", verb, code, errors)
		}
		t.Setenv("HF_HUB_OFFLINE", "1")
		if _, errors, code := runMain(verb...); code != exitUsage || !strings.Contains(errors, "HF_HUB_OFFLINE is set") {
			t.Errorf("offline, %v: %d, %s", verb, code, errors)
		}
		t.Setenv("HF_HUB_OFFLINE", "")
	}
	if n := len(h.Seen()); n != 3 {
		t.Errorf("asked %d times", n)
	}
}
