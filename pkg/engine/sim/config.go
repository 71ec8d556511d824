package sim

import (
	"errors"
	"fmt"
	"math"
)

// Config describes one engine. Units stand in the names. A zero field takes the
// default given with it unless its comment says what 0 means; [Default] returns
// all of them filled in.
type Config struct {
	Model string `json:"model,omitzero"` // name served; default "sim"
	Seed  uint64 `json:"seed,omitzero"`  // of noise and faults
	// Version is what /version and /server_info tell. Default "sim".
	Version string `json:"version,omitzero"`

	// MaxModelLen is the context length, prompt and output together, in tokens.
	// Default 262,144: the server size that the 256k corpora are cut for
	// (spec/replay.md §1.6).
	MaxModelLen int `json:"max_model_len,omitzero"`
	// ContextOverflow is what becomes of a prompt that fits when its answer does not:
	// refused with 400, or cut to what is left, as vLLM 0.32 does. A prompt that
	// does not fit itself is always refused. Default Refuse.
	ContextOverflow ContextOverflow `json:"context_overflow,omitzero"`
	// MaxNumSeqs bounds the sequences in a batch. Default 1,024, vLLM's for an
	// OpenAI server on a GPU of 70 GiB or more.
	MaxNumSeqs int `json:"max_num_seqs,omitzero"`
	// MaxNumBatchedTokens bounds the tokens of one step; longer prompts are
	// prefilled in chunks. Default 8,192, vLLM's for the same GPUs.
	MaxNumBatchedTokens int `json:"max_num_batched_tokens,omitzero"`

	Cost  Cost  `json:"cost,omitzero"`
	Cache Cache `json:"cache,omitzero"`
	Noise Noise `json:"noise,omitzero"`

	Metrics MetricNames `json:"metrics,omitzero"` // default VLLM
	// APIKey, when set, must come as a bearer token on every /v1 path.
	APIKey string `json:"-"`
	// MaxBodyMiB bounds a request body. Default 64: a prompt of a million tokens
	// has about 6 MiB.
	MaxBodyMiB int `json:"max_body_mib,omitzero"`
	// KeepAliveS is after how long Serve closes an idle connection; 0 never does.
	// uvicorn, which vLLM runs on, takes 5 s (spec/replay.md §9.1).
	KeepAliveS float64 `json:"keep_alive_s,omitzero"`
	// TokensPerEvent is how many tokens the server gathers into one event, as
	// vLLM's stream interval does. Default 1.
	TokensPerEvent int `json:"tokens_per_event,omitzero"`
	// SpreadWritesMs writes each stream up to that long after the end of a step, a
	// time that stays the same for the whole stream, as a front end does that
	// serves one stream after the other. 0 writes all at once.
	SpreadWritesMs float64 `json:"spread_writes_ms,omitzero"`
	// StampWrites adds the time of writing to every chunk, in nanoseconds since
	// the Unix epoch, as "sim_written_ns".
	StampWrites bool `json:"stamp_writes,omitzero"`

	Faults Faults `json:"faults,omitzero"`
}

// Cost says how long a step takes:
//
//	step_base + prefill tokens × prefill + query-key pairs × prefill_pair
//	          + decoding sequences × decode + KV tokens read × kv_read
//
// The defaults are the roofline of an 8B dense model with grouped-query
// attention (Llama 3 8B: 32 layers, 32 heads of 128, 8 KV heads) in BF16 on one
// H200 SXM (4.8 TB/s, 989 TFLOP/s dense BF16, NVIDIA data sheet), with half of
// the peak FLOP/s reached, which is what well-tuned prefill reaches.
type Cost struct {
	// StepBaseMs is the reading of the weights: 16 GB / 4.8 TB/s. Default 3.3.
	StepBaseMs float64 `json:"step_base_ms,omitzero"`
	// PrefillUsPerToken: 2 × 8e9 FLOP / 494 TFLOP/s. Default 32.4 (30,900 tokens/s).
	PrefillUsPerToken float64 `json:"prefill_us_per_token,omitzero"`
	// PrefillNsPerPair is causal attention per pair of query and key:
	// 4 × 32 layers × 4,096 FLOP / 494 TFLOP/s. Default 1.06.
	PrefillNsPerPair float64 `json:"prefill_ns_per_pair,omitzero"`
	// DecodeUsPerSeq is the arithmetic of one token of output, as above. Default 32.4.
	DecodeUsPerSeq float64 `json:"decode_us_per_seq,omitzero"`
	// KVReadNsPerToken is the reading of one token's keys and values:
	// 131,072 B / 4.8 TB/s. Default 27.3.
	KVReadNsPerToken float64 `json:"kv_read_ns_per_token,omitzero"`
}

// Cache describes where keys and values are kept.
type Cache struct {
	// BlockSize in tokens. Default 16, vLLM's on CUDA.
	BlockSize int `json:"block_size_tokens,omitzero"`
	// GPUBlocks is the size of the pool; 0 is unlimited. Default() sets 52,900:
	// (141 GB × 0.9 − 16 GB of weights) / (131,072 B × 16).
	GPUBlocks int `json:"gpu_blocks,omitzero"`
	// NoPrefixCaching keeps nothing for reuse, as vLLM's --no-enable-prefix-caching.
	NoPrefixCaching bool `json:"no_prefix_caching,omitzero"`
	// KVBytesPerToken: 2 × 32 layers × 8 KV heads × 128 × 2 B. Default 131,072.
	KVBytesPerToken int `json:"kv_bytes_per_token,omitzero"`
	// HostGB and DiskGB are the lower tiers, in 1e9 bytes; 0 is none. A block
	// evicted from the GPU goes to the host, from there to the disk.
	HostGB float64 `json:"host_gb,omitzero"`
	DiskGB float64 `json:"disk_gb,omitzero"`
	// HostGBps and DiskGBps are the rates of loading, in 1e9 bytes/s. Defaults
	// 50 (PCIe 5 x16: 63 nominal) and 6 (one NVMe drive on PCIe 4 x4: 7 nominal).
	HostGBps float64 `json:"host_gbps,omitzero"`
	DiskGBps float64 `json:"disk_gbps,omitzero"`
}

// Noise makes repeats differ. All are standard deviations of a log-normal
// factor around 1; 0 switches a noise off. Default() sets 0.01 and 0.02: chosen,
// not measured, so that repeats on one machine differ by about a percent, as
// they do within one job (spec/pitfalls.md, Baseline and noise).
type Noise struct {
	Run  float64 `json:"run,omitzero"`  // one factor a run on prefill, one on decode
	Step float64 `json:"step,omitzero"` // one factor a step
}

// MetricNames chooses under whose names /metrics speaks.
type MetricNames string

// The engines whose metric names are known.
const (
	VLLM   MetricNames = "vllm"
	SGLang MetricNames = "sglang"
)

// ContextOverflow says what becomes of an answer that does not fit.
type ContextOverflow string

// The ways to treat it.
const (
	Refuse ContextOverflow = "refuse"
	Cut    ContextOverflow = "cut"
)

// Default returns an 8B model on one H200, with the pool of that GPU and noise.
func Default() Config {
	c := Config{}.withDefaults()
	c.Cache.GPUBlocks = 52_900
	c.Noise = Noise{Run: 0.01, Step: 0.02}
	return c
}

func (c Config) withDefaults() Config {
	orDefault(&c.Model, "sim")
	orDefault(&c.Version, "sim")
	orDefault(&c.ContextOverflow, Refuse)
	orDefault(&c.MaxModelLen, 262_144)
	orDefault(&c.MaxNumSeqs, 1024)
	orDefault(&c.MaxNumBatchedTokens, 8192)
	orDefault(&c.Cost.StepBaseMs, 3.3)
	orDefault(&c.Cost.PrefillUsPerToken, 32.4)
	orDefault(&c.Cost.PrefillNsPerPair, 1.06)
	orDefault(&c.Cost.DecodeUsPerSeq, 32.4)
	orDefault(&c.Cost.KVReadNsPerToken, 27.3)
	orDefault(&c.Cache.BlockSize, 16)
	orDefault(&c.Cache.KVBytesPerToken, 131_072)
	orDefault(&c.Cache.HostGBps, 50)
	orDefault(&c.Cache.DiskGBps, 6)
	orDefault(&c.Metrics, VLLM)
	orDefault(&c.MaxBodyMiB, 64)
	orDefault(&c.TokensPerEvent, 1)
	c.Faults = c.Faults.withDefaults()
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate names every setting that cannot be, all at once.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	for _, s := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{name: "max_model_len", value: float64(c.MaxModelLen), low: 2, high: 1 << 28},
		{name: "max_num_seqs", value: float64(c.MaxNumSeqs), low: 1, high: 1 << 20},
		{name: "max_num_batched_tokens", value: float64(c.MaxNumBatchedTokens), low: 1, high: 1 << 28},
		{name: "cost.step_base_ms", value: c.Cost.StepBaseMs, high: 1e6},
		{name: "cost.prefill_us_per_token", value: c.Cost.PrefillUsPerToken, high: 1e6},
		{name: "cost.prefill_ns_per_pair", value: c.Cost.PrefillNsPerPair, high: 1e6},
		{name: "cost.decode_us_per_seq", value: c.Cost.DecodeUsPerSeq, high: 1e6},
		{name: "cost.kv_read_ns_per_token", value: c.Cost.KVReadNsPerToken, high: 1e6},
		{name: "cache.block_size_tokens", value: float64(c.Cache.BlockSize), low: 1, high: 1 << 20},
		{name: "cache.gpu_blocks", value: float64(c.Cache.GPUBlocks), high: math.MaxInt32},
		{name: "cache.kv_bytes_per_token", value: float64(c.Cache.KVBytesPerToken), low: 1, high: 1 << 30},
		{name: "cache.host_gb", value: c.Cache.HostGB, high: 1e6},
		{name: "cache.disk_gb", value: c.Cache.DiskGB, high: 1e6},
		{name: "cache.host_gbps", value: c.Cache.HostGBps, low: 1e-6, high: 1e6},
		{name: "cache.disk_gbps", value: c.Cache.DiskGBps, low: 1e-6, high: 1e6},
		{name: "noise.run", value: c.Noise.Run, high: 1},
		{name: "noise.step", value: c.Noise.Step, high: 1},
		{name: "max_body_mib", value: float64(c.MaxBodyMiB), low: 1, high: 1 << 20},
		{name: "keep_alive_s", value: c.KeepAliveS, high: 1e6},
		{name: "spread_writes_ms", value: c.SpreadWritesMs, high: 1e6},
		{name: "tokens_per_event", value: float64(c.TokensPerEvent), low: 1, high: 1 << 20},
	} {
		// Written so that NaN fails too.
		if !(s.value >= s.low && s.value <= s.high) {
			errs = append(errs, fmt.Errorf("sim: %s is %v; it must lie between %v and %v", s.name, s.value, s.low, s.high))
		}
	}
	if c.Metrics != VLLM && c.Metrics != SGLang {
		errs = append(errs, fmt.Errorf("sim: metrics is %q; it must be %q or %q", c.Metrics, VLLM, SGLang))
	}
	if c.ContextOverflow != Refuse && c.ContextOverflow != Cut {
		errs = append(errs, fmt.Errorf("sim: context_overflow is %q; it must be %q or %q", c.ContextOverflow, Refuse, Cut))
	}
	if pool := c.Cache.GPUBlocks * c.Cache.BlockSize; pool > 0 && pool < c.MaxModelLen {
		errs = append(errs, fmt.Errorf("sim: cache.gpu_blocks × block_size_tokens is %d tokens, less than max_model_len %d: one request could never fit; raise gpu_blocks or lower max_model_len", pool, c.MaxModelLen))
	}
	errs = append(errs, c.Faults.validate()...)
	return errors.Join(errs...)
}
