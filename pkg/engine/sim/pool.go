package sim

// blockID numbers a block of a pool.
type blockID int32

const noBlock blockID = -1

// block holds the keys and values of one block of tokens.
type block struct {
	hash       uint64
	prev, next blockID // neighbours among the free blocks
	refs       int32   // sequences that use it
	reusable   bool    // computed, and found under its hash
}

// pool is the KV memory of the GPU. A block that no sequence uses any more stays
// reusable until its place is needed; the one unused for longest goes first.
type pool struct {
	limit  int // blocks; 0 is unlimited
	blocks []block
	byHash map[uint64]blockID
	oldest blockID // head of the free blocks, the next to be taken
	newest blockID
	used   int // blocks with a user
	peak   int // of used
	// evicted is told the hash of every block that loses its place; may be nil.
	evicted func(hash uint64)
}

func newPool(limit int) *pool {
	return &pool{limit: limit, byHash: map[uint64]blockID{}, oldest: noBlock, newest: noBlock}
}

// available is how many blocks could be taken now.
func (p *pool) available() int {
	if p.limit == 0 {
		return int(^uint32(0) >> 1)
	}
	return p.limit - p.used
}

// find returns the block of a hash.
func (p *pool) find(hash uint64) (blockID, bool) {
	id, ok := p.byHash[hash]
	return id, ok
}

// isFree reports whether no sequence uses the block.
func (p *pool) isFree(id blockID) bool { return p.blocks[id].refs == 0 }

// share adds a user to a block.
func (p *pool) share(id blockID) {
	b := &p.blocks[id]
	if b.refs == 0 {
		p.unlink(id)
		p.taken()
	}
	b.refs++
}

// take hands out a block with no content. The caller has checked available.
func (p *pool) take() blockID {
	id := p.oldest
	switch {
	case id != noBlock && !p.blocks[id].reusable:
		p.unlink(id)
	case p.limit == 0 || len(p.blocks) < p.limit:
		id = blockID(len(p.blocks))
		p.blocks = append(p.blocks, block{})
	default:
		p.unlink(id)
		p.forget(id, true)
	}
	p.blocks[id].refs = 1
	p.taken()
	return id
}

func (p *pool) taken() {
	p.used++
	p.peak = max(p.peak, p.used)
}

// register makes a block reusable under a hash. When the hash is known already,
// the block stays what it was: a private duplicate.
func (p *pool) register(id blockID, hash uint64) {
	if _, known := p.byHash[hash]; known {
		return
	}
	p.byHash[hash] = id
	p.blocks[id].hash = hash
	p.blocks[id].reusable = true
}

// release drops one user. Blocks without content are the first to be taken
// again, reusable ones the last.
func (p *pool) release(id blockID) {
	b := &p.blocks[id]
	if b.refs--; b.refs > 0 {
		return
	}
	p.used--
	if b.reusable {
		p.link(id, p.newest, noBlock)
	} else {
		p.link(id, noBlock, p.oldest)
	}
}

// reset forgets all content. It refuses while a block is in use.
func (p *pool) reset() bool {
	if p.used > 0 {
		return false
	}
	for id := range p.blocks {
		if p.blocks[id].reusable {
			p.forget(blockID(id), false)
		}
	}
	return true
}

func (p *pool) forget(id blockID, tell bool) {
	b := &p.blocks[id]
	delete(p.byHash, b.hash)
	b.reusable = false
	if tell && p.evicted != nil {
		p.evicted(b.hash)
	}
}

func (p *pool) link(id, prev, next blockID) {
	p.blocks[id].prev, p.blocks[id].next = prev, next
	if prev == noBlock {
		p.oldest = id
	} else {
		p.blocks[prev].next = id
	}
	if next == noBlock {
		p.newest = id
	} else {
		p.blocks[next].prev = id
	}
}

func (p *pool) unlink(id blockID) {
	b := &p.blocks[id]
	if b.prev == noBlock {
		p.oldest = b.next
	} else {
		p.blocks[b.prev].next = b.next
	}
	if b.next == noBlock {
		p.newest = b.prev
	} else {
		p.blocks[b.next].prev = b.prev
	}
}
