package sim

import (
	"fmt"
	"slices"
	"time"
)

// Model is the engine without HTTP and without a clock. Its caller says what
// time it is, as the time since some origin, and never goes back:
//
//	took, events := m.Step(now)  // events happen at now + took
//	if took == 0 { wake, ok := m.NextWake() … } // nothing to do before then
//
// It is not safe for concurrent use.
type Model struct {
	cfg   Config
	vocab vocabulary
	cost  pricing

	pool *pool
	host *tier
	disk *tier

	waiting []*sequence // first come, first served; the preempted go to the front
	running []*sequence // in order of admission
	live    map[uint64]*sequence

	batch  []chunk // of the step being planned
	events []Event // of the last step

	stalled bool // the dialled stall has been served
	stats   stats
}

// chunk is the part of a sequence that one step computes.
type chunk struct {
	seq *sequence
	n   int // tokens
}

// NewModel starts an empty engine, or says what is wrong with the settings.
func NewModel(cfg Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	m := &Model{
		cfg:   cfg,
		vocab: theVocabulary(),
		cost:  newPricing(cfg),
		pool:  newPool(cfg.Cache.GPUBlocks),
		live:  map[uint64]*sequence{},
		stats: newStats(),
	}
	blockBytes := cfg.Cache.BlockSize * cfg.Cache.KVBytesPerToken
	m.disk = newTier(cfg.Cache.DiskGB, cfg.Cache.DiskGBps, blockBytes, nil)
	m.host = newTier(cfg.Cache.HostGB, cfg.Cache.HostGBps, blockBytes, m.disk)
	m.pool.evicted = m.host.put
	return m, nil
}

// Submit queues a request. It refuses one that could never run.
func (m *Model) Submit(now time.Duration, r Request) error {
	switch {
	case r.Prompt == nil || r.Prompt.tokens == 0:
		return fmt.Errorf("sim: request %d has an empty prompt", r.ID)
	case r.MaxTokens < 1:
		return fmt.Errorf("sim: request %d asks for %d tokens; at least 1 is needed", r.ID, r.MaxTokens)
	case r.Prompt.tokens+r.MaxTokens > m.cfg.MaxModelLen:
		return fmt.Errorf("sim: request %d needs %d tokens; max_model_len is %d", r.ID, r.Prompt.tokens+r.MaxTokens, m.cfg.MaxModelLen)
	case r.Prompt.blockSize != m.cfg.Cache.BlockSize:
		return fmt.Errorf("sim: request %d was cut into blocks of %d tokens; the engine has blocks of %d", r.ID, r.Prompt.blockSize, m.cfg.Cache.BlockSize)
	case m.live[r.ID] != nil:
		return fmt.Errorf("sim: request %d is running already", r.ID)
	}
	seq := &sequence{request: r, chain: *r.Prompt, answer: r.Prompt.chain}
	// What is generated must not grow into the caller's Prompt.
	seq.chain.blocks = slices.Clip(seq.chain.blocks)
	seq.request.Prompt = nil
	seq.done = Done{ID: r.ID, PromptTokens: r.Prompt.tokens, Arrived: now}
	m.live[r.ID] = seq
	m.waiting = append(m.waiting, seq)
	m.stats.PeakWaiting = max(m.stats.PeakWaiting, len(m.waiting))
	return nil
}

// Cancel takes a request out and frees its blocks. It returns nil when the
// request is not live.
func (m *Model) Cancel(now time.Duration, id uint64) *Done {
	seq := m.live[id]
	if seq == nil {
		return nil
	}
	if i := slices.Index(m.waiting, seq); i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
	}
	if i := slices.Index(m.running, seq); i >= 0 {
		m.running = slices.Delete(m.running, i, i+1)
	}
	return m.end(seq, now, FinishAbort)
}

// NextWake says, after a step that had nothing to compute, when the next one
// will: when a lower tier has finished loading. ok is false when only another
// Submit can change that.
func (m *Model) NextWake() (at time.Duration, ok bool) {
	for _, seq := range m.running {
		if !ok || seq.readyAt < at {
			at, ok = seq.readyAt, true
		}
	}
	return at, ok
}

// ResetCache forgets all reusable blocks, those of the lower tiers only if
// asked. It refuses, and returns false, while any sequence holds a block.
func (m *Model) ResetCache(lowerTiers bool) bool {
	if !m.pool.reset() {
		return false
	}
	if lowerTiers {
		m.host.reset()
		m.disk.reset()
	}
	return true
}

// Word is the text of the i-th token (from 0) of the answer to a prompt.
func (m *Model) Word(p *Prompt, i int) string {
	return m.vocab.words[m.vocab.pick(p.chain, i)]
}

// end closes a sequence that is in no queue any more.
func (m *Model) end(seq *sequence, at time.Duration, finish Finish) *Done {
	m.releaseBlocks(seq)
	delete(m.live, seq.request.ID)
	seq.done.Finish = finish
	seq.done.Ended = max(at, seq.done.Arrived)
	m.stats.ended(&seq.done)
	return &seq.done
}

// releaseBlocks frees from the end, so that the start of a prompt, which others
// are likelier to share, stays reusable for longest.
func (m *Model) releaseBlocks(seq *sequence) {
	for _, id := range slices.Backward(seq.blocks) {
		m.pool.release(id)
	}
	seq.blocks = seq.blocks[:0]
}
