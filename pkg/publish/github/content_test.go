package github

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/compare"
	"github.com/org/agentx-action/pkg/result/validity"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ptr[T any](v T) *T { return &v }

func readInto[T any](t *testing.T, path string) *T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	return v
}

func readComparison(t *testing.T, name string) *compare.Comparison {
	t.Helper()
	return readInto[compare.Comparison](t, filepath.Join("..", "table", "testdata", "comparison_"+name+".json"))
}

func readHead(t *testing.T) *result.Document {
	t.Helper()
	d := readInto[result.Document](t, filepath.Join("..", "..", "result", "testdata", "result.json.golden"))
	d.Validity = validity.Verdict{SubmissionValid: ptr(true), Trusted: true, SubmissionInvalidReasons: []string{}, Findings: []validity.Finding{
		{Code: validity.TokenDrift, Severity: validity.Note, Text: "The engine counts 0.1 % more tokens than planned."},
	}}
	return d
}

// regressed is a pull request that made things worse.
func regressed(t *testing.T) Content {
	t.Helper()
	return Content{
		Head: readHead(t), Comparison: readComparison(t, "regression"),
		Provenance: Provenance{
			SHA: "0123456789abcdef0123456789abcdef01234567", BaseSHA: "89abcdef0123456789abcdef0123456789abcdef",
			Image: "vllm/vllm-openai@sha256:1111111111111111111111111111111111111111111111111111111111111111", Runner: "h200-8",
			RunURL: "https://github.com/org/fork/actions/runs/77/attempts/1", ResultURL: "s3://bucket/v1/org/fork/cell",
			Reproduce: []string{"agentx", "run", "--model", "Qwen/Qwen3 Coder", "--concurrency", "32"},
		},
	}
}

// unchanged is one that changed nothing.
func unchanged(t *testing.T) Content {
	t.Helper()
	c := regressed(t)
	c.Comparison.Verdict, c.Comparison.Summary = compare.NoChange, "No gated figure moved."
	for _, list := range [][]compare.Finding{c.Comparison.Gated, c.Comparison.Described} {
		for i := range list {
			list[i].Verdict = compare.NoChange
		}
	}
	for i := range c.Comparison.Layers {
		c.Comparison.Layers[i].Moved = false
	}
	return c
}

func contents(t *testing.T) map[string]Content {
	t.Helper()
	invalid := unchanged(t)
	invalid.Head.Validity = validity.Verdict{
		SubmissionValid: ptr(false), SubmissionInvalidReasons: []string{validity.RunCancelled},
		Findings: []validity.Finding{
			{Code: validity.RunCancelled, Severity: validity.Invalid, Text: "The run ended before its time.", Detail: "user"},
			{Code: validity.ErrorRate, Severity: validity.Untrusted, Figure: ptr(0.12), Limit: ptr(0.1), Unit: "ratio", Text: "12 % of the requests failed."},
		},
	}
	alone := regressed(t)
	alone.AgainstFixed, alone.Comparison = alone.Comparison.HeadAgainstFixed, nil
	alone.NotCompared = "no run of main is stored for this cell"
	failing := alone
	failing.Head = readHead(t)
	failing.Head.Requests.Profiling.OK, failing.Head.Requests.Profiling.Errors = 138, 59
	failing.Head.Validity.Trusted = false
	failing.Head.Validity.Findings = []validity.Finding{{
		Code: validity.ErrorRate, Severity: validity.Untrusted, Figure: ptr(59.0 / 197), Limit: ptr(0.1), Unit: "ratio", Text: "30 % of the requests failed.",
	}}
	dead := regressed(t)
	dead.Comparison = nil
	dead.Head.Requests.Profiling.Errors += dead.Head.Requests.Profiling.OK
	dead.Head.Requests.Profiling.OK = 0
	dead.Head.Metrics = result.Metrics{}
	none := Content{Failed: "the engine died while it loaded the model: CUDA out of memory", Provenance: regressed(t).Provenance}
	refused := regressed(t)
	refused.Comparison = readComparison(t, "refused")
	unclear := regressed(t)
	unclear.Comparison = readComparison(t, "notenough")
	return map[string]Content{
		"regression": regressed(t), "nochange": unchanged(t), "invalid": invalid, "alone": alone, "manyfailed": failing, "allfailed": dead,
		"noresult": none, "refused": refused, "notenough": unclear, "hostile": hostile(t),
	}
}

// evil is text that tries everything.
const evil = "a|b @team #1 GH-2 <img src=x onerror=alert(1)> ![i](https://evil.example/p.png) [l](http://evil.example) `c` --> <!-- agentx:v1 -->\n::error::x\r\n</details>| x |\n\n# head\u202e\u200b\u2066 www.evil.example mail@evil.example $x$ \x1b[31m **b** org/repo#3 </sub></summary>"

// hostile is a result in which every text that can be set is set by an enemy.
func hostile(t *testing.T) Content {
	t.Helper()
	c := regressed(t)
	poison(reflect.ValueOf(&c).Elem())
	c.Comparison.Verdict = compare.Regression // the words that we choose by
	c.Comparison.Gated[0].Verdict = compare.Regression
	c.Head.Outcome.Error = ""
	c.Failed = ""
	c.Head.Validity.Findings[0].Severity = validity.Untrusted
	return c
}

func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
		if v.Len() == 0 && v.Type().Elem().Kind() == reflect.String && v.CanSet() {
			v.Set(reflect.Append(v, reflect.ValueOf(evil).Convert(v.Type().Elem())))
		}
	case reflect.Map:
		if v.IsNil() || v.Type().Elem().Kind() != reflect.String {
			return
		}
		v.SetMapIndex(reflect.ValueOf(evil).Convert(v.Type().Key()), reflect.ValueOf(evil).Convert(v.Type().Elem()))
	case reflect.String:
		v.SetString(evil)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}
