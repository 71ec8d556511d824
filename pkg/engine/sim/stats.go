package sim

import (
	"maps"
	"time"
)

// Counters is a snapshot of an engine: what it has done since its start and what
// it holds now. Tokens are counted as vLLM does: a request's prompt when its
// first token comes, its cache queries and hits when it is first admitted.
type Counters struct {
	PromptTokens    int64 `json:"prompt_tokens"`
	GeneratedTokens int64 `json:"generated_tokens"`

	// Of PromptTokens, by source; the four add up to it.
	LocalCompute  int64 `json:"local_compute"`
	LocalCacheHit int64 `json:"local_cache_hit"`
	HostHit       int64 `json:"host_hit"`
	DiskHit       int64 `json:"disk_hit"`

	CacheQueries    int64 `json:"cache_queries"` // tokens
	CacheHits       int64 `json:"cache_hits"`    // tokens found on the GPU
	ExternalQueries int64 `json:"external_queries"`
	ExternalHits    int64 `json:"external_hits"`

	PrefillComputed int64 `json:"prefill_computed"` // tokens, those again after a preemption included
	DecodeComputed  int64 `json:"decode_computed"`

	Requests    map[Finish]int64 `json:"requests"` // ended, by finish
	Preemptions int64            `json:"preemptions"`
	Steps       int64            `json:"steps"`
	BusyS       float64          `json:"busy_s"` // time spent in steps

	// LateMaxMs is by how much a step's tokens came later than the model wanted, at
	// worst: how far to trust the times of a Server on a busy machine.
	LateMaxMs float64 `json:"late_max_ms"`

	Running     int `json:"running"`
	Waiting     int `json:"waiting"` // those loading from a lower tier included
	PeakRunning int `json:"peak_running"`
	PeakWaiting int `json:"peak_waiting"`

	BlockSize      int   `json:"block_size_tokens"`
	GPUBlocks      int   `json:"gpu_blocks"` // size of the pool, 0 unlimited
	UsedBlocks     int   `json:"used_blocks"`
	PeakUsedBlocks int   `json:"peak_used_blocks"`
	ReusableBlocks int   `json:"reusable_blocks"` // in use or not
	HostBlocks     int   `json:"host_blocks"`
	DiskBlocks     int   `json:"disk_blocks"`
	OffloadedBytes int64 `json:"offloaded_bytes"` // GPU to host
	LoadedBytes    int64 `json:"loaded_bytes"`    // host and disk to GPU
}

// KVUsage is the share of the pool that sequences use; ok is false when the pool
// is unlimited.
func (c *Counters) KVUsage() (share float64, ok bool) {
	if c.GPUBlocks == 0 {
		return 0, false
	}
	return float64(c.UsedBlocks) / float64(c.GPUBlocks), true
}

// Counters takes a snapshot.
func (m *Model) Counters() Counters {
	c := m.stats.Counters
	c.Requests = maps.Clone(c.Requests)
	loading := 0
	for _, seq := range m.running {
		if seq.readyAt > 0 {
			loading++
		}
	}
	c.Running = len(m.running) - loading
	c.Waiting = len(m.waiting) + loading
	c.BlockSize = m.cfg.Cache.BlockSize
	c.GPUBlocks = m.pool.limit
	c.UsedBlocks, c.PeakUsedBlocks = m.pool.used, m.pool.peak
	c.ReusableBlocks = len(m.pool.byHash)
	c.HostBlocks, c.DiskBlocks = m.host.used(), m.disk.used()
	blockBytes := int64(m.cfg.Cache.BlockSize * m.cfg.Cache.KVBytesPerToken)
	c.OffloadedBytes = m.host.storedBlocks * blockBytes
	c.LoadedBytes = (m.host.loadedBlocks + m.disk.loadedBlocks) * blockBytes
	return c
}

// stats are the running counts behind Counters and /metrics.
type stats struct {
	Counters
	ttft, itl, tpot, e2e           histogram
	queue, prefill, decode, infer  histogram
	promptSize, outputSize, stepOf histogram
}

func newStats() stats {
	return stats{
		Counters:   Counters{Requests: map[Finish]int64{FinishStop: 0, FinishLength: 0, FinishAbort: 0}},
		ttft:       newHistogram(ttftBuckets),
		itl:        newHistogram(itlBuckets),
		tpot:       newHistogram(itlBuckets),
		e2e:        newHistogram(e2eBuckets),
		queue:      newHistogram(e2eBuckets),
		prefill:    newHistogram(e2eBuckets),
		decode:     newHistogram(e2eBuckets),
		infer:      newHistogram(e2eBuckets),
		promptSize: newHistogram(tokenBuckets),
		outputSize: newHistogram(tokenBuckets),
		stepOf:     newHistogram(tokenBuckets),
	}
}

// looked counts the cache queries of a request's first admission. What the GPU
// has is never asked of the lower tiers.
func (s *stats) looked(d *Done) {
	s.CacheQueries += int64(d.PromptTokens)
	s.CacheHits += int64(d.Cached.GPU)
	s.ExternalQueries += int64(d.PromptTokens - d.Cached.GPU)
	s.ExternalHits += int64(d.Cached.Host + d.Cached.Disk)
}

func (s *stats) computed(c chunk) {
	prompt := min(c.n, max(0, c.seq.done.PromptTokens-(c.seq.computed-c.n)))
	s.PrefillComputed += int64(prompt)
	s.DecodeComputed += int64(c.n - prompt)
}

func (s *stats) stepped(took time.Duration, batch []chunk) {
	s.Steps++
	s.BusyS += took.Seconds()
	tokens := 0
	for _, c := range batch {
		tokens += c.n
	}
	s.stepOf.observe(float64(tokens))
	s.PeakRunning = max(s.PeakRunning, len(batch))
}

// sampled counts a token that comes at a time; d is as it was before it, but for
// the number of output tokens.
func (s *stats) sampled(d *Done, at time.Duration) {
	s.GeneratedTokens++
	if d.OutputTokens > 1 {
		s.itl.observeTime(at - d.LastToken)
		return
	}
	s.ttft.observeTime(at - d.Arrived)
	s.PromptTokens += int64(d.PromptTokens)
	s.LocalCompute += int64(d.PromptTokens - d.Cached.Total())
	s.LocalCacheHit += int64(d.Cached.GPU)
	s.HostHit += int64(d.Cached.Host)
	s.DiskHit += int64(d.Cached.Disk)
}

func (s *stats) ended(d *Done) {
	s.Requests[d.Finish]++
	if d.Finish == FinishAbort {
		return // no latency of a request that was cut off
	}
	s.e2e.observeTime(d.Ended - d.Arrived)
	s.queue.observeTime(d.Admitted - d.Arrived)
	s.prefill.observeTime(d.FirstToken - d.Admitted)
	s.decode.observeTime(d.LastToken - d.FirstToken)
	s.infer.observeTime(d.LastToken - d.Admitted)
	s.promptSize.observe(float64(d.PromptTokens))
	s.outputSize.observe(float64(d.OutputTokens))
	if d.OutputTokens > 1 {
		s.tpot.observeTime((d.LastToken - d.FirstToken) / time.Duration(d.OutputTokens-1))
	}
}
