package health

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// DefaultEvery is the time between two samples.
const DefaultEvery = 2 * time.Second

// Watch collects what one sample says. It is for one goroutine; Start comes first.
type Watch struct {
	Every time.Duration // between samples; 0 = DefaultEvery

	next    record.Stamp
	last    record.Stamp
	lastCPU time.Duration
	lagMax  time.Duration
	connMax time.Duration
}

// Start begins the first interval.
func (w *Watch) Start(now record.Stamp) {
	if w.Every == 0 {
		w.Every = DefaultEvery
	}
	w.last, w.next = now, now.Add(w.Every)
	w.lastCPU, _ = processCPU()
}

// Next is when the next sample is due.
func (w *Watch) Next() record.Stamp { return w.next }

// Due reports whether it is.
func (w *Watch) Due(now record.Stamp) bool { return now >= w.next }

// Saw takes a finished request into the coming sample.
func (w *Watch) Saw(rec *record.Record) {
	if lag, ok := rec.Seen.Sent.Sub(rec.Asked.Ready); ok {
		w.lagMax = max(w.lagMax, lag)
	}
	if ns := rec.Seen.HTTP.BlockedNs; ns != nil {
		w.connMax = max(w.connMax, time.Duration(*ns))
	}
}

// Fill writes the client's state since the sample before into s, and begins the
// next interval.
func (w *Watch) Fill(s *record.Sample, now record.Stamp) {
	s.At = now
	s.LagMaxMs, s.ConnMaxMs = w.lagMax.Seconds()*1e3, w.connMax.Seconds()*1e3
	if cpu, ok := processCPU(); ok && now > w.last {
		share := (cpu - w.lastCPU).Seconds() / time.Duration(now-w.last).Seconds() / float64(runtime.GOMAXPROCS(0))
		s.CPUShare, w.lastCPU = &share, cpu
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap) // unlike runtime.ReadMemStats, it does not stop the world
	if heap[0].Value.Kind() == metrics.KindUint64 {
		s.HeapBytes = heap[0].Value.Uint64()
	}
	w.lagMax, w.connMax = 0, 0
	w.last, w.next = now, now.Add(w.Every)
}
