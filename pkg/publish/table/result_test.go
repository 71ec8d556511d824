package table

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/summary"
	"github.com/org/agentx-action/pkg/result/validity"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	twwidth.SetEastAsian(false) // not as the machine's locale says
	flag.Parse()
	os.Exit(m.Run())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
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

func show(t *testing.T, d *result.Document, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := Result(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestResultGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		doc  *result.Document
		opt  Options
	}{
		{"full.txt", fullDocument(), Options{HTTP: true}},
		{"full.md", fullDocument(), Options{HTTP: true, Markdown: true}},
		{"fixedrun.txt", fixedDocument(), Options{}},
		{"fixedrun.md", fixedDocument(), Options{Markdown: true}},
		{"empty.txt", &result.Document{}, Options{HTTP: true}},
		{"empty.md", &result.Document{}, Options{HTTP: true, Markdown: true}},
		{"color.txt", fullDocument(), Options{Color: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := show(t, c.doc, c.opt)
			golden(t, c.name, got)
			harmless(t, got, c.opt.Color)
			if c.opt.Markdown {
				tablesAgree(t, got)
				return
			}
			for i, line := range strings.Split(got, "\n") {
				if w := twwidth.Width(line); w > lineWidth {
					t.Errorf("line %d is %d columns wide: %s", i+1, w, line)
				}
			}
		})
	}
}

// harmless fails on everything that could do something to a terminal.
func harmless(t *testing.T, text string, colour bool) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		for _, r := range line {
			if r == 0x1b && colour || r == '\u2060' {
				continue
			}
			if unicode.In(r, unicode.C) {
				t.Errorf("%U in %q", r, line)
			}
		}
	}
}

// split cuts a Markdown row at the pipes that aren't escaped.
func split(row string) []string {
	var cells []string
	var cell strings.Builder
	for i := 0; i < len(row); i++ {
		switch {
		case row[i] == '\\' && i+1 < len(row):
			cell.WriteString(row[i : i+2])
			i++
		case row[i] == '|':
			cells = append(cells, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(row[i])
		}
	}
	return append(cells, strings.TrimSpace(cell.String()))
}

// tablesAgree parses the tables back: every row of a table has as many cells.
func tablesAgree(t *testing.T, text string) (rows [][]string) {
	t.Helper()
	return atLeastTables(t, text, 5)
}

func atLeastTables(t *testing.T, text string, least int) (rows [][]string) {
	t.Helper()
	columns, tables := 0, 0
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		cells := split(line)
		if columns == 0 {
			columns = len(cells)
			tables++
		}
		if len(cells) != columns || cells[0] != "" || cells[len(cells)-1] != "" {
			t.Errorf("%d cells instead of %d: %s", len(cells), columns, line)
		}
		rows = append(rows, cells)
	}
	if tables < least {
		t.Errorf("found %d tables", tables)
	}
	return rows
}

// TestMarkdownKeepsWords finds a hostile message whole in its own cell.
func TestMarkdownKeepsWords(t *testing.T) {
	rows := tablesAgree(t, show(t, fullDocument(), Options{Markdown: true}))
	want := []string{"", `http\_status`, `EngineCore \| died Traceback: CUDA error &lt;b&gt;` + "@\u2060" + `team&lt;/b&gt;`, "500", "4", ""}
	for _, row := range rows {
		if cmp.Equal(row, want) {
			return
		}
	}
	t.Errorf("no row %q", want)
}

func TestAbsentIsNever0(t *testing.T) {
	for _, row := range tablesAgree(t, show(t, &result.Document{}, Options{HTTP: true, Markdown: true})) {
		if strings.HasPrefix(row[1], "Measured") || strings.HasPrefix(row[1], "Warm-up") {
			continue // counts of what was seen
		}
		for _, cell := range row[2:] {
			if strings.ContainsAny(cell, "0123456789") && !strings.HasPrefix(cell, "p") {
				t.Errorf("%q in %q", cell, row)
			}
		}
	}
}

func TestVerdictInPlainWords(t *testing.T) {
	valid := true
	for name, c := range map[string]struct {
		change func(*result.Document)
		want   []string
	}{
		"does not count": {func(*result.Document) {}, []string{
			"The run failed: engine: connection refused\n", "NO, this run does not count under rule set inferencex-agentx-mvp version 1",
			"reasons: run_cancelled", "UNTRUSTED  schedule_lag: found 34.2 ms, limit 10.0 ms", "the client could not keep up"}},
		"counts": {func(d *result.Document) {
			d.Validity.SubmissionValid, d.Validity.Trusted, d.Validity.Findings = &valid, true, nil
		}, []string{"Valid submission: yes", "Trusted: yes", "Findings: none"}},
		"no rule set": {func(d *result.Document) { d.Validity.SubmissionValid = nil }, []string{"nothing is claimed, because no rule set was asked for"}},
	} {
		d := fullDocument()
		c.change(d)
		got := show(t, d, Options{})
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
	}
}

// A fixed-length run shows what a serving benchmark shows, whole and while full, and
// nothing that only an agentic run has.
func TestFixedRun(t *testing.T) {
	d := fixedDocument()
	rows := map[string][]string{}
	got := show(t, d, Options{Markdown: true})
	for _, row := range tablesAgree(t, got) {
		rows[row[1]] = row[2 : len(row)-1]
	}
	for label, want := range map[string][]string{
		"Successful requests":                      {"320", "288.5"},
		"Request throughput (req/s)":               {"3.20", "3.28"},
		"Output token throughput (tok/s)":          {"2.95k", "3.02k"},
		"Total token throughput (tok/s)":           {"26.5k", "27.2k"},
		"Output throughput per GPU (tok/s)":        {"369", "378"},
		"Request goodput, within the SLOs (req/s)": {"0.556", absent},
		"TTFT":                          {"440 ms", "400 ms", "200 ms", "800 ms", "1.20 s", "1.60 s"},
		"TTFT, while full":              {"418 ms", "380 ms", "190 ms", "760 ms", "1.14 s", "1.52 s"},
		"TPOT":                          {"11.0 ms", "10.0 ms", "5.00 ms", "20.0 ms", "30.0 ms", "40.0 ms"},
		"Interactivity, 1/TPOT (tok/s)": {"90.9", "100", absent, "50.0", "33.3", "25.0"},
		"Requests in flight":            {"30.1", "32", "32", "32", "32"},
	} {
		if diff := cmp.Diff(want, rows[label]); diff != "" {
			t.Errorf("%s: %s", label, diff)
		}
	}
	for _, agentic := range []string{"Theoretical", "Ideal as played", "Live trees", "Join wait", "corpus", "s asked", "Sessions", "--scenario"} {
		if strings.Contains(got, agentic) {
			t.Errorf("%q is of agentic runs", agentic)
		}
	}
	d.Fixed.Steady = nil
	if got := show(t, d, Options{}); !strings.Contains(got, "32 requests were never in flight at once") || strings.Contains(got, "TTFT, while full") {
		t.Error(got)
	}
	d.Metrics.Run = nil
	if got := show(t, d, Options{}); strings.Contains(got, "goodput") {
		t.Error("goodput without SLOs")
	}
}

// Interactivity is latency per token turned over: 1,000 over its percentile in ms,
// and every row has its p99 and n.
func TestInteractivity(t *testing.T) {
	d := fullDocument()
	for _, row := range tablesAgree(t, show(t, d, Options{Markdown: true})) {
		key := map[string]string{"Interactivity, 1/ITL (tok/s)": "inter_token_latency", "Interactivity, E2E (tok/s)": perToken}[row[1]]
		if key == "" {
			continue
		}
		s := d.Metrics.Request[key]
		want := []string{digits(1000 / s.Avg), digits(1000 / s.P50), digits(1000 / s.P90), digits(1000 / s.P95), digits(1000 / s.P99), whole(s.Count)}
		if diff := cmp.Diff(want, row[2:len(row)-1]); diff != "" {
			t.Errorf("%s: %s", row[1], diff)
		}
	}
	d.Metrics.Request = map[string]summary.Stats{"inter_token_latency": {Count: 3}} // everything came at once
	for _, row := range tablesAgree(t, show(t, d, Options{Markdown: true})) {
		if strings.HasPrefix(row[1], "Interactivity, 1/ITL") && (row[3] != absent || row[6] != absent) {
			t.Errorf("%q", row)
		}
	}
}

func TestUncachedIsABoundWhereUsageIsMissing(t *testing.T) {
	d := fullDocument()
	if rate, all, sign := uncached(d); *all != 15e6 || *rate != 15e6/1799.6 || sign != "≥ " {
		t.Errorf("uncached %v, %v a second, %q", *all, *rate, sign)
	}
	d.Cache.Usage.Requests = d.Requests.Profiling.OK
	if _, _, sign := uncached(d); sign != "" {
		t.Errorf("a bound (%q) where every response has its count", sign)
	}
	d.Cache.Usage = nil
	if rate, all, _ := uncached(d); rate != nil || all != nil {
		t.Error("uncached tokens that nobody counted")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrorsArePassedOn(t *testing.T) {
	if err := Result(broken{}, fullDocument(), Options{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
	if err := Corpus(broken{}, nil, TraceRow{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
	if err := Result(&strings.Builder{}, nil, Options{}); err == nil {
		t.Error("no document, no error")
	}
}

// TestRealDocument shows the document that the result room's own test pins.
func TestRealDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "result", "testdata", "result.json.golden"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := result.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	ttft := d.Metrics.Request["time_to_first_token"]
	want := []string{"", "TTFT", millis(ttft.Avg), millis(ttft.P50), millis(ttft.P90), millis(ttft.P95), millis(ttft.P99), "196", ""}
	found := false
	got := show(t, d, Options{Markdown: true})
	for _, row := range tablesAgree(t, got) {
		found = found || cmp.Equal(row, want)
	}
	if !found {
		t.Errorf("no row %q in\n%s", want, got)
	}
	for _, want := range []string{"| Live trees ", "| Engine's counters, GPU ", "90.0 %", "**Valid submission:** yes"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestHostileEverywhere puts the worst text wherever text comes from others.
func TestHostileEverywhere(t *testing.T) {
	for _, bad := range []string{
		"\x1b[2J\x9b1mx|y\n| z |\r\\", strings.Repeat("|", 5000), strings.Repeat("漢字", 5000), strings.Repeat("word `x` ", 5000), longText(),
	} {
		d := fullDocument()
		d.Settings.Model, d.Engine.Name, d.Engine.Version, d.Engine.URL = bad, bad, bad, bad
		d.Scenario.Name, d.Scenario.Version, d.Corpus.Name, d.GPUs.Model = bad, bad, bad, bad
		d.Mode, d.Outcome.Error, d.Outcome.CancelledBy = result.Mode(bad), bad, bad
		d.Cache.Usage.Unit = bad
		d.Cache.Engine.BySource = map[string]float64{bad: 0.5, bad + "2": 0.5}
		d.Validity.SubmissionInvalidReasons = []string{bad, bad}
		for i := range d.Errors {
			d.Errors[i].Type, d.Errors[i].Message = bad, bad
		}
		for i := range d.Validity.Findings {
			f := &d.Validity.Findings[i]
			f.Code, f.Unit, f.Detail, f.Text = bad, bad, bad, bad
		}
		d.Validity.Findings[0].Severity = validity.Severity(bad)
		got := show(t, d, Options{})
		harmless(t, got, false)
		for _, line := range strings.Split(got, "\n") {
			if w := twwidth.Width(line); w > lineWidth {
				t.Errorf("%d columns: %s", w, line)
			}
		}
		got = show(t, d, Options{Markdown: true})
		harmless(t, got, false)
		tablesAgree(t, got)
	}
}
