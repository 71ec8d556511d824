package words

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Real vocabularies: AGENTX_TOKENIZERS lists tokenizer.json files, which are too
// large to be kept here; .ci/e2e-engine fetches them. That a word stands in the
// vocabulary says that the model has it as one token; that its tokenizer also
// takes it as one is seen in the drift of a run against a real engine.
func TestWordsOfRealTokenizers(t *testing.T) {
	files := filepath.SplitList(os.Getenv("AGENTX_TOKENIZERS"))
	if len(files) == 0 {
		t.Skip("AGENTX_TOKENIZERS names no tokenizer.json; make e2e-engine does")
	}
	for _, file := range files {
		vocabulary := vocabularyOf(t, file)
		separator := "Ġ" // how byte-level tokenizers write a space
		if _, ok := vocabulary[separator+"the"]; !ok {
			separator = "▁" // SentencePiece
		}
		for _, word := range List() {
			for _, token := range []string{word, separator + word} {
				if _, ok := vocabulary[token]; !ok {
					t.Errorf("%s has no token %q", file, token)
				}
			}
		}
	}
}

func vocabularyOf(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tokenizer struct {
		Model struct {
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(text, &tokenizer); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if n := len(tokenizer.Model.Vocab); n < 1000 {
		t.Fatalf("%s: %d tokens, is it a tokenizer.json with a vocabulary by name? %s", file, n, strings.TrimSpace(string(text[:min(len(text), 80)])))
	}
	return tokenizer.Model.Vocab
}
