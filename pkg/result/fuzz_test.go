package result

import (
	"bytes"
	"testing"

	"github.com/org/agentx-action/pkg/result/record"
)

// FuzzCompute: whatever the files hold, figures are finite and the document
// fits its schema.
func FuzzCompute(f *testing.F) {
	var records, trees, samples bytes.Buffer
	writeLines(f, &records, sampleRecords()[45:62])
	writeLines(f, &trees, sampleTrees())
	writeLines(f, &samples, []record.Sample{{At: 11 * second, Phase: record.PhaseProfiling, CPUShare: ptr(0.9)}, {At: 13 * second, Phase: record.PhaseProfiling, CPUShare: ptr(0.9)}})
	f.Add(records.Bytes(), trees.Bytes(), samples.Bytes())
	f.Add([]byte(`{"asked":{"num":0,"phase":"profiling","turn":9223372036854775807},"seen":{"outcome":"ok","sent_ns":1,"end_ns":9223372036854775807,"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}}}`),
		[]byte(`{"start_ns":9223372036854775807,"why":"x"}`), []byte(`{"at_ns":-1,"phase":"profiling","cpu_share":1e308}`))
	f.Fuzz(func(t *testing.T, records, trees, samples []byte) {
		d, err := Compute(sampleFacts(), Sources{bytes.NewReader(records), bytes.NewReader(trees), bytes.NewReader(samples)})
		if err != nil {
			return
		}
		d.MeasurementVersion, d.Evidence = 1, []File{}
		if _, err := d.Encode(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.AIPerf(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.AIPerfCSV(); err != nil {
			t.Fatal(err)
		}
	})
}
