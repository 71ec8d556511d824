package sim

import (
	"fmt"
	"math"
)

// Faults are the ways the engine can be told to misbehave (spec/pitfalls.md).
// A field that ends in Rate is the share of completion requests it strikes, 0 to
// 1: which ones follows from the seed and the request's number alone, so a run
// can be repeated. A request may be struck by several.
type Faults struct {
	// PrefillSlowdown and DecodeSlowdown multiply the times; default 1. Below 1
	// the engine is faster.
	PrefillSlowdown float64 `json:"prefill_slowdown,omitzero"`
	DecodeSlowdown  float64 `json:"decode_slowdown,omitzero"`
	// EngineStallMs holds the whole engine once, at the first step that starts
	// EngineStallAtS or more after the engine did.
	EngineStallAtS float64 `json:"engine_stall_at_s,omitzero"`
	EngineStallMs  float64 `json:"engine_stall_ms,omitzero"`

	// Instead of an answer.
	RejectRate      float64 `json:"reject_rate,omitzero"`       // 400 before the body is read
	ErrorRate       float64 `json:"error_rate,omitzero"`        // 500
	GarbageRate     float64 `json:"garbage_rate,omitzero"`      // 200 and a body that is no JSON
	HangHeadersRate float64 `json:"hang_headers_rate,omitzero"` // not even a header, until the client leaves

	// In the middle of an answer: after half of the tokens, at least one.
	StallRate       float64 `json:"stall_rate,omitzero"` // nothing for StallMs, then on
	StallMs         float64 `json:"stall_ms,omitzero"`   // default 1,000
	StreamErrorRate float64 `json:"stream_error_rate,omitzero"`
	DropRate        float64 `json:"drop_rate,omitzero"`        // the connection is cut
	TruncateRate    float64 `json:"truncate_rate,omitzero"`    // the stream ends well formed, without finish or [DONE]
	HangStreamRate  float64 `json:"hang_stream_rate,omitzero"` // nothing more, until the client leaves

	// What is generated.
	EOSRate         float64 `json:"eos_rate,omitzero"`        // stops early, unless ignore_eos
	EarlyStopRate   float64 `json:"early_stop_rate,omitzero"` // stops early, in spite of ignore_eos
	ReasoningRate   float64 `json:"reasoning_rate,omitzero"`
	ReasoningTokens int     `json:"reasoning_tokens,omitzero"` // the first n tokens; default 8
	ReasoningField  string  `json:"reasoning_field,omitzero"`  // default "reasoning_content", vLLM's newer is "reasoning"
	ToolCallRate    float64 `json:"tool_call_rate,omitzero"`   // the output is the arguments of one tool call

	// How it is written.
	RoleFrameRate    float64 `json:"role_frame_rate,omitzero"`    // a chunk with the role alone, before any token is there
	EmptyDeltaRate   float64 `json:"empty_delta_rate,omitzero"`   // chunks of "" before the first token and between tokens
	SplitRate        float64 `json:"split_rate,omitzero"`         // every event in three pieces
	CRLFRate         float64 `json:"crlf_rate,omitzero"`          // lines end in CR LF
	CommentRate      float64 `json:"comment_rate,omitzero"`       // comments between events
	MissingUsageRate float64 `json:"missing_usage_rate,omitzero"` // usage was asked for and does not come
}

func (f Faults) withDefaults() Faults {
	orDefault(&f.PrefillSlowdown, 1)
	orDefault(&f.DecodeSlowdown, 1)
	orDefault(&f.StallMs, 1000)
	orDefault(&f.ReasoningTokens, 8)
	orDefault(&f.ReasoningField, "reasoning_content")
	return f
}

// rates names every rate once, for checking and for drawing.
func (f *Faults) rates() []rate {
	return []rate{
		{"reject_rate", f.RejectRate},
		{"error_rate", f.ErrorRate},
		{"garbage_rate", f.GarbageRate},
		{"hang_headers_rate", f.HangHeadersRate},
		{"stall_rate", f.StallRate},
		{"stream_error_rate", f.StreamErrorRate},
		{"drop_rate", f.DropRate},
		{"truncate_rate", f.TruncateRate},
		{"hang_stream_rate", f.HangStreamRate},
		{"eos_rate", f.EOSRate},
		{"early_stop_rate", f.EarlyStopRate},
		{"reasoning_rate", f.ReasoningRate},
		{"tool_call_rate", f.ToolCallRate},
		{"role_frame_rate", f.RoleFrameRate},
		{"empty_delta_rate", f.EmptyDeltaRate},
		{"split_rate", f.SplitRate},
		{"crlf_rate", f.CRLFRate},
		{"comment_rate", f.CommentRate},
		{"missing_usage_rate", f.MissingUsageRate},
	}
}

type rate struct {
	name  string
	value float64
}

func (f Faults) validate() []error {
	var errs []error
	bound := func(name string, value, high float64) {
		if !(value >= 0 && value <= high) { // NaN fails too
			errs = append(errs, fmt.Errorf("sim: faults.%s is %v; it must lie between 0 and %v", name, value, high))
		}
	}
	for _, r := range f.rates() {
		bound(r.name, r.value, 1)
	}
	bound("prefill_slowdown", f.PrefillSlowdown, 1e6)
	bound("decode_slowdown", f.DecodeSlowdown, 1e6)
	bound("engine_stall_at_s", f.EngineStallAtS, 1e9)
	bound("engine_stall_ms", f.EngineStallMs, 1e9)
	bound("stall_ms", f.StallMs, 1e9)
	bound("reasoning_tokens", float64(f.ReasoningTokens), 1<<28)
	if f.ReasoningField != "reasoning_content" && f.ReasoningField != "reasoning" {
		errs = append(errs, fmt.Errorf(`sim: faults.reasoning_field is %q; it must be "reasoning_content" or "reasoning"`, f.ReasoningField))
	}
	return errs
}

// lot draws what befalls one request.
type lot struct {
	seed, num uint64
}

// strikes reports whether the fault of that name and rate befalls the request.
func (l lot) strikes(name string, rate float64) bool {
	return rate > 0 && l.uniform(name) < rate
}

// uniform is a number in [0,1) that depends on seed, request and name only.
func (l lot) uniform(name string) float64 {
	h := mix(l.seed ^ 0x51_7c_c1_b7_27_22_0a_95)
	h = mix(h ^ l.num)
	for i := range len(name) {
		h = mix(h ^ uint64(name[i]))
	}
	return float64(h>>11) / (1 << 53)
}

// mix scrambles a number (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// lognormal is a factor with median 1 from a standard normal draw.
func lognormal(sigma, normal float64) float64 { return math.Exp(sigma * normal) }
