package sim

import (
	"sync"

	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// vocabulary is what the engine answers with: the words and their token ids.
type vocabulary struct {
	words []string
	ids   []uint64
}

var theVocabulary = sync.OnceValue(func() vocabulary {
	v := vocabulary{words: words.List()}
	for _, word := range v.words {
		words.Each(word, func(token uint64) { v.ids = append(v.ids, token) })
	}
	return v
})

// pick is the index of the i-th word of the answer to a prompt. Equal prompts
// get equal answers, as with greedy decoding.
func (v *vocabulary) pick(prompt uint64, i int) int {
	return int(mix(prompt+uint64(i)) % uint64(len(v.words)))
}
