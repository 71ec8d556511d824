package page

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

func ptr[T any](v T) *T { return &v }

const evil = `</style></script><img src=x onerror=alert(1)><script src="http://leak.example/x.js"></script>"'|{{.}}`

// folder writes a finished run: 4 lanes of 3 trees with 6 root turns, each third
// with 3 children at once. name makes the names that others chose.
func folder(t testing.TB, name func(string) string) string {
	t.Helper()
	dir := t.TempDir()
	const ms = record.Stamp(1e6)
	lines(t, dir, result.FileRecords, func(w *record.Writer[record.Record]) {
		num := 0
		add := func(lane, tree, turn, depth int, at record.Stamp) {
			trace := name(fmt.Sprintf("trace_%d", tree))
			isl, osl := int64(4000+900*turn+40*tree), int64(40+7*turn)
			cached := int64(float64(isl) * 0.8)
			prefill := ms * record.Stamp(80+10*turn+3*lane)
			r := record.Record{
				Asked: record.Asked{Num: num, Phase: record.PhaseProfiling, Kind: record.KindTurn, TraceID: trace, Lane: lane, Tree: tree, StreamID: trace,
					Turn: turn, Depth: depth, RequestID: fmt.Sprint(num), Model: name("model"), MaxTokens: int(osl), RecordedIn: int(isl), RecordedOut: int(osl),
					TextTokens: int(isl), Messages: 2 + turn, BlockSize: 64, Blocks: int(isl / 64), HitInstant: int(isl/64) - 4, IdealEnded: int(isl/64) - 8, Due: at, Issued: at, Ready: at},
				Seen: record.Seen{Outcome: record.OK, Status: 200, Sent: at + ms/2, Headers: at + prefill, FirstByte: at + prefill, FirstToken: at + prefill, FirstOutput: at + prefill,
					SecondToken: at + prefill + 8*ms, LastToken: at + prefill + record.Stamp(osl)*8*ms, End: at + prefill + record.Stamp(osl)*8*ms + ms, Chunks: int(osl), Events: int(osl) + 2,
					Usage: &record.Usage{PromptTokens: &isl, CompletionTokens: &osl, CachedTokens: &cached},
					HTTP:  record.HTTP{BlockedNs: ptr(int64(9000)), DNSNs: ptr(int64(0)), ConnectNs: ptr(int64(0)), SendNs: ptr(int64(200_000)), WaitNs: ptr(int64(prefill) - 1e6), ReceiveNs: ptr(osl * 8e6)}},
			}
			if depth > 0 {
				r.Asked.StreamID = fmt.Sprintf("%s::sa:%d", trace, num)
			}
			if num == 17 {
				r.Seen = record.Seen{Outcome: record.Failed, Status: 500, Sent: at + ms/2, End: at + 40*ms, Error: &record.Error{Code: 500, Type: "http_status", Message: name("out of memory")}}
			}
			if err := w.Write(&r); err != nil {
				t.Fatal(err)
			}
			num++
		}
		for lane := range 4 {
			for tree := range 3 {
				for turn := range 6 {
					at := ms * record.Stamp(1000+lane*150+tree*9000+turn*1400)
					add(lane, 4*tree+lane, turn, 0, at)
					if tree == 1 && turn == 2 {
						for child := range 3 {
							add(lane, 4*tree+lane, 0, 1, at+ms*record.Stamp(700+20*child))
						}
					}
				}
			}
		}
	})
	lines(t, dir, result.FileTrees, func(w *record.Writer[record.Tree]) {
		for lane := range 4 {
			for tree := range 3 {
				start := ms * record.Stamp(1000+lane*150+tree*9000)
				if err := w.Write(&record.Tree{Num: 4*tree + lane, Lane: lane, TraceID: name("trace"), RootID: "r", Start: start, End: start + 8000*ms, Why: record.TreeDrained, Requests: 6}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	lines(t, dir, result.FileSamples, func(*record.Writer[record.Sample]) {})
	start := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	facts := &result.Facts{
		Program: result.Program{Name: "agentx", Version: "test"}, RunID: "11111111-2222-3333-4444-555555555555", Mode: result.ModeAgentic,
		OriginAt: start, StartedAt: start, EndedAt: start.Add(time.Minute), Command: []string{"agentx", "replay", name("--model")},
		Settings: result.Settings{Concurrency: 4, DurationS: ptr(28.0), Seed: ptr(int64(42)), Counting: record.CountServer, Model: name("model")},
		Corpus:   &result.Corpus{Name: name("corpus"), Digest: strings.Repeat("ab", 32), Traces: 12, Kept: 12},
		Phases:   []result.Phase{{Name: record.PhaseProfiling, Start: 900 * ms, End: 29_000 * ms, EndedBy: "duration"}},
		Engine:   result.EngineFacts{Name: name("vllm"), Version: "0.14"},
		GPUs:     &result.GPUs{Model: name("H200"), Count: 2},
		ExtraIdentity: map[string]string{
			"env." + name("FLAG"): name("1"),
		},
	}
	if err := result.WriteFacts(dir, facts); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Finish(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func lines[T any](t testing.TB, dir, name string, write func(*record.Writer[T])) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	w := record.NewWriter[T](f)
	write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReportFillsTheFolder(t *testing.T) {
	dir := folder(t, strings.Clone)
	for range 2 { // the second time over the first
		w, err := Report(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"charts/in_flight.svg", "charts/in_flight.png", "charts/lanes.svg", "charts/lanes.png",
			"charts/ttft_by_turn.svg", "charts/ttft_by_turn.png", "charts/cache.svg", "charts/cache.png", "report.html",
		}
		if !slices.Equal(w.Files, want) {
			t.Errorf("files %q", w.Files)
		}
		if len(w.Absent) != 1 || w.Absent[0].Name != "frontier" || len(w.Notes) != 0 {
			t.Errorf("absent %v, notes %q", w.Absent, w.Notes)
		}
		if err := result.Verify(dir); err != nil {
			t.Error(err)
		}
	}
	if problems, err := result.Check(dir); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
}

// A picture of an earlier report that can't be drawn any more is removed, and a run
// without records still has its page.
func TestReportWithoutRecords(t *testing.T) {
	dir := folder(t, strings.Clone)
	if _, err := Report(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{result.FileRecords, result.FileTrees} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Report(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Absent) != 4 {
		t.Errorf("absent: %v", w.Absent)
	}
	if _, err := os.Stat(filepath.Join(dir, Charts, "lanes.svg")); !os.IsNotExist(err) {
		t.Errorf("an old picture is still there: %v", err)
	}
	if len(w.Altered) != 2 || !strings.HasPrefix(w.Altered[0], result.FileRecords) || !strings.HasPrefix(w.Altered[1], result.FileTrees) {
		t.Errorf("altered: %q", w.Altered)
	}
	if err := result.Verify(dir); err == nil {
		t.Error("the report's manifest blesses a folder that lost its records")
	}
}

// What a report is drawn from is held against the manifest first. The page says what
// does not fit, and the manifest stays as it is.
func TestReportOfAnAlteredFolder(t *testing.T) {
	append1 := func(dir, name string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("\n")
			_ = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	manifest := func(dir string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, result.FileManifest))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := func(dir string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, File))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	dir, base := folder(t, strings.Clone), folder(t, strings.Clone)
	if faults := altered(dir, ""); len(faults) > 0 {
		t.Fatalf("a whole folder: %q", faults)
	}
	// The report's own files are drawn anew, so they may be gone, new or changed.
	if err := os.WriteFile(filepath.Join(dir, File), []byte("an earlier page"), 0o600); err != nil {
		t.Fatal(err)
	}
	if faults := altered(dir, ""); len(faults) > 0 || result.Verify(dir) == nil {
		t.Errorf("a page that the manifest does not have: %q", faults)
	}
	append1(dir, result.FileAIPerfCSV)
	append1(base, result.FileResult)
	before := manifest(dir)
	w, err := Report(dir, Options{Base: base})
	if err != nil || len(w.Altered) != 2 || !strings.HasPrefix(w.Altered[0], result.FileAIPerfCSV) || !strings.HasPrefix(w.Altered[1], "the base: result.json") {
		t.Errorf("an altered folder: %v, %q", err, w.Altered)
	}
	text := page(dir)
	for _, want := range []string{"Not as the run left it", "altered since the run", "<li>" + result.FileAIPerfCSV, "<li>the base: result.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page doesn't say %q", want)
		}
	}
	if manifest(dir) != before || result.Verify(dir) == nil {
		t.Error("the manifest was renewed")
	}
	// Without a manifest the run did not finish.
	if err := os.Remove(filepath.Join(dir, result.FileManifest)); err != nil {
		t.Fatal(err)
	}
	if faults := altered(dir, ""); len(faults) != 1 || !strings.HasPrefix(faults[0], result.FileManifest) {
		t.Errorf("no manifest: %q", faults)
	}
}

func TestOwnFile(t *testing.T) {
	for name, want := range map[string]bool{
		"report.html": true, "charts/lanes.svg": true, "fixed-8x8/report.html": true, "fixed-8x8/charts/cache.png": true, "fixed-8x8/manifest.json": true,
		"result.json": false, "records.jsonl": false, "comparison.json": false, "fixed-8x8/result.json": false, "fixed-8x8/records.jsonl": false,
	} {
		if ownFile(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestReportOfABaseline: the run above stays whole, and nothing that was altered
// gets a blessing there.
func TestReportOfABaseline(t *testing.T) {
	above := folder(t, strings.Clone)
	below := filepath.Join(above, result.FolderFixed+"8x8")
	if err := os.CopyFS(below, os.DirFS(folder(t, strings.Clone))); err != nil {
		t.Fatal(err)
	}
	doc, err := result.Read(above)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.WriteManifest(above, doc.RunID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Report(below, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(result.Verify(below), result.Verify(above)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(below, result.FileComparison), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := result.Add(below, result.FileComparison); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(result.Verify(below), result.Verify(above)); err != nil {
		t.Fatal(err)
	}
	// A folder below whose manifest was made anew is not the one that the run left.
	if err := os.WriteFile(filepath.Join(below, result.FileTrees), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := result.WriteManifest(below, doc.RunID); err != nil {
		t.Fatal(err)
	}
	if _, err := Report(below, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := result.Verify(above); err == nil || !strings.Contains(err.Error(), result.FolderFixed+"8x8/"+result.FileTrees) {
		t.Errorf("the run above is whole: %v", err)
	}
}

func TestReportOfRecordsCutOff(t *testing.T) {
	dir := folder(t, strings.Clone)
	name := filepath.Join(dir, result.FileRecords)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text[:len(text)-40], 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Report(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "cut off") || len(w.Absent) != 1 {
		t.Errorf("notes %q, absent %v", w.Notes, w.Absent)
	}
}

func TestReportRefuses(t *testing.T) {
	if _, err := Report(t.TempDir(), Options{}); err == nil {
		t.Error("a folder without a result is reported")
	}
	if _, err := Report(folder(t, strings.Clone), Options{Base: t.TempDir()}); err == nil {
		t.Error("a base without a result is taken")
	}
}

func TestFrontierOfBothSides(t *testing.T) {
	dir, base := folder(t, strings.Clone), folder(t, strings.Clone)
	w, err := Report(dir, Options{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Absent) > 0 || !slices.Contains(w.Files, "charts/frontier.svg") {
		t.Errorf("files %q, absent %v", w.Files, w.Absent)
	}
}

func TestSlowest(t *testing.T) {
	var k ranking
	const ms = record.Stamp(1e6)
	for i := range 40 {
		n, cached, out := int64(1000), int64(900), int64(11)
		k.add(&record.Record{
			Asked: record.Asked{Phase: record.PhaseProfiling, TraceID: "t", StreamID: "t::sa:x", Depth: i % 2, Turn: i, Ready: 5 * ms},
			Seen: record.Seen{Outcome: record.OK, Sent: 7 * ms, FirstByte: 20 * ms, FirstToken: 21 * ms, LastToken: 30*ms + ms*record.Stamp(i*7%40),
				Usage: &record.Usage{PromptTokens: &n, CachedTokens: &cached, CompletionTokens: &out}, HTTP: record.HTTP{WaitNs: ptr(int64(12e6)), BlockedNs: ptr(int64(1000)), DNSNs: ptr(int64(0))}},
		})
	}
	k.add(&record.Record{Asked: record.Asked{Phase: record.PhaseWarmup}, Seen: record.Seen{Outcome: record.OK, Sent: 1, LastToken: 1e15}})
	k.add(&record.Record{Asked: record.Asked{Phase: record.PhaseProfiling}, Seen: record.Seen{Outcome: record.Failed, Sent: 1, LastToken: 1e15}})
	list := k.slow()
	if len(list) != slowest {
		t.Fatalf("%d explained", len(list))
	}
	for i, s := range list {
		if want := time.Duration(62-i) * time.Millisecond; s.Total != want {
			t.Errorf("place %d: %v, want %v", i, s.Total, want)
		}
	}
	s := list[0] // 39 = 17·7 mod 40
	if s.Turn != 17 || s.Stream != "sa:x" || s.Why != "77 % decode: 11 tokens, 4.80 ms each" {
		t.Errorf("%+v", s)
	}
	if lag := s.Parts[0].Time; lag == nil || *lag != 2*time.Millisecond || !s.Parts[0].Before {
		t.Errorf("due to sent: %v", lag)
	}
	if s.Parts[1].Time != nil {
		t.Errorf("a connection that was not timed took %v", *s.Parts[1].Time)
	}
	last := list[slowest-1]
	if !strings.Contains(last.Why, "decode") {
		t.Errorf("%q", last.Why)
	}
	wait := Slow{Total: time.Second, ISL: ptr(int64(1000)), Cached: ptr(int64(400)), Parts: []Part{{Name: "wait", Class: "wait", Time: ptr(600 * time.Millisecond)}}}
	if got := k.why(&wait); got != "60 % wait: 600 of 1000 prompt tokens were not cached, 1000 of them a second" {
		t.Error(got)
	}
}
