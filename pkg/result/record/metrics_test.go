package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write golden files")

// TestMetricsByHand holds every metric against figures worked out on paper from
// full(): sent 1.002 s, first token 1.102, last 1.202, end 1.21, 11 tokens.
func TestMetricsByHand(t *testing.T) {
	want := map[string]float64{
		"time_to_first_token": 100, "time_to_second_token": 20, "time_to_first_output_token": 120,
		"request_latency": 200, "inter_token_latency": 10, "output_token_throughput_per_user": 100,
		"e2e_output_token_throughput": 55, "prefill_throughput_per_user": 10200,
		"decode_duration": 100, "full_decode_duration": 108, "full_response_inter_token_latency": 10.8,
		"full_response_output_token_throughput_per_user": 1000 / 10.8,
		"effective_latency": 209, "stream_setup_latency": 48, "stream_prefill_latency": 52, "credit_drop_latency": 1,
		"input_sequence_length": 1020, "output_sequence_length": 11, "output_token_count": 8, "reasoning_token_count": 3,
		"requested_osl": 11, "osl_mismatch_diff_pct": 0,
		"usage_prompt_tokens": 1020, "usage_completion_tokens": 11, "usage_total_tokens": 1031, "usage_reasoning_tokens": 3, "usage_prompt_cache_read_tokens": 768,
		"http_req_blocked": 1, "http_req_dns_lookup": 0, "http_req_connecting": 0, "http_req_sending": 2, "http_req_waiting": 95, "http_req_receiving": 110,
		"http_req_duration": 207, "http_req_connection_overhead": 1, "http_req_total": 208,
		"http_req_connection_reused": 1, "http_req_data_sent": 5000.0 / 1024, "http_req_data_received": 2500.0 / 1024, "http_req_chunks_sent": 2, "http_req_chunks_received": 4,
		"e2e_latency_per_output_token": 200.0 / 11, "tokens_per_chunk": 11.0 / 3, "schedule_lag": 2,
	}
	r := full()
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Key] {
			t.Errorf("%s is listed twice", m.Key)
		}
		seen[m.Key] = true
		w, listed := want[m.Key]
		got, ok := m.Of(&r, CountServer)
		if !listed || !ok || math.Abs(got-w) > 1e-9*math.Max(1, w) {
			t.Errorf("%s = %v %v, want %v (listed %v)", m.Key, got, ok, w, listed)
		}
		if m.Unit == "" || m.Name == "" {
			t.Errorf("%s has no unit or name", m.Key)
		}
	}
	for key := range want {
		if !seen[key] {
			t.Errorf("%s is not computed", key)
		}
	}
	if n, _ := r.InputTokens(CountClient); n != 1012 {
		t.Errorf("client's count %d, want text and marker 1012", n)
	}
}

func TestMetricsAbsent(t *testing.T) {
	r := Record{Seen: Seen{Outcome: OK, Sent: 5, End: 9}}
	for _, m := range Metrics() {
		if v, ok := m.Of(&r, CountServer); ok {
			t.Errorf("%s = %v of a record that has nothing", m.Key, v)
		}
	}
	none := full()
	none.Seen.Usage.CompletionTokens = ptr[int64](0)
	if m, _ := MetricByKey("e2e_latency_per_output_token"); m.Of == nil {
		t.Error("no latency per output token")
	} else if v, ok := m.Of(&none, CountServer); ok {
		t.Errorf("%v ms a token without any", v)
	}
	one := full()
	one.Seen.Usage.CompletionTokens = ptr[int64](1)
	for _, key := range []string{"inter_token_latency", "output_token_throughput_per_user", "full_response_inter_token_latency"} {
		m, _ := MetricByKey(key)
		if v, ok := m.Of(&one, CountServer); ok {
			t.Errorf("%s = %v with one output token", key, v)
		}
	}
}

func TestInterTokenWithFirstChunk(t *testing.T) {
	r := full()
	r.Seen.Usage.FirstChunkTokens = ptr[int64](6)
	m, _ := MetricByKey("inter_token_latency")
	if got, _ := m.Of(&r, CountServer); got != 20 { // 100 ms over 11 − 6 tokens
		t.Errorf("ITL %v, want 20", got)
	}
	r.Seen.Usage.FirstChunkTokens = ptr[int64](11)
	if got, ok := m.Of(&r, CountServer); ok {
		t.Errorf("ITL %v though everything came at once", got)
	}
}

func TestLag(t *testing.T) {
	for name, c := range map[string]struct {
		asked Asked
		want  time.Duration
		ok    bool
	}{
		"due":       {Asked{Due: 90}, 10, true},
		"ready":     {Asked{Due: 10, Ready: 97}, 3, true},
		"join":      {Asked{Due: 10, JoinSince: 10, Issued: 99, Join: true}, 1, true},
		"early":     {Asked{Due: 101}, 0, true},
		"never due": {Asked{}, 0, false},
	} {
		r := Record{Asked: c.asked, Seen: Seen{Sent: 100}}
		if got, ok := r.Lag(); got != c.want || ok != c.ok {
			t.Errorf("%s: %v %v, want %v %v", name, got, ok, c.want, c.ok)
		}
	}
}

func TestOutputMismatch(t *testing.T) {
	for _, c := range []struct {
		asked    int
		got      int64
		mismatch bool
	}{{100, 100, false}, {100, 95, false}, {100, 94, true}, {100, 106, true}, {10000, 9950, false}, {10000, 9949, true}, {1, 1, false}, {1, 2, true}} {
		r := Record{Asked: Asked{MaxTokens: c.asked}, Seen: Seen{Usage: &Usage{CompletionTokens: &c.got}}}
		if got, known := r.OutputMismatch(); got != c.mismatch || !known {
			t.Errorf("asked %d, got %d: %v %v, want %v", c.asked, c.got, got, known, c.mismatch)
		}
	}
}

func TestCachedAbovePromptIsNoCount(t *testing.T) {
	r := full()
	r.Seen.Usage.CachedTokens = ptr[int64](1021)
	if n, ok := r.CachedTokens(); ok {
		t.Errorf("%d cached of 1020 counts", n)
	}
}

// TestAIPerfGolden pins the lines of profile_export.jsonl.
func TestAIPerfGolden(t *testing.T) {
	origin := time.Unix(1_700_000_000, 0)
	ok, failed, cut, over, unsent := full(), full(), full(), full(), full()
	failed.Seen = Seen{Outcome: Failed, Status: 500, Sent: 1.002e9, Headers: 1.05e9, End: 1.06e9, Error: &Error{Code: 500, Type: "http_status", Message: "boom"}}
	cut.Seen.Outcome, cut.Seen.Usage = Censored, nil
	over.Seen.Outcome = Overflow
	unsent.Seen = Seen{Outcome: Censored}
	var got bytes.Buffer
	for _, r := range []Record{ok, failed, cut, over, unsent} {
		line, keep := AIPerfLine(&r, origin, CountServer)
		if want := r.Seen.Outcome != Overflow && r.Seen.Sent.Seen(); keep != want {
			t.Errorf("%s record kept: %v, want %v", r.Seen.Outcome, keep, want)
		}
		if !keep {
			continue
		}
		var b bytes.Buffer
		w := NewWriter[AIPerf](&b)
		if err := w.Write(&line); err != nil {
			t.Fatal(err)
		}
		_ = w.Flush()
		if err := json.Indent(&got, b.Bytes(), "", " "); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join("testdata", "profile_export.golden")
	if *update {
		_ = os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
	}
}

// TestIXMinimumFields wants what InferenceX' tools read (spec/replay.md §8.1).
func TestIXMinimumFields(t *testing.T) {
	r := full()
	line, _ := AIPerfLine(&r, time.Unix(1_700_000_000, 5), CountServer)
	m := line.Metadata
	if m.BenchmarkPhase != "profiling" || m.RequestStartNs != 1_700_000_001_002_000_005 || m.RequestEndNs != 1_700_000_001_210_000_005 || m.ConversationID != "t1::sa:x" || m.TurnIndex != 4 || m.WasCancelled {
		t.Errorf("metadata %+v", m)
	}
	for key, unit := range map[string]string{"time_to_first_token": "ms", "request_latency": "ms", "inter_token_latency": "ms", "full_response_inter_token_latency": "ms",
		"input_sequence_length": "tokens", "output_sequence_length": "tokens"} {
		if got, ok := line.Metrics[key]; !ok || got.Unit != unit {
			t.Errorf("%s: %v, want unit %s", key, got, unit)
		}
	}
	if line.Error != nil {
		t.Errorf("error %v", line.Error)
	}
	cut := full()
	cut.Seen.Outcome = Censored
	if line, _ := AIPerfLine(&cut, time.Unix(1, 0), CountServer); line.Error == nil || line.Error.Code != 499 || !line.Metadata.WasCancelled || len(line.Metrics) > 1 {
		t.Errorf("censored: %+v", line)
	}
}
