package record

import "time"

// Counting says whose count of prompt tokens is the input length.
type Counting string

// Whose count is used. The zero value is CountServer, as InferenceX runs it
// (spec/replay.md §3.8). There is no local count of output tokens: the engine's
// usage is the only source of output lengths.
const (
	CountServer Counting = "server" // usage.prompt_tokens
	CountClient Counting = "client" // words of text and marker
)

// Metric is one figure of a single request, under AIPerf's name and display
// unit (spec/replay.md §7.2, §7.5, §7.9).
type Metric struct {
	Key  string
	Unit string // ms, ms/token, tokens, tokens/sec/user, %, KB, count, ratio
	Name string // for people, in tables and CSV
	// Larger is set where a larger value is the better one; it decides the
	// direction of a goodput threshold.
	Larger bool
	// Adjusted metrics get a failure-adjusted twin adj_<key> (spec/replay.md §7.6).
	Adjusted bool
	// Own marks a figure that AIPerf doesn't have; it stays out of AIPerf's files.
	Own bool
	// Of computes the figure; false when the record doesn't have what it takes.
	Of func(*Record, Counting) (float64, bool)
}

// Metrics lists every figure of a single request, in the order of the tables.
// Inter-chunk latency, the one list, is ChunkGaps.
func Metrics() []Metric { return metrics }

// MetricByKey finds a metric by its key.
func MetricByKey(key string) (Metric, bool) {
	for _, m := range metrics {
		if m.Key == key {
			return m, true
		}
	}
	return Metric{}, false
}

// ChunkGaps is the key of the one metric that is a list: the gaps between
// chunks with output, in ms.
const ChunkGaps = "inter_chunk_latency"

const (
	unitMs      = "ms"
	unitTokens  = "tokens"
	unitPerUser = "tokens/sec/user"
)

var metrics = []Metric{
	{Key: "time_to_first_token", Unit: unitMs, Name: "Time to First Token", Adjusted: true, Of: msBetween(sent, firstToken)},
	{Key: "time_to_second_token", Unit: unitMs, Name: "Time to Second Token", Of: msBetween(firstToken, secondToken)},
	{Key: "time_to_first_output_token", Unit: unitMs, Name: "Time to First Output Token", Of: msBetween(sent, firstOutput)},
	{Key: "request_latency", Unit: unitMs, Name: "Request Latency", Adjusted: true, Of: msBetween(sent, lastToken)},
	{Key: "inter_token_latency", Unit: unitMs, Name: "Inter Token Latency", Adjusted: true, Of: interToken},
	{Key: "output_token_throughput_per_user", Unit: unitPerUser, Name: "Output Token Throughput Per User", Larger: true, Of: perSecond(interToken)},
	{Key: "e2e_output_token_throughput", Unit: unitPerUser, Name: "E2E Output Token Throughput", Larger: true, Of: e2eThroughput},
	{Key: "prefill_throughput_per_user", Unit: unitPerUser, Name: "Prefill Throughput Per User", Larger: true, Of: prefillThroughput},
	{Key: "decode_duration", Unit: unitMs, Name: "Decode Duration", Adjusted: true, Of: msBetween(firstToken, lastToken)},
	{Key: "full_decode_duration", Unit: unitMs, Name: "Full Decode Duration", Of: msBetween(firstToken, end)},
	{Key: "full_response_inter_token_latency", Unit: unitMs, Name: "Full Response Inter Token Latency", Of: fullInterToken},
	{Key: "full_response_output_token_throughput_per_user", Unit: unitPerUser, Name: "Full Response Output Token Throughput Per User", Larger: true, Of: perSecond(fullInterToken)},
	{Key: "effective_latency", Unit: unitMs, Name: "Effective Latency (CO-aware)", Adjusted: true, Of: msBetween(issued, end)},
	{Key: "stream_setup_latency", Unit: unitMs, Name: "Stream Setup Latency", Of: msBetween(sent, headers)},
	{Key: "stream_prefill_latency", Unit: unitMs, Name: "Stream Prefill Latency", Of: msBetween(headers, firstToken)},
	{Key: "credit_drop_latency", Unit: unitMs, Name: "Credit Drop Latency", Of: msBetween(issued, sent)},

	{Key: "input_sequence_length", Unit: unitTokens, Name: "Input Sequence Length", Larger: true, Of: func(r *Record, c Counting) (float64, bool) { return count(r.InputTokens(c)) }},
	{Key: "output_sequence_length", Unit: unitTokens, Name: "Output Sequence Length", Larger: true, Of: func(r *Record, _ Counting) (float64, bool) { return count(r.OutputTokens()) }},
	{Key: "output_token_count", Unit: unitTokens, Name: "Output Token Count", Larger: true, Of: visibleTokens},
	{Key: "reasoning_token_count", Unit: unitTokens, Name: "Reasoning Token Count", Of: usage(func(u *Usage) *int64 { return u.ReasoningTokens })},
	{Key: "requested_osl", Unit: unitTokens, Name: "Requested Output Sequence Length", Of: requested},
	{Key: "osl_mismatch_diff_pct", Unit: "%", Name: "OSL Mismatch Diff %", Of: mismatchPct},

	{Key: "usage_prompt_tokens", Unit: unitTokens, Name: "Usage Prompt Tokens", Larger: true, Of: usage(func(u *Usage) *int64 { return u.PromptTokens })},
	{Key: "usage_completion_tokens", Unit: unitTokens, Name: "Usage Completion Tokens", Larger: true, Of: usage(func(u *Usage) *int64 { return u.CompletionTokens })},
	{Key: "usage_total_tokens", Unit: unitTokens, Name: "Usage Total Tokens", Larger: true, Of: usage(func(u *Usage) *int64 { return u.TotalTokens })},
	{Key: "usage_reasoning_tokens", Unit: unitTokens, Name: "Usage Reasoning Tokens", Of: usage(func(u *Usage) *int64 { return u.ReasoningTokens })},
	{Key: "usage_prompt_cache_read_tokens", Unit: unitTokens, Name: "Usage Prompt Cache Read Tokens", Larger: true, Of: usage(func(u *Usage) *int64 { return u.CachedTokens })},

	{Key: "http_req_blocked", Unit: unitMs, Name: "HTTP Blocked", Of: phases(blocked)},
	{Key: "http_req_dns_lookup", Unit: unitMs, Name: "HTTP DNS Lookup", Of: phases(dns)},
	{Key: "http_req_connecting", Unit: unitMs, Name: "HTTP Connecting", Of: phases(connecting)},
	{Key: "http_req_sending", Unit: unitMs, Name: "HTTP Sending", Of: phases(sending)},
	{Key: "http_req_waiting", Unit: unitMs, Name: "HTTP Waiting (TTFB)", Of: phases(waiting)},
	{Key: "http_req_receiving", Unit: unitMs, Name: "HTTP Receiving", Of: phases(receiving)},
	{Key: "http_req_duration", Unit: unitMs, Name: "HTTP Duration (excl. conn)", Of: phases(sending, waiting, receiving)},
	{Key: "http_req_connection_overhead", Unit: unitMs, Name: "HTTP Connection Overhead", Of: phases(blocked, dns, connecting)},
	{Key: "http_req_total", Unit: unitMs, Name: "HTTP Total Time", Of: phases(blocked, dns, connecting, sending, waiting, receiving)},
	{Key: "http_req_connection_reused", Unit: "ratio", Name: "HTTP Connection Reused", Larger: true, Of: reused},
	// AIPerf's KB are 1,024 bytes.
	{Key: "http_req_data_sent", Unit: "KB", Name: "HTTP Data Sent", Of: scaled(func(h *HTTP) *int64 { return h.BytesSent }, 1.0/1024)},
	{Key: "http_req_data_received", Unit: "KB", Name: "HTTP Data Received", Of: scaled(func(h *HTTP) *int64 { return h.BytesReceived }, 1.0/1024)},
	{Key: "http_req_chunks_sent", Unit: "count", Name: "HTTP Chunks Sent", Of: scaled(func(h *HTTP) *int64 { return h.WriteCalls }, 1)},
	{Key: "http_req_chunks_received", Unit: "count", Name: "HTTP Chunks Received", Of: scaled(func(h *HTTP) *int64 { return h.ReadCalls }, 1)},

	{Key: "e2e_latency_per_output_token", Unit: "ms/token", Name: "E2E Latency per Output Token", Own: true, Of: latencyPerToken},
	{Key: "tokens_per_chunk", Unit: unitTokens, Name: "Tokens per Chunk", Own: true, Of: tokensPerChunk},
	{Key: "schedule_lag", Unit: unitMs, Name: "Schedule Lag (due to sent)", Own: true, Of: func(r *Record, _ Counting) (float64, bool) { return ms(r.Lag()) }},
}

// InputTokens is the input length by whose count c says.
func (r *Record) InputTokens(c Counting) (int64, bool) {
	if c == CountClient {
		return int64(r.Asked.TextTokens + r.Asked.MarkTokens), true
	}
	if u := r.Seen.Usage; u != nil && u.PromptTokens != nil {
		return *u.PromptTokens, true
	}
	return 0, false
}

// OutputTokens is the engine's count of output tokens, reasoning included.
func (r *Record) OutputTokens() (int64, bool) {
	if u := r.Seen.Usage; u != nil && u.CompletionTokens != nil {
		return *u.CompletionTokens, true
	}
	return 0, false
}

// CachedTokens is how much of the prompt the engine says came from its cache.
// A count above the prompt's length is no measurement.
func (r *Record) CachedTokens() (int64, bool) {
	u := r.Seen.Usage
	if u == nil || u.CachedTokens == nil || u.PromptTokens == nil || *u.CachedTokens > *u.PromptTokens {
		return 0, false
	}
	return *u.CachedTokens, true
}

// Lag is how late the client sent the request: from the moment when nothing but
// the client held it back (Ready) to Sent. Without Ready that moment is Issued
// for a turn that waited for children, and Due for any other. Never negative.
func (r *Record) Lag() (time.Duration, bool) {
	from := r.Asked.Ready
	if !from.Seen() {
		from = r.Asked.Due
		if r.Asked.JoinSince.Seen() {
			from = r.Asked.Issued
		}
	}
	d, ok := r.Seen.Sent.Sub(from)
	return max(d, 0), ok
}

// JoinWait is how long a join turn waited for children after its own delay had
// passed (decisions.md 28); 0 for a join turn whose children were done before.
func (r *Record) JoinWait() (time.Duration, bool) {
	if !r.Asked.Join {
		return 0, false
	}
	if !r.Asked.JoinSince.Seen() {
		return 0, true
	}
	return r.Asked.Issued.Sub(r.Asked.JoinSince)
}

// OutputMismatch reports whether the output length misses the requested one by
// more than 5 % or 50 tokens, whichever is less (spec/replay.md §7.2). known is
// false when the engine didn't count.
func (r *Record) OutputMismatch() (mismatch, known bool) {
	got, ok := r.OutputTokens()
	if !ok || r.Asked.MaxTokens <= 0 {
		return false, false
	}
	want := int64(r.Asked.MaxTokens)
	diff := float64(max(got-want, want-got))
	return diff > min(0.05*float64(want), 50), true
}
