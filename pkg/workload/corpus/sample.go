package corpus

import (
	"bytes"
	_ "embed"
	"io"
)

// SampleSeed is the seed that the bundled corpus was generated from.
const SampleSeed = 12

//go:embed sample/traces.jsonl
var sample []byte

// Sample is the corpus that comes with the program: what [Synth] gives for
// [SampleSeed]. It is no recording.
func Sample(o Options) (*Corpus, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	embedded := &source{path: "sample/traces.jsonl", open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(sample)), nil
	}}
	return load("bundled sample", []*source{embedded}, o)
}
