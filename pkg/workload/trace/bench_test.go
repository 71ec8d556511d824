package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace/tracetest"
)

// sample returns the real traces' bytes by file name.
func sample(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths := tracetest.Paths(tb)
	files := map[string][]byte{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			tb.Fatal(err)
		}
		files[filepath.Base(p)] = b
	}
	return files
}

func BenchmarkRead(b *testing.B) {
	files := sample(b)
	var size int64
	for _, f := range files {
		size += int64(len(f))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for name, f := range files {
			if _, err := NewReader(bytes.NewReader(f), name).Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
