package sim

import "time"

// hit is the leading run of a sequence's blocks that need not be computed, and
// where they lie.
type hit struct {
	gpu, host, disk int // blocks
	gpuFree         int // of gpu: blocks that no sequence uses now
}

func (h hit) blocks() int { return h.gpu + h.host + h.disk }
func (h hit) toLoad() int { return h.host + h.disk }

// lookUp finds what is cached of a sequence. At least one token is left to
// compute, for the next one to be sampled from.
func (m *Model) lookUp(seq *sequence) (h hit) {
	if m.cfg.Cache.NoPrefixCaching {
		return hit{}
	}
	full := (seq.chain.tokens - 1) / m.cfg.Cache.BlockSize
	for _, hash := range seq.chain.blocks[:full] {
		if id, ok := m.pool.find(hash); ok {
			h.gpu++
			if m.pool.isFree(id) {
				h.gpuFree++
			}
		} else if m.host.has(hash) {
			h.host++
		} else if m.disk.has(hash) {
			h.disk++
		} else {
			break
		}
	}
	return h
}

// take gives a sequence the blocks of a hit and starts loading what lies in the
// lower tiers. The blocks that are on the GPU are claimed first: taking others
// may push out what no sequence uses.
func (m *Model) take(seq *sequence, h hit, now time.Duration) {
	hashes := seq.chain.blocks[:h.blocks()]
	for _, hash := range hashes {
		id, ok := m.pool.find(hash)
		if ok {
			m.pool.share(id)
		} else {
			id = noBlock
		}
		seq.blocks = append(seq.blocks, id)
	}
	seq.computed = len(hashes) * m.cfg.Cache.BlockSize
	if h.toLoad() == 0 {
		return
	}
	for i, id := range seq.blocks {
		if id == noBlock {
			m.host.touch(hashes[i])
			m.disk.touch(hashes[i])
			seq.blocks[i] = m.pool.take()
		}
	}
	seq.readyAt = max(m.host.load(now, h.host), m.disk.load(now, h.disk))
}

// loaded makes blocks that came from a lower tier reusable.
func (m *Model) loaded(seq *sequence) {
	if seq.readyAt == 0 {
		return
	}
	seq.readyAt = 0
	m.publish(seq, seq.computed)
}

// publish makes the full blocks among the last n tokens computed reusable.
func (m *Model) publish(seq *sequence, n int) {
	if m.cfg.Cache.NoPrefixCaching {
		return
	}
	size := m.cfg.Cache.BlockSize
	for i := (seq.computed - n) / size; i < seq.computed/size; i++ {
		m.pool.register(seq.blocks[i], seq.chain.blocks[i])
	}
}
