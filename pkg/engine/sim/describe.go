package sim

import "fmt"

// Describe explains the model with the figures of c, in ten lines.
func (c Config) Describe() string {
	c = c.withDefaults()
	pool := "KV pool      unlimited"
	if c.Cache.GPUBlocks > 0 {
		pool = fmt.Sprintf("KV pool      %d blocks of %d tokens (%d tokens); when full, the last admitted is preempted and computed again", c.Cache.GPUBlocks, c.Cache.BlockSize, c.Cache.GPUBlocks*c.Cache.BlockSize)
	}
	caching := "LRU prefix cache by chained block hashes; the last prompt token is always computed"
	if c.Cache.NoPrefixCaching {
		caching = "no prefix caching"
	}
	return fmt.Sprintf(`tokens       a token is a word; ChatML adds %d a message and %d for the answer
batching     continuous: up to %d sequences and %d tokens a step, prompts in chunks; context %d tokens
step time    %g ms + what its sequences need, times the slowdowns (prefill ×%g, decode ×%g)
prefill      %g µs a token + %g ns for every pair of tokens that attend
decode       %g µs a sequence + %g ns for every KV token read
%s
cache        %s
lower tiers  host %g GB at %g GB/s, disk %g GB at %g GB/s; evicted blocks go down, hits are loaded
noise        log-normal, σ = %g a run and %g a step, seed %d; 0 makes the times exact
defaults     an 8B model in BF16 on one H200 by roofline: 4.8 TB/s, half of 989 TFLOP/s, 128 KiB of KV a token
`,
		TokensPerMessage, TokensPerGenerationPrompt,
		c.MaxNumSeqs, c.MaxNumBatchedTokens, c.MaxModelLen,
		c.Cost.StepBaseMs, c.Faults.PrefillSlowdown, c.Faults.DecodeSlowdown,
		c.Cost.PrefillUsPerToken, c.Cost.PrefillNsPerPair,
		c.Cost.DecodeUsPerSeq, c.Cost.KVReadNsPerToken,
		pool, caching,
		c.Cache.HostGB, c.Cache.HostGBps, c.Cache.DiskGB, c.Cache.DiskGBps,
		c.Noise.Run, c.Noise.Step, c.Seed)
}
