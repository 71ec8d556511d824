package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/trace/tracetest"
)

func BenchmarkNew(b *testing.B) {
	var traces []*trace.Trace
	var requests int
	for _, path := range tracetest.Paths(b) {
		tr, err := trace.ReadFile(path, trace.BasisAuto)
		if err != nil {
			b.Fatal(err)
		}
		traces = append(traces, tr)
		for range tr.All {
			requests++
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, tr := range traces {
			if _, err := New(tr); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(requests), "requests/op")
}

// BenchmarkChains builds the tree of 5,000 requests in chains that overlap one
// another all the time, and in which every request gives up the last block of the
// one before it: the worst that chain detection, gates and prefixes can meet.
func BenchmarkChains(b *testing.B) {
	for _, chains := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(chains), func(b *testing.B) {
			var text strings.Builder
			for i := range 5000 {
				c, k := i%chains, i/chains
				fmt.Fprintf(&text, "%g 1-3,%d-%d api=%g\n", float64(i)+0.5, 100+10_000*c, 100+10_000*c+k, float64(chains)-0.5)
			}
			tr := session(b, text.String())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(tr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("pull-backs", func(b *testing.B) {
		var text strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&text, "%g 1-%d,%d api=0.5\n", float64(i)+0.5, 1+i/10, 100_000+i)
		}
		tr := session(b, text.String())
		b.ReportAllocs()
		for b.Loop() {
			if _, err := New(tr); err != nil {
				b.Fatal(err)
			}
		}
	})
}
