// Package words is the text that prompts are made of: a fixed list of words,
// each of which is one token, and one long text of them.
//
// In goes a seed; out come slices of words with their bytes already escaped for
// JSON. A slice of n words is n tokens wherever it stands (decisions.md 9, 10).
// The package also says what a token is to the embedded engine: [Each] and
// [Count] split any text the way that engine's tokenizer does.
package words

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strings"
)

//go:embed list.txt
var list string

// List returns the words, in a fixed order. None holds white space or a byte
// that JSON would escape. Each is one token, with a space before it and without,
// to Qwen3, Llama 3.1, GPT-OSS, DeepSeek V3, Gemma 3 and Mistral's Tekken
// (docs/engines.md).
func List() []string { return strings.Fields(list) }

// Size is the number of words in a Text, at least 500,000 (decisions.md 9).
const Size = 1 << 19

// Text is one long run of words. It is immutable and safe for concurrent use.
type Text struct {
	bytes   []byte   // every word with one separator before it
	offsets []uint32 // offsets[i] is where word i's separator stands; Size+1 entries
}

// New renders the text of a seed: words drawn so that a few are common and most
// are rare, as in source code.
func New(seed uint64) *Text {
	vocabulary := List()
	source := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	t := &Text{bytes: make([]byte, 0, Size*7), offsets: make([]uint32, 0, Size+1)}
	for range Size {
		// The square of a uniform number favours the head of the list.
		u := source.Float64()
		t.offsets = append(t.offsets, uint32(len(t.bytes)))
		t.bytes = append(t.bytes, ' ')
		t.bytes = append(t.bytes, vocabulary[int(u*u*float64(len(vocabulary)))]...)
	}
	t.offsets = append(t.offsets, uint32(len(t.bytes)))
	return t
}

// Slice returns n words from start, each with its separator before it. The
// caller must not change the bytes, and start+n must not exceed Size.
func (t *Text) Slice(start, n int) []byte {
	return t.bytes[t.offsets[start]:t.offsets[start+n]]
}

// Start maps a hash to a place where a slice of n words fits.
func Start(hash uint64, n int) int {
	high, _ := bits.Mul64(hash, uint64(Size-n+1))
	return int(high)
}

// Each calls yield with the id of every token of text, in order: a token is a
// maximal run of bytes that are not white space, and its id is a hash of them.
func Each(text string, yield func(token uint64)) {
	for i := 0; i < len(text); {
		for i < len(text) && text[i] <= ' ' {
			i++
		}
		start := i
		for i < len(text) && text[i] > ' ' {
			i++
		}
		if i > start {
			yield(id(text[start:i]))
		}
	}
}

// Count returns the number of tokens of text.
func Count(text string) int {
	n := 0
	inWord := false
	for i := range len(text) {
		isText := text[i] > ' '
		if isText && !inWord {
			n++
		}
		inWord = isText
	}
	return n
}

// id hashes a word eight bytes at a time.
func id(word string) uint64 {
	h := uint64(len(word)) * 0x9e3779b97f4a7c15
	for len(word) >= 8 {
		h = mix(h ^ binary.LittleEndian.Uint64([]byte(word[:8])))
		word = word[8:]
	}
	var last uint64
	for i := range len(word) {
		last |= uint64(word[i]) << (8 * i)
	}
	return mix(h ^ last)
}

func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
