package output

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever the sizes of the writes, the two ends of the whole are kept.
func TestKeepsTheEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		most := 1 + r.IntN(50)
		h, tail := &Head{Limit: most}, &Tail{Limit: most}
		var all bytes.Buffer
		for range r.IntN(20) {
			p := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, r.IntN(2*most))
			for _, w := range []io.Writer{h, tail, &all} {
				if n, err := w.Write(p); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
			}
		}
		text := all.String()
		keep := min(most, len(text))
		if h.String() != text[:keep] || string(h.Bytes()) != text[:keep] || h.Cut != (len(text) > most) {
			t.Errorf("head of %d: %q of %q, cut %v", most, h.String(), text, h.Cut)
		}
		if tail.String() != text[len(text)-keep:] {
			t.Errorf("tail of %d: %q of %q", most, tail.String(), text)
		}
	}
}

// io.Copy looks for a ReadFrom that would go around the limit.
func TestCopyKnowsTheLimit(t *testing.T) {
	var h Head
	var tail Tail
	for _, w := range []io.Writer{&h, &tail} {
		if _, err := io.Copy(w, struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 3*DefaultLimit))}); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.Bytes()) != DefaultLimit || len(tail.String()) != DefaultLimit || !h.Cut {
		t.Errorf("%d, %d bytes, cut %v", len(h.Bytes()), len(tail.String()), h.Cut)
	}
}
