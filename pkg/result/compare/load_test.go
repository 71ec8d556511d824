package compare

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
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
	doc, err := os.ReadFile(filepath.Join(dir, result.FileResult))
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
		"records.jsonl:1:":                                fit(func() error { return forge(dir, text, append([]byte("{]\n"), text...)) }),
		"no such file":                                    func() error { return os.Remove(name) },
		"not a plain file":                                func() error { return os.Mkdir(name, 0o700) },
	} {
		_ = os.RemoveAll(name)
		if err := errors.Join(os.WriteFile(name, text, 0o600), os.WriteFile(filepath.Join(dir, result.FileResult), doc, 0o600), result.WriteManifest(dir, "a")); err != nil {
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
}

// forge replaces the records, and their hash in result.json.
func forge(dir string, was, is []byte) error {
	name := filepath.Join(dir, result.FileResult)
	doc, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	hash := func(text []byte) []byte { return fmt.Appendf(nil, "%x", sha256.Sum256(text)) }
	return errors.Join(os.WriteFile(name, bytes.Replace(doc, hash(was), hash(is), 1), 0o600), os.WriteFile(filepath.Join(dir, result.FileRecords), is, 0o600))
}

// A folder that is not the whole of a finished run gets one answer, whichever of
// its files is looked at first.
func TestLoadNamesTheFolder(t *testing.T) {
	of := func(keep ...string) string {
		dir, whole := t.TempDir(), folder(t, "a", synthetic{traces: 2, turns: 2}.records())
		for _, name := range keep {
			text, err := os.ReadFile(filepath.Join(whole, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		why  Reason
		says string
	}{
		{of(result.FileRecords), Unfinished, "the run did not finish"},
		{of(result.FileFacts, result.FileRecords), Unfinished, "the run did not finish"},
		{of(result.FileFacts, result.FileRecords, result.FileResult), Unfinished, "the run did not finish"},
		{of(result.FileManifest), NotWhole, "copied in part"},
		{of(result.FileManifest, result.FileRecords), NotWhole, "more): it was changed, or copied in part"},
		{of(result.FileManifest, result.FileResult, result.FileFacts, result.FileAIPerf, result.FileAIPerfCSV, result.FileAIPerfRecords), NotWhole, "records.jsonl: no such file"},
		{of(), NoRun, "holds no run; give the folder"},
		{filepath.Join(of(), "missing"), NoRun, "no such folder"},
		{file, NoRun, "not a folder"},
	} {
		_, err := Load(c.dir)
		var folder *FolderError
		if !errors.As(err, &folder) || folder.Why != c.why || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q: %q", err, c.why, c.says)
		}
		if _, checked := Check(c.dir); !errors.As(checked, &folder) || folder.Why != c.why {
			t.Errorf("Check says %v, Load %v", checked, err)
		}
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
