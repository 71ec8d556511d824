package result

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/org/agentx-action/pkg/result/record"
)

// BenchmarkBuild100k reads, decodes, checks and sums up 100,000 records of 100
// chunks from files.
func BenchmarkBuild100k(b *testing.B) {
	dir := b.TempDir()
	if err := WriteFacts(dir, sampleFacts()); err != nil {
		b.Fatal(err)
	}
	few := sampleRecords()
	f, err := os.Create(filepath.Join(dir, FileRecords))
	if err != nil {
		b.Fatal(err)
	}
	w := record.NewWriter[record.Record](f)
	for i := range 100_000 {
		r := few[i%len(few)]
		r.Asked.Num = i
		if r.Seen.Outcome == record.OK {
			total, _ := r.Seen.LastToken.Sub(r.Seen.FirstToken)
			gaps := make([]int64, 99)
			for k := range gaps {
				gaps[k] = int64(total) / 99
			}
			gaps[0] += int64(total) % 99
			r.Seen.Chunks, r.Seen.ChunkGapsNs = 100, gaps
		}
		if err := w.Write(&r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	size, _ := f.Seek(0, 1)
	_ = f.Close()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(dir); err != nil {
			b.Fatal(err)
		}
	}
}
