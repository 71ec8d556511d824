package summary

import (
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// CPULimit is the share of the usable cores above which the client itself may
// be what is measured (decisions.md 20).
const CPULimit = 0.85

// Client is the load generator's own health in the profiling phase.
type Client struct {
	// How late requests left: from the moment when nothing but the client held
	// them back, in ms; every request of the profiling phase that was sent.
	ScheduleLag *Stats `json:"schedule_lag,omitzero"`
	// Wait for a free connection, in ms, of the same requests.
	ConnectionWait *Stats `json:"connection_wait,omitzero"`
	// CPU time over what the usable cores could give, 0..1, a sample every 2 s.
	CPUShare *Stats `json:"cpu_share,omitzero"`
	// Longest stretch with the share above 0.85, in seconds.
	CPUHighS *float64 `json:"cpu_high_s,omitzero"`
	// Largest heap seen, in bytes.
	HeapMaxBytes *uint64 `json:"heap_max_bytes,omitzero"`
	// Samples of the profiling phase.
	Samples int `json:"samples"`
}

func (b *Builder) client(w span) Client {
	c := Client{ScheduleLag: statsOf(b.lag, "ms"), ConnectionWait: statsOf(b.connWait, "ms")}
	var shares []float64
	var heap uint64
	var high, longest time.Duration
	last := w.start
	for _, s := range b.samples {
		if s.Phase != record.PhaseProfiling {
			continue
		}
		c.Samples++
		heap = max(heap, s.HeapBytes)
		if s.CPUShare != nil {
			shares = append(shares, *s.CPUShare)
			if *s.CPUShare > CPULimit {
				high += max(time.Duration(s.At-last), 0)
			} else {
				high = 0
			}
			longest = max(longest, high)
		}
		last = s.At
	}
	if c.Samples > 0 {
		c.HeapMaxBytes = &heap
	}
	if s, ok := describe(shares, "ratio"); ok {
		c.CPUShare = &s
		v := longest.Seconds()
		c.CPUHighS = &v
	}
	return c
}
