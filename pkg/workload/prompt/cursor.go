package prompt

// cursor is the place in a prompt up to which its pieces were handed out.
type cursor struct {
	rest    []byte // of the piece at hand
	part    part   // that rest is of
	message int
	block   int32 // next block
	span    int   // that block is in
	offset  int   // in that span
	tail    int   // words of the tail handed out
	skip    int32 // words of the message still to be left out
	bare    bool  // the next word is the message's first: no separator
}

// part is what a piece is.
type part uint8

const (
	partStart part = iota
	partOpen       // { "role": …, "content": "
	partMarker
	partText
	partClose
	partEnd
)

var (
	opens = [...][]byte{
		RoleSystem:    []byte(`{"role":"system","content":"`),
		RoleUser:      []byte(`{"role":"user","content":"`),
		RoleAssistant: []byte(`{"role":"assistant","content":"`),
	}
	arrayOpen  = []byte("[")
	arrayClose = []byte("]")
	msgClose   = []byte(`"}`)
	msgNext    = []byte(`"},`)
)

// step puts the next piece into rest; false at the end.
func (p *Prompt) step() bool {
	c := &p.at
	for {
		switch c.part {
		case partStart:
			c.part = partClose
			c.message = -1
			c.rest = arrayOpen
			return true
		case partClose: // on to the next message, or to the end
			c.message++
			if c.message >= len(p.messages) {
				c.part, c.rest = partEnd, arrayClose
				return true
			}
			m := p.messages[c.message]
			c.part, c.bare, c.skip = partOpen, true, m.skip
			c.rest = opens[m.role]
			return true
		case partOpen:
			c.part = partMarker
			if c.message == p.marked && len(p.marker.text) > 0 {
				c.rest = p.marker.text
				return true
			}
		case partMarker, partText:
			c.part = partText
			if p.stepText() {
				return true
			}
			c.part, c.rest = partClose, msgNext
			if c.message == len(p.messages)-1 {
				c.rest = msgClose
			}
			return true
		default:
			return false
		}
	}
}

// stepText puts the next words of the message into rest; false when it has no more.
func (p *Prompt) stepText() bool {
	c := &p.at
	m := p.messages[c.message]
	for c.block < m.to {
		for c.offset == len(p.spans[c.span]) {
			c.span, c.offset = c.span+1, 0
		}
		id := p.spans[c.span][c.offset]
		c.block++
		c.offset++
		if p.hand(blockStart(p.key, id, p.size), p.size) {
			return true
		}
	}
	if c.message == len(p.messages)-1 {
		for c.tail < p.Tail {
			n := min(p.Tail-c.tail, maxSlice)
			c.tail += n
			if p.hand(p.tailStart, n) {
				return true
			}
		}
	}
	return false
}

// hand puts n words from start into rest, less those that the message leaves
// out; false when none remain.
func (p *Prompt) hand(start, n int) bool {
	c := &p.at
	if c.skip > 0 {
		left := min(int(c.skip), n)
		c.skip -= int32(left)
		start, n = start+left, n-left
		if n == 0 {
			return false
		}
	}
	c.rest = p.text.Slice(start, n)
	if c.bare {
		c.rest, c.bare = c.rest[1:], false
	}
	return true
}
