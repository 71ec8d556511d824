package trace

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"testing"
)

// sampleFolder is where the real traces lie: beside the checkout, or where
// AGENTX_TEST_WEKA points.
func sampleFolder() string {
	return cmp.Or(os.Getenv("AGENTX_TEST_WEKA"), "../../../../shared/data/weka")
}

// sample returns the real sample's traces, or skips where it is not there.
func sample(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, _ := filepath.Glob(filepath.Join(sampleFolder(), "trace_*.json"))
	if len(paths) == 0 {
		tb.Skip("the real traces are not at " + sampleFolder() + "; AGENTX_TEST_WEKA may name another folder")
	}
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
