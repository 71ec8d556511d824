// Package output holds what a program of ours writes, in bounded memory.
//
// In come the bytes of a process or container, however many; out goes a text of at
// most so many of them, the first (Head) or the last (Tail). It refuses nothing: a
// writer that said no would end the program in the middle of its words.
package output

import "bytes"

// DefaultLimit is how much is kept where no limit is given, in bytes.
const DefaultLimit = 1 << 20

// Head keeps the first bytes that are written to it. The zero value works.
type Head struct {
	Limit int  // bytes; DefaultLimit when 0
	Cut   bool // more was written

	kept bytes.Buffer // not embedded: its ReadFrom knows no limit
}

// Write takes all of p and keeps what there is room for.
func (h *Head) Write(p []byte) (int, error) {
	keep := min(len(p), limit(h.Limit)-h.kept.Len())
	h.kept.Write(p[:keep])
	h.Cut = h.Cut || keep < len(p)
	return len(p), nil
}

// Bytes are those kept, until the next Write.
func (h *Head) Bytes() []byte { return h.kept.Bytes() }

// String is what was kept.
func (h *Head) String() string { return h.kept.String() }

// Tail keeps the last bytes that are written to it. The zero value works.
type Tail struct {
	Limit int // bytes; DefaultLimit when 0

	kept []byte
}

// Write takes all of p and forgets the oldest bytes.
func (t *Tail) Write(p []byte) (int, error) {
	most := limit(t.Limit)
	t.kept = append(t.kept, p[max(0, len(p)-most):]...)
	if over := len(t.kept) - most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// String is what was kept.
func (t *Tail) String() string { return string(t.kept) }

func limit(n int) int {
	if n <= 0 {
		return DefaultLimit
	}
	return n
}
