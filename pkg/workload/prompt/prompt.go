package prompt

import (
	"encoding/hex"
	"io"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/zeebo/xxh3"
)

// maxSlice bounds one slice of a tail, in words: a prompt without block ids can
// be longer than the word text.
const maxSlice = words.Size / 2

// Prompt is the JSON array of one request's messages, as a reader. It allocates
// nothing while it is read.
type Prompt struct {
	Path     trace.Path // its whole blocks
	Segments []Segment  // before shaping
	Tail     int        // tokens behind the last block
	Reset    bool       // a message that was sent before is altered
	Short    int        // tokens that ISLWire could not take off: messages shorter than their overhead

	messages  []message
	marked    int // message that the marker leads
	marker    Marker
	spans     [][]int32
	size      int
	text      *words.Text
	key       uint64
	tailStart int
	length    int64

	at   cursor
	hash xxh3.Hasher
	done bool
}

// message is what one role says: blocks [from, to), without their first skip words.
type message struct {
	role           Role
	from, to, skip int32
}

// Messages is the length of the message array.
func (p *Prompt) Messages() int { return len(p.messages) }

// TextTokens is the number of words without the marker's.
func (p *Prompt) TextTokens() int {
	n := int(p.Path.Len)*p.size + p.Tail
	for _, m := range p.messages {
		n -= int(m.skip)
	}
	return n
}

// MarkerTokens is the marker's size.
func (p *Prompt) MarkerTokens() int { return p.marker.Tokens }

// MarkedAt is the block before which the marker stands.
func (p *Prompt) MarkedAt() int {
	if len(p.messages) == 0 {
		return 0
	}
	return int(p.messages[p.marked].from)
}

// Len is the number of bytes that reading yields.
func (p *Prompt) Len() int64 { return p.length }

// Digest identifies the text that was read, the marker apart; empty until the last
// byte was read. It must not be called while another goroutine reads.
func (p *Prompt) Digest() string {
	if !p.done {
		return ""
	}
	sum := p.hash.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// Read implements io.Reader.
func (p *Prompt) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		if len(p.at.rest) == 0 && !p.advance() {
			break
		}
		c := copy(b[n:], p.at.rest)
		p.at.rest = p.at.rest[c:]
		n += c
	}
	p.done = p.at.part == partEnd && len(p.at.rest) == 0
	if n == 0 && p.done && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// measure walks the pieces once to learn their length.
func (p *Prompt) measure() {
	for p.step() {
		p.length += int64(len(p.at.rest))
	}
	p.at = cursor{}
}

// advance moves to the next piece and adds it to the digest.
func (p *Prompt) advance() bool {
	if !p.step() {
		return false
	}
	if p.at.part != partMarker {
		_, _ = p.hash.Write(p.at.rest)
	}
	return true
}
