package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPublicNames(t *testing.T) {
	allowed := 0
	for _, s := range PublicSets() {
		if s.Allowed {
			allowed++
		}
		for _, name := range []string{s.Name, strings.ReplaceAll(s.Name, "_", "-"), strings.ReplaceAll(strings.ReplaceAll(s.Name, "_", "-"), "256k", "256-k")} {
			if got, err := Public(name); err != nil || got != s {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		if got, err := Public(s.Dataset); err != nil || got.Dataset != s.Dataset || got.Rolling {
			t.Errorf("%s: %+v, %v", s.Dataset, got, err)
		}
	}
	if allowed != 14 { // spec/replay.md §6.1
		t.Errorf("%d sets are allowed, want 14", allowed)
	}
	if s, err := Public("semianalysis-cc-traces-weka-062126-256-k"); err != nil || s.Dataset != "semianalysisai/cc-traces-weka-062126-256k" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Public("sharegpt"); err == nil || !strings.Contains(err.Error(), "semianalysis_cc_traces_weka_062126,") {
		t.Errorf("unknown name: %v", err)
	}
}

func TestPublicOpensFromCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("AGENTX_CACHE", cache)
	set, err := Public("semianalysis_cc_traces_weka_062126")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(cache, set.Name, "traces.jsonl")
	t.Setenv("HF_HUB_OFFLINE", "1")
	_, err = set.Open(t.Context(), Options{}, Fetching{})
	for _, part := range []string{set.Name, file, "https://huggingface.co/datasets/semianalysisai/cc-traces-weka-062126 ", "AGENTX_CACHE"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(one("a")+"\n"+one("b")), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := set.Open(t.Context(), Options{Entries: 1}, Fetching{})
	if err != nil || c.Name != set.Name || len(c.Traces) != 1 || c.Revision != "" {
		t.Errorf("%+v, %v", c, err)
	}
}
