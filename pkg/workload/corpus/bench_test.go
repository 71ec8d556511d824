package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"
)

// BenchmarkOpen reads the real sample, 10 MB. resident-MB is what the traces
// keep, peak-MB what the process held from the system.
func BenchmarkOpen(b *testing.B) {
	folder := tracetest.Folder(b)
	bench(b, folder)
}

// BenchmarkOpenMany reads 700 traces: the real sample 28 times under other ids.
func BenchmarkOpenMany(b *testing.B) {
	folder := b.TempDir()
	paths, _ := filepath.Glob(filepath.Join(tracetest.Folder(b), "trace_*.json"))
	for i := range 700 {
		content, err := os.ReadFile(paths[i%len(paths)])
		if err != nil {
			b.Fatal(err)
		}
		content = bytes.Replace(content, []byte(`"id":"trace_`), fmt.Appendf(nil, `"id":"copy_%03d_`, i), 1)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.json", i)), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("folder", func(b *testing.B) { bench(b, folder) })
}

func bench(b *testing.B, folder string) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var c *Corpus
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if c, err = Open([]string{folder}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(c.Bytes())
	debug.FreeOSMemory()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "resident-MB")
	b.ReportMetric(float64(after.Sys)/1e6, "peak-MB")
	runtime.KeepAlive(c)
}

func BenchmarkStats(b *testing.B) {
	c, err := Open([]string{tracetest.Folder(b)}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.Stats()
	}
}
