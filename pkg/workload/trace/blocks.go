package trace

// Blocks holds the block ids of all requests of a trace. Lists that share a
// beginning share its storage: a run keeps the first blocks of another run and
// adds ids of its own. No two runs hold the same sequence, so equal beginnings
// are equal places, and comparing two lists walks runs, not ids.
//
// The zero Blocks is empty.
type Blocks struct {
	runs []run
	ids  []int32
}

// run is ids[first : first+added], standing behind the first kept blocks of parent.
type run struct {
	parent, kept, first, added int32
}

// Path names a list of block ids: the first Len blocks along a run. The zero
// Path of an empty list is Path{Run: -1}.
type Path struct {
	Run int32
	Len int32
}

const noRun = -1

// Distinct is the number of stored ids: one for each different beginning.
func (b *Blocks) Distinct() int { return len(b.ids) }

// Prefix is the list of p's first n blocks.
func (b *Blocks) Prefix(p Path, n int) Path {
	if int(p.Len) <= n {
		return p
	}
	p.Len = int32(n)
	for p.Run != noRun && b.runs[p.Run].kept >= p.Len {
		p.Run = b.runs[p.Run].parent
	}
	return p
}

// CommonPrefix is the number of leading blocks that p and q share.
func (b *Blocks) CommonPrefix(p, q Path) int {
	for p.Run != q.Run {
		// A run's parent is older than the run, so the newer one cannot hold the meeting point.
		if p.Run < q.Run {
			p, q = q, p
		}
		r := b.runs[p.Run]
		p = Path{r.parent, min(p.Len, r.kept)}
	}
	return int(min(p.Len, q.Len))
}

// Spans appends the ids of p's blocks [from, to) to spans, as slices in order.
// The caller must not change them.
func (b *Blocks) Spans(spans [][]int32, p Path, from, to int) [][]int32 {
	start := len(spans)
	to = min(to, int(p.Len))
	for p.Run != noRun && to > from {
		r := b.runs[p.Run]
		if low := max(from, int(r.kept)); low < to {
			spans = append(spans, b.ids[int(r.first)+low-int(r.kept):int(r.first)+to-int(r.kept)])
			to = low
		}
		p.Run = r.parent
	}
	for i, j := start, len(spans)-1; i < j; i, j = i+1, j-1 {
		spans[i], spans[j] = spans[j], spans[i]
	}
	return spans
}

// IDs appends the ids of p to ids.
func (b *Blocks) IDs(ids []int32, p Path) []int32 {
	for _, span := range b.Spans(nil, p, 0, int(p.Len)) {
		ids = append(ids, span...)
	}
	return ids
}

// Builder adds lists to a Blocks. It remembers the last list, because the next
// one mostly repeats it.
type Builder struct {
	blocks   *Blocks
	branches map[branch]int32
	last     []int32
	lastPath Path
}

// branch is the place where a run leaves another, with the id it goes on with.
type branch struct{ run, depth, id int32 }

// NewBuilder returns a Builder of b, which must be empty.
func NewBuilder(b *Blocks) *Builder {
	return &Builder{blocks: b, branches: map[branch]int32{}, lastPath: Path{Run: noRun}}
}

// Add stores a list and returns its place. It keeps ids until the next call.
func (w *Builder) Add(ids []int32) Path {
	same := 0
	for n := min(len(ids), len(w.last)); same < n && ids[same] == w.last[same]; {
		same++
	}
	at := w.blocks.Prefix(w.lastPath, same)
	for int(at.Len) < len(ids) && w.step(&at, ids) {
	}
	if int(at.Len) < len(ids) {
		at = w.grow(at, ids[at.Len:])
	}
	w.last, w.lastPath = ids, at
	return at
}

// step follows stored runs as far as they agree with ids, or at least into the
// next run; false means that nothing stored goes on with ids[at.Len].
func (w *Builder) step(at *Path, ids []int32) bool {
	b := w.blocks
	if at.Run != noRun {
		r := b.runs[at.Run]
		stored := b.ids[r.first+at.Len-r.kept : r.first+r.added]
		n := 0
		for n < len(stored) && int(at.Len)+n < len(ids) && stored[n] == ids[int(at.Len)+n] {
			n++
		}
		if n > 0 {
			at.Len += int32(n)
			return true
		}
	}
	next, ok := w.branches[branch{at.Run, at.Len, ids[at.Len]}]
	if ok {
		*at = Path{next, at.Len + 1}
	}
	return ok
}

// grow stores ids behind at: in the run itself when that is the newest and ends
// there, else as a new run.
func (w *Builder) grow(at Path, ids []int32) Path {
	b := w.blocks
	newest := int32(len(b.runs) - 1)
	if at.Run != noRun && at.Run == newest && b.runs[newest].kept+b.runs[newest].added == at.Len {
		b.runs[newest].added += int32(len(ids))
	} else {
		w.branches[branch{at.Run, at.Len, ids[0]}] = newest + 1
		b.runs = append(b.runs, run{parent: at.Run, kept: at.Len, first: int32(len(b.ids)), added: int32(len(ids))})
		newest++
	}
	b.ids = append(b.ids, ids...)
	return Path{newest, at.Len + int32(len(ids))}
}
