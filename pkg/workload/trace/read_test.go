package trace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, content string) *Trace { return readAs(t, content, BasisAuto) }

func readAs(t *testing.T, content string, basis Basis) *Trace {
	t.Helper()
	d := NewReader(strings.NewReader(content), "f.json")
	d.Basis = basis
	tr, err := d.Next()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func notes(tr *Trace) map[NoteCode]int {
	counts := map[NoteCode]int{}
	for _, n := range tr.Notes {
		counts[n.Code] += n.Count
	}
	return counts
}

// The older family: a completed marker's time is its end, inner times count from the start.
func TestReadOlderFamily(t *testing.T) {
	tr := read(t, smallTrace)
	main, sub := tr.Entries[0].Request, tr.Entries[1].Subagent
	wantMain := &Request{
		Streamed: true, Model: "m", In: 192, Out: 4, Path: main.Path, Whole: 3, InputTypes: []string{"text"}, OutputTypes: []string{"tool_use"},
		Stop: "tool_use", APITimeS: Some(2.25), ThinkTimeS: Some(0), TTFTS: Some(0.1),
	}
	wantSub := &Subagent{
		StartS: 2.5, EndS: 9.5, Relative: true, AgentID: "agent_001", Type: "Explore", Status: "completed", DurationMs: Some(7000),
		Models: []string{"k"}, ToolTokens: 1, Requests: []*Request{{StartS: 2.5, Model: "k", In: 70, Out: 1, Path: sub.Requests[0].Path, Whole: 1}},
	}
	if diff := cmp.Diff(wantMain, main) + cmp.Diff(wantSub, sub); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{1, 2, 3}, tr.Blocks.IDs(nil, main.Path)); diff != "" {
		t.Error(diff)
	}
	if tr.ToolTokens != 20 || tr.SystemTokens != 10 || tr.BlockSize != 64 || tr.ResolutionS != 1 || !tr.TotalsAgree() || tr.Totals == nil {
		t.Errorf("%+v", tr)
	}
	if diff := cmp.Diff(map[NoteCode]int{NoteAPITimeMissing: 1}, notes(tr)); diff != "" {
		t.Error(diff)
	}
}

// The newer family: the worked example of spec/traces.md §10.4.
func TestReadNewerFamily(t *testing.T) {
	tr := read(t, convertedExample)
	var starts, ends []float64
	for r := range tr.All {
		starts, ends = append(starts, r.StartS), append(ends, r.EndS())
	}
	if !slices.Equal(starts, []float64{0, 3, 6, 3.5, 8, 9.5}) || !slices.Equal(ends, []float64{2, 5, 7, 4.5, 9, 9.8}) {
		t.Errorf("starts %v, ends %v", starts, ends)
	}
	a, b := tr.Entries[1].Subagent, tr.Entries[2].Subagent
	if a.StartS != 3 || a.EndS != 7 || a.Relative || b.StartS != 3.5 || b.EndS != 4.5 || b.Background {
		t.Errorf("%+v %+v", a, b)
	}
	if tr.ResolutionS != 1e-6 || tr.Blocks.Distinct() != 9 || len(tr.Notes) != 0 || tr.Totals != nil || !tr.TotalsAgree() {
		t.Errorf("%+v", tr)
	}
	readsBack(t, tr)
}

func TestMarkerClock(t *testing.T) {
	inner := func(t0, t1 string) string {
		return `{"t":` + t0 + `,"type":"n","model":"m","in":10,"out":1,"api_time":2},{"t":` + t1 + `,"type":"n","model":"m","in":10,"out":1,"api_time":3}`
	}
	for _, tt := range []struct {
		name       string
		json       string
		basis      Basis
		start, end float64
		inner      [2]float64
		relative   bool
		background bool
	}{
		{"completed, relative", `{"t":100,"status":"completed","duration_ms":30000,"requests":[` + inner("0", "10") + `]}`, "", 70, 100, [2]float64{70, 80}, true, false},
		{"completed, absolute", `{"t":100,"status":"completed","duration_ms":30000,"requests":[` + inner("100", "110") + `]}`, "", 100, 130, [2]float64{100, 110}, false, false},
		{"first inner later than the marker", `{"t":100,"status":"completed","duration_ms":30000,"requests":[` + inner("101", "110") + `]}`, "", 100, 130, [2]float64{101, 110}, false, false},
		{"rounded below the marker", `{"t":100,"status":"completed","duration_ms":30000,"requests":[` + inner("99.9999995", "110") + `]}`, "", 100, 130, [2]float64{100, 110}, false, false},
		{"background", `{"t":100,"status":"async_launched","duration_ms":null,"requests":[` + inner("0", "10") + `]}`, "", 100, 113, [2]float64{100, 110}, true, true},
		{"background with a duration", `{"t":100,"status":"async_launched","duration_ms":30000,"requests":[` + inner("0", "10") + `]}`, "", 100, 130, [2]float64{100, 110}, true, true},
		{"completed without a duration", `{"t":100,"status":"completed","requests":[` + inner("0", "10") + `]}`, "", 100, 113, [2]float64{100, 110}, true, false},
		{"longer than the session", `{"t":20,"status":"completed","duration_ms":30000,"requests":[` + inner("0", "10") + `]}`, "", 0, 30, [2]float64{0, 10}, true, false},
		{"forced relative", `{"t":100,"status":"completed","duration_ms":30000,"requests":[` + inner("100", "110") + `]}`, BasisRelative, 70, 100, [2]float64{170, 180}, true, false},
		{"forced absolute", `{"t":0,"status":"completed","duration_ms":30000,"requests":[` + inner("0", "10") + `]}`, BasisAbsolute, 0, 30, [2]float64{0, 10}, false, false},
	} {
		tr := readAs(t, with(good+`,{"type":"subagent","agent_id":"a","subagent_type":"Plan",`+tt.json[1:]), tt.basis)
		s := tr.Entries[1].Subagent
		got := [2]float64{s.Requests[0].StartS, s.Requests[1].StartS}
		if s.StartS != tt.start || s.EndS != tt.end || got != tt.inner || s.Relative != tt.relative || s.Background != tt.background {
			t.Errorf("%s: %g to %g, inner %v, relative %v, background %v", tt.name, s.StartS, s.EndS, got, s.Relative, s.Background)
		}
	}
	d := NewReader(strings.NewReader(with(good+","+marker("", inner("0", "10")))), "f.json")
	d.Basis = BasisAbsolute
	if _, err := d.Next(); err == nil || !strings.Contains(err.Error(), "requests[1].requests[0].t: 0 s is before the start of its subagent at 5 s") {
		t.Errorf("absolute times before the marker: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write(smallTrace + "\n")
	tr, err := ReadFile(path, "")
	if err != nil || tr.ID != "s" || tr.File != path {
		t.Errorf("%+v, %v", tr, err)
	}
	for content, want := range map[string]string{
		"":                      "the file is empty",
		"\n\n":                  "the file is empty",
		smallTrace + smallTrace: "something follows the trace",
		smallTrace + "}":        "something follows the trace: ",
		"7":                     "not a trace",
	} {
		if tr, err := ReadFile(write(content), ""); tr != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.9q…: %v", content, err)
		}
	}
	if _, err := ReadFile(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "the file cannot be read") {
		t.Errorf("a folder: %v", err)
	}
}

// Opaque or broken totals are no reason to refuse a trace.
func TestTotals(t *testing.T) {
	for totals, agree := range map[string]bool{
		`null`: true, `7`: true, `{"parent_tokens":{"input":"x"}}`: true, `{"parent_tokens":{"input":1}}`: false,
		`{"parent_tokens":{"input":130,"output":5},"combined_tokens":{"input":130,"output":5},"subagent_count":0}`: true,
	} {
		tr := read(t, strings.Replace(with(good), `"requests"`, `"totals":`+totals+`,"requests"`, 1))
		if tr.TotalsAgree() != agree {
			t.Errorf("%s: agree %v", totals, tr.TotalsAgree())
		}
	}
}
