package replay

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// health watches the client itself (spec/replay.md §7.10, decisions.md 20).
type health struct {
	every   time.Duration
	next    record.Stamp
	last    record.Stamp
	lastCPU time.Duration
	lagMax  time.Duration
	connMax time.Duration
}

func (h *health) start(now record.Stamp) {
	if h.every == 0 {
		h.every = 2 * time.Second
	}
	h.last, h.next = now, now.Add(h.every)
	h.lastCPU, _ = processCPU()
}

func (h *health) due(now record.Stamp) bool { return now >= h.next }

func (h *health) saw(rec *record.Record) {
	if lag, ok := rec.Seen.Sent.Sub(rec.Asked.Ready); ok {
		h.lagMax = max(h.lagMax, lag)
	}
	if ns := rec.Seen.HTTP.BlockedNs; ns != nil {
		h.connMax = max(h.connMax, time.Duration(*ns))
	}
}

// sample reports the client's state since the last sample.
func (r *run) sample(now record.Stamp) {
	h := &r.health
	s := record.Sample{
		At: now, Phase: record.PhaseWarmup, InFlight: r.inFlight,
		Warmed: r.tally.warmed, Done: r.tally.ok, Errors: r.tally.failed, TokensIn: r.tally.tokensIn, TokensOut: r.tally.tokensOut,
		LagMaxMs: h.lagMax.Seconds() * 1e3, ConnMaxMs: h.connMax.Seconds() * 1e3,
	}
	if n := len(r.out.Phases); n > 0 && r.out.Phases[n-1].Name == "profiling" {
		s.Phase = record.PhaseProfiling
	}
	for _, l := range r.lanes {
		if l.play != nil {
			s.LiveTrees++
			s.Waiting += len(l.play.timers)
		}
	}
	for f := range r.aloft {
		if age, ok := now.Sub(f.record.Asked.Issued); ok {
			s.OldestMs = max(s.OldestMs, age.Seconds()*1e3)
		}
	}
	if cpu, ok := processCPU(); ok && now > h.last {
		share := (cpu - h.lastCPU).Seconds() / time.Duration(now-h.last).Seconds() / float64(runtime.GOMAXPROCS(0))
		s.CPUShare, h.lastCPU = &share, cpu
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap) // unlike runtime.ReadMemStats, it does not stop the world
	if heap[0].Value.Kind() == metrics.KindUint64 {
		s.HeapBytes = heap[0].Value.Uint64()
	}
	h.lagMax, h.connMax = 0, 0
	h.last, h.next = now, now.Add(h.every)
	r.sink.Sample(s)
}
