package result

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/validity"
)

func TestFinishAndCheck(t *testing.T) {
	dir, d := finished(t, sampleFacts())
	if problems, err := Check(dir); err != nil || len(problems) > 0 {
		t.Fatalf("Check: %v %v", problems, err)
	}
	if q := d.Requests; q.Total != 200 || q.Profiling.OK != 196 || q.Profiling.Errors != 1 || q.Profiling.Overflow != 1 || q.Profiling.Censored != 1 || q.Warmup.OK != 1 {
		t.Errorf("requests %+v", q)
	}
	if !d.Validity.Valid() || !d.Validity.Trusted {
		t.Errorf("verdict %+v", d.Validity)
	}
	if d.Cache.Engine == nil || d.Cache.Engine.Local.Rate != 0.9 || d.Cache.Engine.BySource["local_compute"] != 0.25 {
		t.Errorf("engine cache %+v", d.Cache.Engine)
	}
	again, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Metrics, again.Metrics); diff != "" {
		t.Errorf("read back: %s", diff)
	}
	if _, err := Finish(dir); err != nil { // again
		t.Fatal(err)
	}
	if problems, err := Check(dir); err != nil || len(problems) > 0 {
		t.Fatalf("Check after the second Finish: %v %v", problems, err)
	}
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if strings.HasSuffix(n.Name(), ".tmp") {
			t.Errorf("%s is left behind", n.Name())
		}
	}
}

// TestAIPerfGolden pins profile_export_aiperf.json, its CSV and result.json.
func TestAIPerfGolden(t *testing.T) {
	dir, _ := finished(t, sampleFacts())
	for _, name := range []string{FileAIPerf, FileAIPerfCSV, FileResult} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			_ = os.MkdirAll("testdata", 0o755)
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parsed(t, want), parsed(t, got), cmpopts.EquateApprox(tolerance, tolerance)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// parsed gives JSON as values, so that the last digit, which differs between
// processors, doesn't count; anything else stays text.
func parsed(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if json.Unmarshal(text, &v) != nil {
		return string(text)
	}
	return v
}

// TestIXReads does what InferenceX' validator does (spec/inferencex.md §3.9).
func TestIXReads(t *testing.T) {
	dir, d := finished(t, sampleFacts())
	text, err := os.ReadFile(filepath.Join(dir, FileAIPerf))
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	avg := func(key string) float64 {
		var m struct {
			Unit string
			Avg  *float64
		}
		if err := json.Unmarshal(top[key], &m); err != nil || m.Avg == nil || m.Unit == "" {
			t.Fatalf("%s: %s %v", key, top[key], err)
		}
		return *m.Avg
	}
	if avg("request_count") != 196 || avg("error_request_count") != 1 || avg("completed_request_count") != 197 || avg("context_overflow_count") != 1 || avg("skipped_context_overflow_count") != 1 {
		t.Error("counts differ")
	}
	if got := avg("theoretical_prefix_cache_hit"); got != 90 {
		t.Errorf("theoretical hit %v, want 90", got)
	}
	for _, key := range []string{"schema_version", "aiperf_version", "benchmark_id", "start_time", "end_time", "was_cancelled", "input_config", "run_info", "metadata", "error_summary", "warmup_metrics", "branch_stats"} {
		if _, ok := top[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	for _, key := range []string{"tokens_per_chunk", "schedule_lag", "e2e_latency_per_output_token"} {
		if _, ok := top[key]; ok {
			t.Errorf("%s is ours, not AIPerf's", key)
		}
	}
	// The rows give the aggregates again.
	rows, err := os.ReadFile(filepath.Join(dir, FileAIPerfRecords))
	if err != nil {
		t.Fatal(err)
	}
	var first, last, sum float64
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(string(rows)), "\n") {
		var row struct {
			Metadata struct {
				Phase string  `json:"benchmark_phase"`
				Start float64 `json:"request_start_ns"`
				End   float64 `json:"request_end_ns"`
			}
			Metrics map[string]struct{ Value any }
			Error   any
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Metadata.Phase != "profiling" || row.Error != nil {
			continue
		}
		if n == 0 || row.Metadata.Start < first {
			first = row.Metadata.Start
		}
		last = math.Max(last, row.Metadata.End)
		sum += row.Metrics["output_sequence_length"].Value.(float64)
		n++
	}
	want := sum / ((last - first) / 1e9)
	if got := d.InferenceX.Throughput.Output.TokensPerSecond; n != 196 || math.Abs(got-want) > 1e-4 {
		t.Errorf("output %v tokens/s of %d rows, want %v", got, n, want)
	}
}

func TestEncodeRefusesNaN(t *testing.T) {
	_, d := finished(t, sampleFacts())
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		s := d.Metrics.Request["request_latency"]
		s.P90 = bad
		d.Metrics.Request["request_latency"] = s
		if _, err := d.Encode(); err == nil || !strings.Contains(err.Error(), "/metrics/request/request_latency/p90") {
			t.Errorf("Encode(%v) = %v, want the path", bad, err)
		}
	}
}

func TestValidateNamesPointers(t *testing.T) {
	dir, _ := finished(t, sampleFacts())
	text, err := os.ReadFile(filepath.Join(dir, FileResult))
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(text); err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	top["run_id"] = 7
	top["requests"].(map[string]any)["total"] = "many"
	top["surprise"] = true
	delete(top, "identity")
	broken, _ := json.Marshal(top)
	err = Validate(broken)
	if err == nil {
		t.Fatal("a broken document passes")
	}
	for _, want := range []string{"/run_id", "/requests/total", "surprise", "identity"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s: %v", want, err)
		}
	}
	for _, junk := range []string{"", "nul", "[]", "{} {}", `{"a":NaN}`} {
		if Validate([]byte(junk)) == nil {
			t.Errorf("%q passes", junk)
		}
	}
}

func TestCheckFindsTampering(t *testing.T) {
	edit := func(name, old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, name)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte(old)) {
				t.Fatalf("%s has no %q", name, old)
			}
			if err := os.WriteFile(file, bytes.Replace(text, []byte(old), []byte(new), 1), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remanifest := func(f func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			f(t, dir)
			if err := WriteManifest(dir, "run-1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		tamper func(*testing.T, string)
		want   string // in some problem
	}{
		"record changed":               {edit(FileRecords, `"completion_tokens":20`, `"completion_tokens":21`), "differs from the manifest"},
		"record changed, manifest too": {remanifest(edit(FileRecords, `"completion_tokens":20`, `"completion_tokens":21`)), "/evidence"},
		"figure changed, manifest too": {remanifest(edit(FileResult, `"total_osl": {`, `"total_osl": {`+"\n"+`"value": 1, "unit":"tokens"}, "x": {`)), "/metrics/run"},
		"finding removed":              {remanifest(edit(FileResult, `"trusted": true`, `"trusted": false`)), "/validity/trusted"},
		"times out of order":           {remanifest(edit(FileRecords, `"headers_ns":10000300000`, `"headers_ns":1`)), "headers_ns"},
		"record twice":                 {remanifest(edit(FileRecords, `"num":3,`, `"num":2,`)), "occurs twice"},
		"facts changed":                {remanifest(edit(FileFacts, `"concurrency": 2`, `"concurrency": 1`)), "/settings/concurrency"},
		"identity changed":             {remanifest(edit(FileResult, `"value": "42"`, `"value": "43"`)), "/identity"},
		"schema broken":                {remanifest(edit(FileResult, `"run_id": "run-1"`, `"run_id": 1`)), "/run_id"},
		"file added":                   {func(t *testing.T, dir string) { _ = os.WriteFile(filepath.Join(dir, "report.html"), nil, 0o644) }, "not in the manifest"},
		"file gone":                    {func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, FileAIPerfCSV)) }, FileAIPerfCSV},
		"row gone, manifest too": {remanifest(func(t *testing.T, dir string) {
			file := filepath.Join(dir, FileAIPerfRecords)
			text, _ := os.ReadFile(file)
			_ = os.WriteFile(file, text[bytes.IndexByte(text, '\n')+1:], 0o644)
		}), "198 lines"},
		"AIPerf's figure changed, manifest too": {remanifest(edit(FileAIPerf, `"request_count": {
    "unit": "requests",
    "avg": 196`, `"request_count": {
    "unit": "requests",
    "avg": 197`)), "/request_count/avg"},
		"crc32c changed": {func(t *testing.T, dir string) {
			m, _, err := ReadManifest(dir)
			if err != nil || m.Files[0].CRC32C == "" {
				t.Fatal(m, err)
			}
			edit(FileManifest, `"crc32c": "`+m.Files[0].CRC32C, `"crc32c": "00000000`)(t, dir)
		}, "crc32c 00000000; now"},
		"no manifest": {func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, FileManifest)) }, FileManifest},
		"no records":  {remanifest(func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, FileRecords)) }), "/evidence"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := finished(t, sampleFacts())
			c.tamper(t, dir)
			problems, err := Check(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if strings.Contains(p.String(), c.want) {
					return
				}
			}
			t.Errorf("problems %v, want one with %q", problems, c.want)
		})
	}
}

func TestManifestRefusesHostilePaths(t *testing.T) {
	for _, path := range []string{"../x", "/etc/passwd", "a/../../x", "", ".", "a\\b", "c:x", "a//b", "./a", "manifest.json", "a\x00b"} {
		text, err := encode(&Manifest{Kind: KindManifest, SchemaVersion: "1.0", Files: []Entry{{File: File{path, 0, strings.Repeat("0", 64)}}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeManifest(text); err == nil {
			t.Errorf("%q passes", path)
		}
	}
	twice := Entry{File: File{"a", 0, strings.Repeat("0", 64)}}
	text, _ := encode(&Manifest{Kind: KindManifest, SchemaVersion: "1.0", Files: []Entry{twice, twice}})
	if _, err := DecodeManifest(text); err == nil {
		t.Error("a file listed twice passes")
	}
}

// What others put into the folder, a log say, is none of the run's business.
func TestManifestLeavesForeignFilesAlone(t *testing.T) {
	dir, _ := finished(t, sampleFacts())
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"output.log", "sub/records.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if problems, err := Check(dir); err != nil || len(problems) > 0 {
		t.Errorf("foreign files: %v %v", problems, err)
	}
}

func TestManifestRefusesLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, _ := finished(t, sampleFacts())
	if err := os.Symlink(outside, filepath.Join(dir, "report.html")); err != nil {
		t.Skip(err)
	}
	if err := Verify(dir); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("Verify = %v", err)
	}
	if err := WriteManifest(dir, "r"); err == nil {
		t.Error("WriteManifest follows a link")
	}
}

func TestCutRecordsAreReported(t *testing.T) {
	dir := sampleDir(t, sampleFacts())
	file := filepath.Join(dir, FileRecords)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text[:len(text)-40], 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := Finish(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Requests.Total != 199 || !has(d.Validity, validity.RecordsCut) || d.Validity.Trusted {
		t.Errorf("total %d, findings %v", d.Requests.Total, d.Validity.Findings)
	}
	problems, err := Check(dir)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, "cut off") {
		t.Errorf("Check: %v %v, want only the cut line", problems, err)
	}
}

func has(v validity.Verdict, code string) bool {
	for _, f := range v.Findings {
		if f.Code == code {
			return true
		}
	}
	return false
}

func TestBuildNamesTheLine(t *testing.T) {
	dir := sampleDir(t, sampleFacts())
	f, err := os.OpenFile(filepath.Join(dir, FileTrees), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("nonsense\n")
	_ = f.Close()
	if _, err := Build(dir); err == nil || !strings.Contains(err.Error(), "trees.jsonl:5") {
		t.Errorf("Build = %v, want file and line", err)
	}
}

// TestEmptyRun: nothing was measured, so nothing is claimed.
func TestEmptyRun(t *testing.T) {
	dir := t.TempDir()
	facts := sampleFacts()
	facts.Outcome = Outcome{Cancelled: true, CancelledBy: "user"}
	if err := WriteFacts(dir, facts); err != nil {
		t.Fatal(err)
	}
	d, err := Finish(dir)
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := Check(dir); err != nil || len(problems) > 0 {
		t.Fatalf("Check: %v %v", problems, err)
	}
	if len(d.Metrics.Request) != 0 || d.Validity.Valid() || !has(d.Validity, validity.NothingMeasured) || !has(d.Validity, validity.RunCancelled) {
		t.Errorf("metrics %v, verdict %+v", d.Metrics.Request, d.Validity)
	}
	if _, ok := d.Metrics.Run["request_throughput"]; ok {
		t.Error("a throughput of nothing")
	}
}

func TestNoScenarioNoStamp(t *testing.T) {
	facts := sampleFacts()
	facts.Scenario = Scenario{}
	dir, d := finished(t, facts)
	if d.Validity.SubmissionValid != nil || d.Validity.Valid() {
		t.Errorf("stamp %v without a rule set", d.Validity.SubmissionValid)
	}
	text, _ := os.ReadFile(filepath.Join(dir, FileAIPerf))
	if bytes.Contains(text, []byte(`"submission_valid"`)) {
		t.Error("AIPerf's file has a stamp")
	}
}

func TestIdentity(t *testing.T) {
	a := NewIdentity(map[string]string{"b": "2", "a": "1"})
	if a.Pairs[0].Key != "a" || len(a.Digest) != 64 {
		t.Fatalf("%+v", a)
	}
	// No value can look like two pairs.
	b := NewIdentity(map[string]string{"a": `1"],["b","2`})
	if a.Digest == b.Digest {
		t.Error("digests collide")
	}
	c := NewIdentity(map[string]string{"a": "1", "b": "3", "c": ""})
	if diff := cmp.Diff([]string{"b", "c"}, a.Diff(&c)); diff != "" {
		t.Error(diff)
	}
	if a.Diff(&a) != nil {
		t.Error("differs from itself")
	}
	if v, ok := c.Get("b"); v != "3" || !ok {
		t.Error(v, ok)
	}
	if _, ok := c.Get("zz"); ok {
		t.Error("found what isn't there")
	}
	one, two := sampleFacts().Identity(), sampleFacts()
	two.Settings.Seed = ptr[int64](43)
	two.RunID, two.EndedAt = "other", two.EndedAt.Add(5)
	id := two.Identity()
	if diff := cmp.Diff([]string{"seed"}, one.Diff(&id)); diff != "" {
		t.Error(diff)
	}
}

func TestURLWithoutSecrets(t *testing.T) {
	facts := sampleFacts()
	facts.Engine.URL = "https://me:secret@host:8000/v1?key=secret#secret"
	_, d := finished(t, facts)
	if d.Engine.URL != "https://host:8000/v1" {
		t.Errorf("URL %s", d.Engine.URL)
	}
}

func TestStaleTempsGo(t *testing.T) {
	dir := sampleDir(t, sampleFacts())
	stale := filepath.Join(dir, "."+FileResult+".ABCDEFGH.tmp")
	if err := os.WriteFile(stale, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Finish(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("what a crash left is still there")
	}
}

func TestFactsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := sampleFacts()
	if err := WriteFacts(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFacts(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	bad := sampleFacts()
	bad.Settings.DurationS = ptr(math.Inf(1))
	if err := WriteFacts(dir, bad); err == nil || !strings.Contains(err.Error(), "/settings/duration_s") {
		t.Errorf("WriteFacts = %v", err)
	}
	bad = sampleFacts()
	bad.Mode = "other"
	if err := WriteFacts(dir, bad); err == nil || !strings.Contains(err.Error(), "/mode") {
		t.Errorf("WriteFacts = %v", err)
	}
}

// TestRecordSchema holds encoded lines against their schemas.
func TestRecordSchema(t *testing.T) {
	for _, r := range sampleRecords()[:61] {
		var b bytes.Buffer
		writeLines(t, &b, []record.Record{r})
		if err := validate("record.schema.json", b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tree := range sampleTrees() {
		var b bytes.Buffer
		writeLines(t, &b, []record.Tree{tree})
		if err := validate("tree.schema.json", b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that is added later stands in the manifest; what was altered meanwhile is
// not taken for the run's.
func TestAddToManifest(t *testing.T) {
	dir, _ := finished(t, sampleFacts())
	for _, text := range []string{"one", "two"} { // new, and renewed
		if err := WriteFile(dir, FileComparison, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := Verify(dir); err == nil {
			t.Fatal("a file that is not in the manifest passes")
		}
		if err := Add(dir, FileComparison); err != nil {
			t.Fatal(err)
		}
		if err := Verify(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(dir, FileAIPerfCSV, []byte("altered")); err != nil {
		t.Fatal(err)
	}
	if err := Add(dir, FileComparison); err != nil {
		t.Fatal(err)
	}
	if err := Verify(dir); err == nil || !strings.Contains(err.Error(), FileAIPerfCSV+": differs from the manifest") {
		t.Errorf("an altered file got a blessing: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, FileManifest)); err != nil {
		t.Fatal(err)
	}
	if err := Add(dir, FileComparison); err == nil {
		t.Error("a folder that is not finished got a manifest")
	}
}

// What is added to the manifest of an older version makes it one of ours, that of the run
// around it too.
func TestAddToOldManifest(t *testing.T) {
	const old = "compare/testdata/fixtures/1.0/run"
	dir := filepath.Join(t.TempDir(), "run")
	below := filepath.Join(dir, FolderFixed+"1x1")
	for _, to := range []string{dir, below} {
		if err := os.CopyFS(to, os.DirFS(old)); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteManifest(dir, m.RunID); err != nil { // with the baseline in it
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, FileManifest))
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`,\s*"crc32c": "[0-9a-f]{8}"`).ReplaceAll(text, nil)
	text = bytes.Replace(text, []byte(`"schema_version": "1.1"`), []byte(`"schema_version": "1.0"`), 1)
	if err := WriteFile(dir, FileManifest, text); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(below, FileReport, []byte("<html>")); err != nil {
		t.Fatal(err)
	}
	if err := Add(below, FileReport); err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{dir, below} {
		if err := Verify(one); err != nil {
			t.Error(err)
		}
		if m, _, err := ReadManifest(one); err != nil || m.SchemaVersion != ManifestSchemaVersion {
			t.Errorf("%+v %v", m, err)
		}
	}
}

func TestVerifyButReturnsTheManifest(t *testing.T) {
	dir, _ := finished(t, sampleFacts())
	records := func(name string) bool { return name == FileRecords }
	text, err := os.ReadFile(filepath.Join(dir, FileRecords))
	if err != nil {
		t.Fatal(err)
	}
	text[0] ^= 1
	if err := WriteFile(dir, FileRecords, text); err != nil {
		t.Fatal(err)
	}
	m, err := VerifyBut(dir, records)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := m.Find(FileRecords); !ok || f.Size != int64(len(text)) {
		t.Errorf("%+v %v", f, ok)
	}
	if _, ok := m.Find("other"); ok {
		t.Error("a file that is not there was found")
	}
	if _, err := VerifyBut(dir, nil); err == nil {
		t.Error("an altered file passes")
	}
}
