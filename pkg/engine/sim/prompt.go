package sim

import (
	"math/bits"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// The chat template is ChatML: every message is
//
//	<start> role <newline> content <end> <newline>
//
// and the prompt ends in <start> assistant <newline>.
const (
	TokensPerMessage          = 5 // beside its content
	TokensPerGenerationPrompt = 3
)

// The template's own tokens: ids that no word hashes to but by accident.
const (
	tokenStart   uint64 = 0xf1357aea2e62a9c5
	tokenNewline uint64 = 0xc3a5c85c97cb3127
	tokenEnd     uint64 = 0xb492b66fbe98f273
)

// Prompt is a tokenised prompt of which only the length and one hash per full
// block is kept, so a prompt of a million tokens costs half a megabyte. The hash
// of a block covers all that stands before it. Make one with NewPrompt.
type Prompt struct {
	tokens    int
	blockSize int
	untilFull int    // tokens that the current block still takes
	chain     uint64 // hash of all tokens so far
	blocks    []uint64
}

// NewPrompt starts an empty prompt for an engine with blocks of that many tokens.
func NewPrompt(blockSize int) *Prompt {
	return &Prompt{blockSize: blockSize, untilFull: blockSize, chain: 0x2d358dccaa6c78a5}
}

// Add appends one token.
func (p *Prompt) Add(token uint64) {
	high, low := bits.Mul64(p.chain^token, 0x9e3779b97f4a7c15)
	p.chain = high ^ low ^ token
	p.tokens++
	if p.untilFull--; p.untilFull == 0 {
		p.blocks = append(p.blocks, p.chain)
		p.untilFull = p.blockSize
	}
}

// AddText appends the tokens of a text.
func (p *Prompt) AddText(text string) { words.Each(text, p.Add) }

// Len is the number of tokens.
func (p *Prompt) Len() int { return p.tokens }

func (p *Prompt) openMessage(role string) {
	p.Add(tokenStart)
	p.Add(roleToken(role))
	p.Add(tokenNewline)
}

func (p *Prompt) closeMessage() {
	p.Add(tokenEnd)
	p.Add(tokenNewline)
}

func (p *Prompt) openAnswer() { p.openMessage("assistant") }

// roleToken is one token whatever the role's text is.
func roleToken(role string) uint64 {
	h := tokenStart
	words.Each(role, func(token uint64) { h = mix(h ^ token) })
	return h
}
