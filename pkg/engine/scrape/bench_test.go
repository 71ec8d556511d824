package scrape

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// largePage is like a page of 8 vLLM engines: 900 KB, mostly buckets.
func largePage(b *testing.B) []byte {
	text := recorded(b, "vllm_0.10.txt")
	var page bytes.Buffer
	page.WriteString(text)
	for h := range 20 {
		fmt.Fprintf(&page, "# HELP vllm:histogram_%d_seconds Histogram.\n# TYPE vllm:histogram_%d_seconds histogram\n", h, h)
		for e := range 8 {
			for le := range 40 {
				fmt.Fprintf(&page, "vllm:histogram_%d_seconds_bucket{engine=\"%d\",le=\"%d.0\",model_name=\"meta-llama/Llama-3.1-405B-Instruct\"} %d.0\n", h, e, le, 100*le)
			}
		}
	}
	return page.Bytes()
}

func BenchmarkParseAndRead(b *testing.B) {
	body := largePage(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		families, err := Parse(body)
		if err != nil {
			b.Fatal(err)
		}
		if Read(&Page{Families: families}).Counters[PromptTokens] == 0 {
			b.Fatal("nothing read")
		}
	}
}

// BenchmarkWholePage is what reading every family would cost.
func BenchmarkWholePage(b *testing.B) {
	body := largePage(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		if _, err := parser.TextToMetricFamilies(bytes.NewReader(body)); err != nil {
			b.Fatal(err)
		}
	}
}
