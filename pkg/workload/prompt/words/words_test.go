package words

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestListIsPlain(t *testing.T) {
	list := List()
	if len(list) < 500 {
		t.Fatalf("%d words; 12 of them must tell trees apart", len(list))
	}
	seen := map[string]bool{}
	for _, w := range list {
		if seen[w] {
			t.Errorf("%q stands twice", w)
		}
		seen[w] = true
		escaped, err := json.Marshal(w)
		if err != nil || string(escaped) != `"`+w+`"` {
			t.Errorf("%q is %s in JSON", w, escaped)
		}
		for i := range len(w) {
			if w[i] <= ' ' || w[i] > '~' {
				t.Errorf("%q holds byte %#x", w, w[i])
			}
		}
		if Count(w) != 1 {
			t.Errorf("%q is %d tokens", w, Count(w))
		}
	}
}

func TestTextIsLongAndOfTheSeed(t *testing.T) {
	a, again, b := New(1), New(1), New(2)
	if Size < 500_000 {
		t.Errorf("%d words; decisions.md 9 wants 500,000", Size)
	}
	if string(a.bytes) != string(again.bytes) {
		t.Error("the same seed gives two texts")
	}
	if string(a.bytes) == string(b.bytes) {
		t.Error("two seeds give the same text")
	}
	known := map[string]bool{}
	for _, w := range List() {
		known[w] = true
	}
	got := strings.Split(string(a.Slice(0, Size)), " ")
	if got[0] != "" || len(got) != Size+1 {
		t.Fatalf("%d separators, first word %q", len(got)-1, got[0])
	}
	used := map[string]bool{}
	for _, w := range got[1:] {
		if !known[w] {
			t.Fatalf("%q is not of the list", w)
		}
		used[w] = true
	}
	if len(used) != len(known) {
		t.Errorf("the text uses %d of %d words", len(used), len(known))
	}
}

// decisions.md 9: any seam between any two slices stays exact.
func TestSeamsAreExact(t *testing.T) {
	text := New(7)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var joined []byte
		want := 0
		for range 1 + rng.IntN(5) {
			n := rng.IntN(70)
			joined = append(joined, text.Slice(Start(rng.Uint64(), n), n)...)
			want += n
		}
		if got := Count(string(joined)); got != want {
			t.Fatalf("%d tokens in slices of %d: %q", got, want, joined)
		}
		if bare, ok := strings.CutPrefix(string(joined), " "); ok && Count(bare) != want {
			t.Fatalf("without the first separator %d tokens, want %d: %q", Count(bare), want, joined)
		}
	}
}

func TestStartFits(t *testing.T) {
	text := New(1)
	for _, n := range []int{0, 1, 64, Size / 2, Size} {
		for _, hash := range []uint64{0, 1, 1 << 63, math.MaxUint64} {
			start := Start(hash, n)
			if start < 0 || start+n > Size {
				t.Errorf("hash %#x, %d words: start %d does not fit into %d", hash, n, start, Size)
			}
			if got := Count(string(text.Slice(start, n))); got != n {
				t.Errorf("%d words from %d: counted %d", n, start, got)
			}
		}
	}
}

func FuzzEachAgreesWithCount(f *testing.F) {
	for _, s := range []string{"", " ", "a", " a  b\n", "\x00x\x7f é\t longerthaneightbytes"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var ids []uint64
		Each(s, func(token uint64) { ids = append(ids, token) })
		want := strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' })
		if len(ids) != len(want) || Count(s) != len(want) {
			t.Fatalf("Each %d, Count %d, want %d tokens", len(ids), Count(s), len(want))
		}
		var alone []uint64
		for _, w := range want {
			Each(w, func(token uint64) { alone = append(alone, token) })
		}
		if !slices.Equal(ids, alone) {
			t.Error("a token's id depends on its neighbours")
		}
	})
}

func TestWordsHaveDifferentIDs(t *testing.T) {
	seen := map[uint64]string{}
	for _, w := range List() {
		Each(w, func(token uint64) {
			if other, ok := seen[token]; ok {
				t.Errorf("%q and %q have one id", w, other)
			}
			seen[token] = w
		})
	}
}
