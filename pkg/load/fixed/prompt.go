package fixed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/zeebo/xxh3"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// maker writes the prompts of a run. It is immutable and safe for concurrent use.
type maker struct {
	cfg    Config
	text   *words.Text
	list   []string
	offset [2]int // of the first two words
	plans  []plan
}

// plan is what was drawn for one prompt.
type plan struct {
	isl, osl int
}

// newMaker draws the lengths of all prompts, warm-ups first.
func newMaker(cfg Config) *maker {
	m := &maker{cfg: cfg, text: words.New(cfg.Seed), list: words.List()}
	run := sha256.Sum256([]byte(cfg.RunID))
	for i := range m.offset {
		m.offset[i] = int(binary.BigEndian.Uint32(run[4*i:])) % len(m.list)
	}
	// The measured lengths must not depend on how many warm-ups there are.
	m.plans = append(lengths(cfg, "warmup", cfg.Warmups), lengths(cfg, "profiling", cfg.Prompts)...)
	return m
}

// lengths draws whole numbers uniformly from [int(L·ratio), L], and at least 1.
func lengths(cfg Config, stream string, n int) []plan {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", cfg.Seed, stream))
	source := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])))
	draw := func(top int) int {
		low := max(1, int(float64(top)*cfg.RangeRatio))
		return low + source.IntN(top-low+1)
	}
	out := make([]plan, n)
	for i := range out {
		out[i] = plan{isl: draw(cfg.Shape.ISL), osl: draw(cfg.Shape.OSL)}
	}
	return out
}

// markerWords begin every prompt. The first two count the prompts of the run, so
// that no two begin alike before there are more prompts than words squared; the
// others keep runs apart.
const markerWords = 8

// content is a prompt as the JSON value of its field, as a reader.
type content struct {
	pieces [][]byte
	length int64
	words  int // without the marker's
	marker int // words

	at   int
	from int // pieces from here on are digested: the body's
	to   int
	hash xxh3.Hasher
}

// prompt returns the num-th prompt of the run, warm-ups included.
func (m *maker) prompt(num int) *content {
	n := max(1, m.plans[num].isl-m.cfg.OverheadTokens)
	c := &content{marker: min(n, markerWords)}
	c.words = n - c.marker
	head, tail := `"`, `"`
	if m.cfg.Endpoint == Chat {
		head, tail = `[{"role":"user","content":"`, `"}]`
	}
	c.pieces = append(c.pieces, m.marker([]byte(head), num, c.marker))
	c.from = len(c.pieces)
	for left, k := c.words, 0; left > 0; k++ {
		part := min(left, words.Size/2)
		sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d:%d:body", m.cfg.Seed, num-m.cfg.Warmups, k))
		c.pieces = append(c.pieces, m.text.Slice(words.Start(binary.BigEndian.Uint64(sum[:]), part), part))
		left -= part
	}
	c.to = len(c.pieces)
	c.pieces = append(c.pieces, []byte(tail))
	for _, p := range c.pieces {
		c.length += int64(len(p))
	}
	return c
}

// marker appends n words that no other prompt of the run begins with.
func (m *maker) marker(b []byte, num, n int) []byte {
	size := len(m.list)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s:%d", m.cfg.Seed, m.cfg.RunID, num))
	for i := range n {
		at := int(binary.BigEndian.Uint16(sum[2*i:])) % size
		switch i {
		case 0:
			at = (m.offset[0] + num) % size
		case 1:
			at = (m.offset[1] + num/size) % size
		}
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, m.list[at]...)
	}
	return b
}

// Len implements replay.Messages.
func (c *content) Len() int64 { return c.length }

// Read implements io.Reader.
func (c *content) Read(b []byte) (n int, err error) {
	for n < len(b) && c.at < len(c.pieces) {
		k := copy(b[n:], c.pieces[c.at])
		if c.from <= c.at && c.at < c.to {
			_, _ = c.hash.Write(b[n : n+k])
		}
		n += k
		if c.pieces[c.at] = c.pieces[c.at][k:]; len(c.pieces[c.at]) == 0 {
			c.at++
		}
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// digest identifies the text that was read, the marker apart; empty until the
// last byte was.
func (c *content) digest() string {
	if c.at < len(c.pieces) {
		return ""
	}
	sum := c.hash.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}
