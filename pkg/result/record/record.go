package record

// Record is one request: what the plan asked for and what came of it.
type Record struct {
	Asked Asked `json:"asked"`
	Seen  Seen  `json:"seen"`
}

// Phase says which part of a run a request belongs to.
type Phase string

// The phases of a run, in their order. Only PhaseProfiling enters the metrics.
const (
	PhaseWarmup    Phase = "warmup"
	PhaseProfiling Phase = "profiling"
)

// Kind says why a request was sent.
type Kind string

// Why a request was sent (spec/replay.md §4.4, §4.5).
const (
	KindPrimer   Kind = "primer"   // warm-up step A: the turn before the entry point, one output token
	KindPressure Kind = "pressure" // warm-up step B: a normal turn without delay, one output token
	KindTurn     Kind = "turn"     // profiling: a recorded turn
	KindFixed    Kind = "fixed"    // a request of the fixed-length baseline
)

// Asked is a request as planned, before anything was sent.
type Asked struct {
	Num   int   `json:"num"` // order of issue in the run, from 0
	Phase Phase `json:"phase" jsonschema:"enum=warmup,enum=profiling"`
	Kind  Kind  `json:"kind" jsonschema:"enum=primer,enum=pressure,enum=turn,enum=fixed"`

	TraceID  string `json:"trace_id,omitzero"`
	Lane     int    `json:"lane"`
	Tree     int    `json:"tree"`      // number of the tree in the run, from 0, in order of start
	Pass     int    `json:"pass"`      // how often this trace was started before in this run
	StreamID string `json:"stream_id"` // conversation id: the trace id, or <trace>::sa:… and the like
	Turn     int    `json:"turn"`      // index in its stream
	Depth    int    `json:"depth"`     // 0 root, 1 child
	Join     bool   `json:"join,omitzero"`

	RequestID           string `json:"request_id"`
	CorrelationID       string `json:"correlation_id"`                 // one play of one stream
	ParentCorrelationID string `json:"parent_correlation_id,omitzero"` // the spawning stream's, for children
	RootCorrelationID   string `json:"root_correlation_id,omitzero"`

	Model       string `json:"model"`
	MaxTokens   int    `json:"max_tokens"`             // sent as max_completion_tokens
	RecordedIn  int    `json:"recorded_in"`            // tokens
	RecordedOut int    `json:"recorded_out"`           // tokens
	TextTokens  int    `json:"text_tokens"`            // words of message text without the marker
	MarkTokens  int    `json:"marker_tokens"`          // words of the cache-bust marker
	Messages    int    `json:"messages"`               // length of the message array
	Reset       bool   `json:"reset,omitzero"`         // an earlier message was altered (spec/replay.md §3.6)
	Digest      string `json:"digest,omitzero"`        // of the text as sent, marker apart; absent when it did not go out whole
	BlockSize   int    `json:"block_size,omitzero"`    // tokens
	Blocks      int    `json:"blocks,omitzero"`        // whole blocks of the prompt
	HitInstant  int    `json:"hit_instant,omitzero"`   // blocks, decisions.md 3
	HitCausal   int    `json:"hit_causal,omitzero"`    // blocks, decisions.md 3
	IdealEnded  int    `json:"ideal_ended,omitzero"`   // blocks, ideal as played (decisions.md 15)
	IdealBegun  int    `json:"ideal_begun,omitzero"`   // blocks, the same but counting requests of the tree still in flight
	DelayMs     int64  `json:"delay_ms,omitzero"`      // planned end-to-start delay
	SkippedMs   int64  `json:"skipped_ms,omitzero"`    // idle time of the tree that caps had removed before this request
	Due         Stamp  `json:"due_ns,omitzero"`        // when the plan wanted it sent
	Issued      Stamp  `json:"issued_ns,omitzero"`     // when the scheduler let it go (gates and joins passed)
	JoinSince   Stamp  `json:"join_since_ns,omitzero"` // since when only children held it back
	// Ready is when nothing but the client held the request back any more: the
	// latest of Due and the end of whatever gated it (joins, predecessor gates,
	// barriers). Schedule lag is counted from here. Absent: see Record.Lag.
	Ready Stamp `json:"ready_ns,omitzero"`
}

// Outcome is the way a request ended.
type Outcome string

// The ways a request can end (spec/replay.md §4.6, §4.11; decisions.md 18).
const (
	OK       Outcome = "ok"
	Failed   Outcome = "error"
	Overflow Outcome = "overflow" // the engine's context was too small: no error, no metric, its own count
	Censored Outcome = "censored" // cut off by the end of the run or the user: no error, no latency
)

// Seen is what happened to one request.
type Seen struct {
	Outcome Outcome `json:"outcome" jsonschema:"enum=ok,enum=error,enum=overflow,enum=censored"`
	Status  int     `json:"status,omitzero"` // HTTP status, 0 when none arrived
	Error   *Error  `json:"error,omitzero"`

	Sent        Stamp `json:"sent_ns,omitzero"`         // S: just before the HTTP call
	Headers     Stamp `json:"headers_ns,omitzero"`      // response header complete
	FirstByte   Stamp `json:"first_byte_ns,omitzero"`   // first byte of the response body
	FirstToken  Stamp `json:"first_token_ns,omitzero"`  // C_1: first content, reasoning or tool text
	FirstOutput Stamp `json:"first_output_ns,omitzero"` // first text that is not reasoning
	SecondToken Stamp `json:"second_token_ns,omitzero"` // C_2: second chunk with output
	LastToken   Stamp `json:"last_token_ns,omitzero"`   // L: last chunk with output
	End         Stamp `json:"end_ns,omitzero"`          // E: stream ended

	Chunks      int     `json:"chunks,omitzero"`         // chunks with output
	Events      int     `json:"events,omitzero"`         // all events of the stream
	ChunkGapsNs []int64 `json:"chunk_gaps_ns,omitempty"` // C_{i+1} − C_i
	Finish      string  `json:"finish,omitzero"`         // finish_reason

	Usage *Usage `json:"usage,omitzero"`
	HTTP  HTTP   `json:"http,omitzero"`
}

// Usage is the engine's own count, from the last non-empty usage object. A
// field the engine did not send is nil.
type Usage struct {
	PromptTokens     *int64 `json:"prompt_tokens,omitzero"`
	CompletionTokens *int64 `json:"completion_tokens,omitzero"`
	TotalTokens      *int64 `json:"total_tokens,omitzero"`
	CachedTokens     *int64 `json:"cached_tokens,omitzero"`
	ReasoningTokens  *int64 `json:"reasoning_tokens,omitzero"`
	// FirstChunkTokens is the completion count at the first output chunk, known
	// only when the engine sends usage with every chunk.
	FirstChunkTokens *int64 `json:"first_chunk_tokens,omitzero"`
}

// HTTP holds the phases of the exchange (spec/replay.md §7.9). A phase that
// could not be attributed is nil; one that did not take place on a reused
// connection is 0.
type HTTP struct {
	Reused        *bool  `json:"reused,omitzero"`
	BlockedNs     *int64 `json:"blocked_ns,omitzero"`
	DNSNs         *int64 `json:"dns_ns,omitzero"`
	ConnectNs     *int64 `json:"connect_ns,omitzero"` // TCP and TLS
	SendNs        *int64 `json:"send_ns,omitzero"`
	WaitNs        *int64 `json:"wait_ns,omitzero"`    // request written to first body byte
	ReceiveNs     *int64 `json:"receive_ns,omitzero"` // first to last body read
	BytesSent     *int64 `json:"bytes_sent,omitzero"` // on the connection, header included
	BytesReceived *int64 `json:"bytes_received,omitzero"`
	WriteCalls    *int64 `json:"write_calls,omitzero"`
	ReadCalls     *int64 `json:"read_calls,omitzero"`
	Retries       int    `json:"retries,omitzero"` // only with --retry-unsent
}

// Error is a failure in the words of whoever reported it. Message is cut to
// MaxErrorMessage bytes and holds no secret of ours.
type Error struct {
	Code    int    `json:"code"` // HTTP status, 499 cancelled, 502 in-stream error, 0 transport
	Type    string `json:"type"` // a short stable class, e.g. "connect_refused"
	Message string `json:"message"`
}

// MaxErrorMessage bounds Error.Message, in bytes.
const MaxErrorMessage = 2048
