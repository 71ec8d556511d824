package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// Marker is the cache-bust text of one tree: it keeps the prefixes of different
// trees apart (spec/replay.md §5). The zero Marker is none.
type Marker struct {
	text   []byte // as it stands at the start of a message, JSON-escaped, with what parts it from the first word
	Tokens int    // by construction; for MarkerAIPerf what the engine counts, once measured
}

// MarkerStyle chooses how a marker is written (decisions.md 11).
type MarkerStyle string

// The styles. The zero style is MarkerWords.
const (
	MarkerWords  MarkerStyle = "words"  // 12 words of the list, 12 tokens
	MarkerAIPerf MarkerStyle = "aiperf" // [rid:<12 hex>] and a blank line; its token count depends on the tokenizer
	MarkerNone   MarkerStyle = "none"
)

const markerWords = 12

var wordList = sync.OnceValue(words.List)

// NewMarker makes the marker of a tree: a hash of run, pass, lane and the trace id
// up to any "::". run is the id of the benchmark run, new for each, so that an
// engine that is still warm gives no hits; pass counts the trees of that trace in
// the run, from 0.
func NewMarker(style MarkerStyle, run string, pass, lane int, traceID string) Marker {
	traceID, _, _ = strings.Cut(traceID, "::")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s:%d:%d:%s", run, pass, lane, traceID))
	switch style {
	case MarkerNone:
		return Marker{}
	case MarkerAIPerf:
		text := append([]byte("[rid:"), hex.EncodeToString(sum[:6])...)
		return Marker{text: append(text, `]\n\n`...), Tokens: 1}
	}
	list := wordList()
	var text []byte
	for i := range markerWords {
		text = append(text, list[int(binary.BigEndian.Uint16(sum[2*i:]))%len(list)]...)
		text = append(text, ' ')
	}
	return Marker{text: text, Tokens: markerWords}
}

// Text is the marker as it stands in a JSON string, with what parts it from the
// first word of the message, which has no separator of its own.
func (m Marker) Text() []byte { return m.text }
