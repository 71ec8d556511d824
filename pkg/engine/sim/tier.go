package sim

import (
	"container/list"
	"time"
)

// tier is a lower level of the KV cache: blocks by hash, the one unused for
// longest leaves first. Loading from it goes over one link, one transfer after
// the other.
type tier struct {
	limit  int // blocks; 0 means there is no such tier
	byHash map[uint64]*list.Element
	recent *list.List // of uint64, most recent first
	below  *tier      // where evicted blocks go; may be nil

	nsPerBlock float64
	linkFree   time.Duration // when the last transfer ends

	storedBlocks int64 // written into it
	loadedBlocks int64 // read from it
	loading      time.Duration
}

func newTier(gigabytes, gigabytesPerSecond float64, bytesPerBlock int, below *tier) *tier {
	return &tier{
		limit:      int(gigabytes * 1e9 / float64(bytesPerBlock)),
		byHash:     map[uint64]*list.Element{},
		recent:     list.New(),
		below:      below,
		nsPerBlock: float64(bytesPerBlock) / gigabytesPerSecond,
	}
}

// put stores a block, or marks it as used when it is there.
func (t *tier) put(hash uint64) {
	if t.limit == 0 {
		if t.below != nil {
			t.below.put(hash)
		}
		return
	}
	if t.touch(hash) {
		return
	}
	t.storedBlocks++
	t.byHash[hash] = t.recent.PushFront(hash)
	if t.recent.Len() <= t.limit {
		return
	}
	last := t.recent.Back()
	evicted := t.recent.Remove(last).(uint64)
	delete(t.byHash, evicted)
	if t.below != nil {
		t.below.put(evicted)
	}
}

func (t *tier) has(hash uint64) bool {
	_, ok := t.byHash[hash]
	return ok
}

func (t *tier) touch(hash uint64) bool {
	element, ok := t.byHash[hash]
	if ok {
		t.recent.MoveToFront(element)
	}
	return ok
}

// load queues a transfer of n blocks and returns when it will be complete.
func (t *tier) load(now time.Duration, n int) time.Duration {
	if n == 0 {
		return now
	}
	took := max(1, time.Duration(t.nsPerBlock*float64(n)))
	t.linkFree = max(t.linkFree, now) + took
	t.loadedBlocks += int64(n)
	t.loading += took
	return t.linkFree
}

func (t *tier) used() int { return t.recent.Len() }

func (t *tier) reset() {
	clear(t.byHash)
	t.recent.Init()
}
