package sim

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func TestDefaultIsValid(t *testing.T) {
	for name, cfg := range map[string]Config{"zero": {}, "default": Default()} {
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(Default(), Default().withDefaults()); diff != "" {
		t.Errorf("Default leaves something open:\n%s", diff)
	}
}

func TestConfigSurvivesJSON(t *testing.T) {
	cfg := Default()
	cfg.Seed, cfg.Faults.DropRate, cfg.APIKey = 7, 0.25, "secret"
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "secret") {
		t.Errorf("the key is in %s", text)
	}
	var back Config
	if err := json.Unmarshal(text, &back, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	back.APIKey = cfg.APIKey
	if diff := cmp.Diff(cfg, back); diff != "" {
		t.Error(diff)
	}
}

func TestCountersAreJSON(t *testing.T) {
	m, err := NewModel(Default())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m.Counters())
	if err != nil || !strings.Contains(string(text), `"busy_s":0`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestValidateNamesEverySetting(t *testing.T) {
	cfg := Config{MaxModelLen: -1, ContextOverflow: "grow", Metrics: "tgi", KeepAliveS: math.NaN()}
	cfg.Cost.StepBaseMs = math.Inf(1)
	cfg.Cache.DiskGB = -1
	cfg.Faults.DropRate = 1.5
	cfg.Faults.StallRate = math.NaN()
	cfg.Faults.ReasoningField = "thinking"
	err := cfg.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"max_model_len", "context_overflow", "metrics", "keep_alive_s", "step_base_ms", "disk_gb", "drop_rate", "stall_rate", "reasoning_field"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
	if _, err := New(cfg); err == nil {
		t.Error("New accepted it")
	}
	small := Config{MaxModelLen: 1000}
	small.Cache.GPUBlocks = 10
	if err := small.Validate(); err == nil || !strings.Contains(err.Error(), "gpu_blocks") {
		t.Errorf("a pool smaller than the context: %v", err)
	}
}

// TestRatesAreComplete: a rate that is missing from rates() would escape Validate.
func TestRatesAreComplete(t *testing.T) {
	var f Faults
	var all []string
	for _, r := range f.rates() {
		all = append(all, r.name)
		text := `{"` + r.name + `":2}`
		var struck Faults
		if err := json.Unmarshal([]byte(text), &struck, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s is no field: %v", r.name, err)
		}
		if len(struck.withDefaults().validate()) != 1 {
			t.Errorf("%s of 2 is accepted", r.name)
		}
	}
	fields := 0
	for i := range reflect.TypeFor[Faults]().NumField() {
		if strings.HasSuffix(reflect.TypeFor[Faults]().Field(i).Name, "Rate") {
			fields++
		}
	}
	if len(all) != fields {
		t.Errorf("rates() lists %d of %d fields", len(all), fields)
	}
}

func TestDescribe(t *testing.T) {
	text := Default().Describe()
	if n := strings.Count(text, "\n"); n != 10 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for _, want := range []string{"52900", "32.4", "3.3", "262144"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
