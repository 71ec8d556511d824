package sim

import (
	"slices"
	"time"
)

// Step plans one batch, computes it and returns how long that took and what came
// out of it. The events are valid until the next call. took is 0 when there is
// nothing to compute.
func (m *Model) Step(now time.Duration) (took time.Duration, events []Event) {
	m.batch, m.events = m.batch[:0], m.events[:0]
	budget := m.cfg.MaxNumBatchedTokens
	budget, preempted := m.planRunning(now, budget)
	if !preempted { // a pool that just ran out has no room for newcomers
		m.admit(now, budget)
	}
	if len(m.batch) == 0 {
		return 0, nil
	}
	took = m.cost.step(m.batch) + m.stall(now)
	m.compute(now + took)
	m.stats.stepped(took, m.batch)
	return took, m.events
}

// planRunning gives every running sequence its share of the budget, in order of
// admission. When the pool runs out, the last admitted gives way.
func (m *Model) planRunning(now time.Duration, budget int) (left int, preempted bool) {
	for i := 0; i < len(m.running) && budget > 0; i++ {
		seq := m.running[i]
		if seq.isLoading(now) {
			continue
		}
		m.loaded(seq)
		n := min(seq.pending(), budget)
		for !m.grow(seq, seq.computed+n) {
			preempted = true
			if m.preemptLast(now) == seq {
				return budget, true
			}
		}
		m.batch = append(m.batch, chunk{seq, n})
		budget -= n
	}
	return budget, preempted
}

// grow takes the blocks that a sequence needs for that many tokens.
func (m *Model) grow(seq *sequence, tokens int) bool {
	missing := blocksFor(tokens, m.cfg.Cache.BlockSize) - len(seq.blocks)
	if missing > m.pool.available() {
		return false
	}
	for range missing {
		seq.blocks = append(seq.blocks, m.pool.take())
	}
	return true
}

// preemptLast sends the last admitted sequence back to the head of the queue. It
// loses its blocks, though what is reusable of them may still be there when it
// comes back. A sequence that is still loading keeps its place.
func (m *Model) preemptLast(now time.Duration) *sequence {
	i := len(m.running) - 1
	for m.running[i].isLoading(now) {
		i--
	}
	seq := m.running[i]
	m.running = slices.Delete(m.running, i, i+1)
	m.releaseBlocks(seq)
	seq.computed, seq.readyAt = 0, 0
	seq.done.Preemptions++
	m.waiting = slices.Insert(m.waiting, 0, seq)
	m.stats.Preemptions++
	return seq
}

// admit starts waiting sequences while budget, batch and pool have room.
func (m *Model) admit(now time.Duration, budget int) {
	for len(m.waiting) > 0 && len(m.running) < m.cfg.MaxNumSeqs && budget > 0 {
		seq := m.waiting[0]
		n, ok := m.start(seq, now, budget)
		if !ok {
			return
		}
		m.waiting = slices.Delete(m.waiting, 0, 1)
		m.running = append(m.running, seq)
		if n > 0 {
			m.batch = append(m.batch, chunk{seq, n})
			budget -= n
		}
	}
}

// start gives a sequence the blocks that are cached and those for its first
// chunk of n tokens. With blocks to be loaded n is 0: it computes when they are
// there. It refuses when the pool has no room.
func (m *Model) start(seq *sequence, now time.Duration, budget int) (n int, ok bool) {
	if seq.refusedAt > 0 && m.pool.available() < seq.refusedAt {
		return 0, false // no more room than at the last look
	}
	hit := m.lookUp(seq)
	size := m.cfg.Cache.BlockSize
	tokens := hit.blocks() * size
	if hit.toLoad() == 0 {
		n = min(seq.chain.tokens-tokens, budget)
	}
	fresh := blocksFor(tokens+n, size) - hit.gpu
	if fresh > m.pool.available()-hit.gpuFree {
		seq.refusedAt = m.pool.available() + 1
		return 0, false
	}
	seq.refusedAt = 0
	m.take(seq, hit, now)
	m.grow(seq, tokens+n)
	if !seq.wasAdmitted {
		seq.wasAdmitted = true
		seq.done.Admitted = max(now, seq.done.Arrived)
		seq.done.Cached = Cached{GPU: hit.gpu * size, Host: hit.host * size, Disk: hit.disk * size}
		if !m.cfg.Cache.NoPrefixCaching {
			m.stats.looked(&seq.done)
		}
	}
	return n, true
}

// compute does what the batch says; at is when the step ends.
func (m *Model) compute(at time.Duration) {
	finished := false
	for _, c := range m.batch {
		seq := c.seq
		seq.computed += c.n
		seq.done.Computed += c.n
		m.stats.computed(c)
		m.publish(seq, c.n)
		if seq.pending() > 0 {
			continue
		}
		m.sample(seq, at)
		finished = finished || seq.done.Finish != ""
	}
	if finished {
		m.running = slices.DeleteFunc(m.running, func(seq *sequence) bool { return seq.done.Finish != "" })
	}
}

// sample generates the next token.
func (m *Model) sample(seq *sequence, at time.Duration) {
	d := &seq.done
	at = max(at, d.Arrived)
	seq.chain.Add(m.vocab.ids[m.vocab.pick(seq.answer, d.OutputTokens)])
	d.OutputTokens++
	m.stats.sampled(d, at)
	if d.OutputTokens == 1 {
		d.FirstToken = at
	}
	d.LastToken = at
	event := Event{ID: d.ID, Output: d.OutputTokens, Cached: d.Cached}
	if d.OutputTokens == seq.limit() {
		event.Done = m.end(seq, at, seq.finish())
	}
	m.events = append(m.events, event)
}

// stall is the dialled pause of the whole engine.
func (m *Model) stall(now time.Duration) time.Duration {
	f := &m.cfg.Faults
	if m.stalled || f.EngineStallMs == 0 || now.Seconds() < f.EngineStallAtS {
		return 0
	}
	m.stalled = true
	return milliseconds(f.EngineStallMs)
}

func blocksFor(tokens, blockSize int) int { return (tokens + blockSize - 1) / blockSize }

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
