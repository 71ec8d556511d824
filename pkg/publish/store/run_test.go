package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
)

// measured describes a run's folder that a test makes.
type measured struct {
	id    string
	at    time.Time
	seed  int64
	fails bool
	files map[string]int64 // further files of random bytes, by their size
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// folder writes a finished run.
func (m measured) folder(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	m.write(tb, dir)
	return dir
}

func (m measured) write(tb testing.TB, dir string) {
	tb.Helper()
	if m.at.IsZero() {
		m.at = noon
	}
	f, err := os.Create(filepath.Join(dir, result.FileRecords))
	check(tb, err)
	w := record.NewWriter[record.Record](f)
	for i := range 20 {
		n, prompt := int64(50), int64(4000)
		sent := record.Stamp(1e9 + float64(i)*1e8)
		r := record.Record{
			Asked: record.Asked{Num: i, Phase: record.PhaseProfiling, Kind: record.KindTurn, TraceID: fmt.Sprint("t", i%10), StreamID: fmt.Sprint("t", i%10), Turn: i / 10, Lane: i % 4},
			Seen: record.Seen{Outcome: record.OK, Sent: sent, FirstToken: sent + 1e8, LastToken: sent + 3e8, End: sent + 3e8, Chunks: 50,
				Usage: &record.Usage{PromptTokens: &prompt, CompletionTokens: &n, CachedTokens: &prompt}},
		}
		if m.fails {
			r.Seen = record.Seen{Outcome: record.Failed, Sent: sent, End: sent + 1, Error: &record.Error{Code: 500, Type: "http_500"}}
		}
		check(tb, w.Write(&r))
	}
	check(tb, w.Flush())
	check(tb, f.Close())
	for name, size := range m.files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		check(tb, os.MkdirAll(filepath.Dir(name), 0o755))
		writeRandom(tb, name, size)
	}
	check(tb, result.WriteFacts(dir, &result.Facts{
		RunID: m.id, Mode: result.ModeAgentic, OriginAt: m.at, StartedAt: m.at, EndedAt: m.at.Add(time.Minute), Program: result.Program{Name: "agentx", Version: "1"},
		Phases: []result.Phase{{Name: record.PhaseProfiling, Start: 1e9, End: 60e9}}, Settings: result.Settings{Seed: &m.seed, Counting: record.CountServer},
	}))
	_, err = result.Finish(dir)
	check(tb, err)
}

// writeRandom writes bytes that no store could make smaller.
func writeRandom(tb testing.TB, name string, size int64) {
	tb.Helper()
	f, err := os.Create(name)
	check(tb, err)
	defer f.Close()
	source, block := rand.NewChaCha8([32]byte{byte(len(name)), byte(size)}), make([]byte, 1<<20)
	for left := size; left > 0; left -= int64(len(block)) {
		block = block[:min(left, int64(len(block)))]
		_, _ = source.Read(block) // never fails
		_, err := f.Write(block)
		check(tb, err)
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// keyAt is a key of the series that the tests use.
func keyAt(at time.Time, run string) Key {
	return Key{Series: Series{"octo", "engine", "h200", "main"}, Time: at, SHA: "0123456789ab", Run: run, Attempt: 1}
}

// sizes lists what is under a key.
func sizes(tb testing.TB, s Store, k Key) map[string]int64 {
	tb.Helper()
	out := map[string]int64{}
	for o, err := range s.List(tb.Context(), k.String(), true) {
		check(tb, err)
		out[o.Name[len(k.String())+1:]] = o.Size
	}
	return out
}
