package compare

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// folder writes records as a run leaves them, and finishes it.
func folder(tb testing.TB, id string, records []*record.Record) string {
	tb.Helper()
	dir := tb.TempDir()
	f, err := os.Create(filepath.Join(dir, result.FileRecords))
	if err != nil {
		tb.Fatal(err)
	}
	w := record.NewWriter[record.Record](f)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	f.Close()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	facts := &result.Facts{
		RunID: id, Mode: result.ModeAgentic, OriginAt: at, StartedAt: at, EndedAt: at.Add(time.Hour), Program: result.Program{Name: "agentx", Version: "1"},
		Phases: []result.Phase{{Name: record.PhaseProfiling, Start: 1e9, End: 3600e9}}, Settings: result.Settings{Counting: record.CountServer},
	}
	if err := result.WriteFacts(dir, facts); err != nil {
		tb.Fatal(err)
	}
	if _, err := result.Finish(dir); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func TestLoadIsNewRun(t *testing.T) {
	records := synthetic{failures: 0.1, censored: 0.1, overflow: 0.1}.records()
	dir := folder(t, "a", records)
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := NewRun(got.Doc, func(yield func(*record.Record) bool) {
		for _, r := range records {
			if !yield(r) {
				return
			}
		}
	})
	want.Where = dir
	if diff := cmp.Diff(compared(t, one(want), one(want), Options{}), compared(t, one(got), one(got), Options{})); diff != "" {
		t.Error(diff)
	}
	if len(got.requests) != len(records) {
		t.Errorf("%d of %d requests", len(got.requests), len(records))
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := folder(t, "a", synthetic{}.records())
	name := filepath.Join(dir, result.FileRecords)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// A manifest that was made to fit does not help: the result has the records' hash too.
	fit := func(change func() error) func() error {
		return func() error { return errors.Join(change(), result.WriteManifest(dir, "a")) }
	}
	for want, change := range map[string]func() error{
		"differs from the manifest":                       func() error { return os.WriteFile(name, text[:len(text)/3], 0o600) },
		"not the file that result.json was computed from": fit(func() error { return os.WriteFile(name, text[:len(text)/2], 0o600) }),
		"records.jsonl:1:":                                fit(func() error { return os.WriteFile(name, append([]byte("{]\n"), text...), 0o600) }),
		"no such file":                                    func() error { return os.Remove(name) },
		"not a plain file":                                func() error { return os.Mkdir(name, 0o700) },
	} {
		_ = os.RemoveAll(name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if want == "not a plain file" {
			_ = os.Remove(name)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, result.FileResult), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "result.json") {
		t.Error(err)
	}
	if _, err := Load(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing folder was loaded")
	}
}

// BenchmarkCompare100k loads and compares two folders of 100,000 requests each,
// with the gaps of 200 chunks in every record.
func BenchmarkCompare100k(b *testing.B) {
	dirs := [2]string{}
	for i := range dirs {
		records := synthetic{traces: 500, turns: 200, run: uint64(i), selfSD: 0.1, lanes: 64}.records()
		for _, r := range records {
			r.Seen.Chunks = int(*r.Seen.Usage.CompletionTokens)
			span := int64(r.Seen.LastToken - r.Seen.FirstToken)
			gaps := make([]int64, r.Seen.Chunks-1)
			for g := range gaps {
				gaps[g] = span / int64(len(gaps))
			}
			gaps[0] += span % int64(len(gaps))
			r.Seen.ChunkGapsNs = gaps
		}
		dirs[i] = folder(b, string(rune('a'+i)), records)
	}
	runtime.GC()
	b.ReportAllocs()
	for b.Loop() {
		var runs [2]*Run
		for i, dir := range dirs {
			r, err := Load(dir)
			if err != nil {
				b.Fatal(err)
			}
			runs[i] = r
		}
		if _, err := Compare(runs[:1], runs[1:], Options{}); err != nil {
			b.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys-m.HeapReleased)/1e6, "MB-held")
	}
}
