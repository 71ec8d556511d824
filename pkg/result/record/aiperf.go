package record

import (
	"time"
)

// AIPerf is a Record as one line of AIPerf's profile_export.jsonl
// (spec/replay.md §8.1). Times are nanoseconds since the Unix epoch.
type AIPerf struct {
	Metadata  AIPerfMetadata          `json:"metadata"`
	Metrics   map[string]AIPerfMetric `json:"metrics"`
	TraceData *AIPerfTrace            `json:"trace_data,omitzero"`
	Error     *AIPerfError            `json:"error"` // null for a success
}

// AIPerfMetadata says which request a line is about.
type AIPerfMetadata struct {
	RequestNum          int    `json:"request_num"`
	SessionNum          int    `json:"session_num"`
	XRequestID          string `json:"x_request_id"`
	XCorrelationID      string `json:"x_correlation_id"`
	ConversationID      string `json:"conversation_id"`
	TurnIndex           int    `json:"turn_index"`
	CreditIssuedNs      int64  `json:"credit_issued_ns,omitzero"`
	RequestStartNs      int64  `json:"request_start_ns"`
	RequestAckNs        int64  `json:"request_ack_ns,omitzero"`
	RequestEndNs        int64  `json:"request_end_ns"`
	WorkerID            string `json:"worker_id"`
	RecordProcessorID   string `json:"record_processor_id"`
	BenchmarkPhase      Phase  `json:"benchmark_phase"`
	WasCancelled        bool   `json:"was_cancelled"`
	CancellationTimeNs  int64  `json:"cancellation_time_ns,omitzero"`
	AgentDepth          int    `json:"agent_depth"`
	ParentCorrelationID string `json:"parent_correlation_id,omitzero"`
	RootCorrelationID   string `json:"root_correlation_id,omitzero"`
}

// AIPerfMetric is one figure of a line. Value is a number, or a list of numbers
// for inter_chunk_latency.
type AIPerfMetric struct {
	Value any    `json:"value"`
	Unit  string `json:"unit"`
}

// AIPerfTrace holds the HTTP time points that were seen.
type AIPerfTrace struct {
	TraceType          string `json:"trace_type"`
	RequestSendStartNs int64  `json:"request_send_start_ns,omitzero"`
	ResponseHeadersNs  int64  `json:"response_headers_received_ns,omitzero"`
	ResponseStartNs    int64  `json:"response_receive_start_ns,omitzero"`
	ResponseEndNs      int64  `json:"response_receive_end_ns,omitzero"`
	ResponseStatusCode int    `json:"response_status_code,omitzero"`
	ConnectionReused   *bool  `json:"connection_reused,omitzero"`
}

// AIPerfError is the failure of a line.
type AIPerfError struct {
	Code    int    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// CodeCancelled is the error code of a request that was cut off.
const CodeCancelled = 499

// AIPerfLine gives r as AIPerf would write it. origin is the wall time of Stamp
// 0. ok is false for a record that AIPerf leaves out: a context overflow
// (spec/replay.md §4.11), or a request that was never sent.
func AIPerfLine(r *Record, origin time.Time, c Counting) (line AIPerf, ok bool) {
	if r.Seen.Outcome == Overflow || !r.Seen.Sent.Seen() {
		return AIPerf{}, false
	}
	at := epoch(origin)
	line = AIPerf{Metadata: aiperfMetadata(r, at), Metrics: aiperfMetrics(r, c), TraceData: aiperfTrace(r, at)}
	switch e := r.Seen.Error; {
	case r.Seen.Outcome == Censored:
		line.Error = &AIPerfError{CodeCancelled, "RequestCancellationError", "cut off by the end of the run"}
		if e != nil {
			line.Error.Message = e.Message
		}
	case e != nil:
		line.Error = &AIPerfError{e.Code, e.Type, e.Message}
	case r.Seen.Outcome == Failed:
		line.Error = &AIPerfError{r.Seen.Status, "unknown", "failed without an error"}
	}
	return line, true
}

func aiperfMetadata(r *Record, at func(Stamp) int64) AIPerfMetadata {
	a, s := &r.Asked, &r.Seen
	m := AIPerfMetadata{
		RequestNum: a.Num, SessionNum: a.Tree,
		XRequestID: a.RequestID, XCorrelationID: a.CorrelationID,
		ConversationID: a.StreamID, TurnIndex: a.Turn,
		CreditIssuedNs: at(a.Issued), RequestStartNs: at(s.Sent), RequestAckNs: at(s.Headers), RequestEndNs: at(s.End),
		WorkerID: "agentx", RecordProcessorID: "agentx",
		BenchmarkPhase: a.Phase, AgentDepth: a.Depth,
		ParentCorrelationID: a.ParentCorrelationID, RootCorrelationID: a.RootCorrelationID,
	}
	if !s.End.Seen() { // readers need an end; the last thing seen is the best there is
		m.RequestEndNs = at(max(s.Sent, s.Headers, s.FirstByte, s.LastToken))
	}
	if s.Outcome == Censored {
		m.WasCancelled = true
		m.CancellationTimeNs = m.RequestEndNs
	}
	return m
}

// aiperfMetrics computes the figures of a success; a failure only has the
// length of its input, as in AIPerf.
func aiperfMetrics(r *Record, c Counting) map[string]AIPerfMetric {
	out := map[string]AIPerfMetric{}
	if r.Seen.Outcome != OK {
		if n, ok := r.InputTokens(c); ok {
			out["error_isl"] = AIPerfMetric{n, unitTokens}
		}
		return out
	}
	for _, m := range metrics {
		if m.Own {
			continue
		}
		if v, ok := m.Of(r, c); ok {
			out[m.Key] = AIPerfMetric{v, m.Unit}
		}
	}
	if gaps := r.Seen.ChunkGapsNs; len(gaps) > 0 {
		list := make([]float64, len(gaps))
		for i, g := range gaps {
			list[i] = float64(g) / 1e6
		}
		out[ChunkGaps] = AIPerfMetric{list, unitMs}
	}
	return out
}

func aiperfTrace(r *Record, at func(Stamp) int64) *AIPerfTrace {
	if r.Seen.HTTP == (HTTP{}) {
		return nil
	}
	s := &r.Seen
	t := &AIPerfTrace{
		TraceType:         "agentx",
		ResponseHeadersNs: at(s.Headers), ResponseStartNs: at(s.FirstByte), ResponseEndNs: at(s.End),
		ResponseStatusCode: s.Status, ConnectionReused: s.HTTP.Reused,
	}
	if b := s.HTTP.BlockedNs; b != nil && s.HTTP.DNSNs != nil && s.HTTP.ConnectNs != nil {
		t.RequestSendStartNs = at(s.Sent.Add(time.Duration(*b + *s.HTTP.DNSNs + *s.HTTP.ConnectNs)))
	}
	return t
}

// epoch turns a Stamp into Unix nanoseconds; an unseen one stays 0.
func epoch(origin time.Time) func(Stamp) int64 {
	zero := origin.UnixNano()
	return func(s Stamp) int64 {
		if !s.Seen() {
			return 0
		}
		return zero + int64(s)
	}
}
