package preset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// Engines that have a preset.
const (
	VLLM   = "vllm"
	SGLang = "sglang"
	Sim    = "sim"
)

// Offload is the second tier of the KV cache.
type Offload string

// Offloads. The zero value is none.
const (
	OffloadNone       Offload = "none"
	OffloadVLLMNative Offload = "vllm-native" // vLLM's OffloadingConnector, host memory
	OffloadVLLMSimple Offload = "vllm-simple" // vLLM's SimpleCPUOffloadConnector, host memory
	OffloadLMCache    Offload = "lmcache"     // in the engine's process, or a server beside it
	OffloadMooncake   Offload = "mooncake"    // a Mooncake Store, over a mooncake_master
	OffloadHiCache    Offload = "hicache"     // SGLang's hierarchical cache, host memory
)

// Offloads lists them.
func Offloads() []string {
	return []string{string(OffloadNone), string(OffloadVLLMNative), string(OffloadVLLMSimple), string(OffloadLMCache), string(OffloadMooncake), string(OffloadHiCache)}
}

// Settings is what an engine is asked to be. Zero leaves a setting to the engine,
// except where a field says otherwise.
type Settings struct {
	// Model is the name on the wire.
	Model string
	// Path of the weights: a folder or a name of the model hub; Model when empty.
	Path string
	// Host to listen on; 0.0.0.0 when empty.
	Host string
	// Port as it stands on the command line: a number, or the driver's placeholder.
	Port string
	// APIKey that the engine shall demand. It reaches it through the environment.
	APIKey string
	// TrustRemoteCode runs the model's own code.
	TrustRemoteCode bool

	// Ranks. The engine takes tensor × pipeline × data GPUs.
	TensorParallel, PipelineParallel, DataParallel int
	// DPAttention shares the experts among the data-parallel ranks, so that only
	// attention is replicated. vLLM does so for every mixture of experts.
	DPAttention bool
	// ExpertParallel spreads the experts over all ranks.
	ExpertParallel bool

	// MaxNumSeqs is how many sequences one data-parallel rank runs at once.
	MaxNumSeqs int
	// MaxModelLen is the context, in tokens.
	MaxModelLen int
	// GPUMemoryUtilization is the share of GPU memory that the engine takes, 0–1.
	GPUMemoryUtilization float64
	// KVCacheDtype, as fp8.
	KVCacheDtype string
	// NoPrefixCaching switches the prefix cache off.
	NoPrefixCaching bool

	Offload Offload
	// OffloadGB is the host memory of the second tier, of the whole engine, in 10⁹ bytes.
	OffloadGB float64
	// OffloadServer is host:port of an LMCache server or a mooncake_master.
	OffloadServer string
	// OffloadConfig is the tier's own configuration file, as the engine sees it.
	OffloadConfig string

	Speculation Speculation

	// NoMetrics, NoCacheReport and NoCacheReset leave out what a measurement
	// needs: counters, cached tokens in usage, a way to empty the prefix cache.
	NoMetrics, NoCacheReport, NoCacheReset bool
	// KeepAliveS is how long an idle connection is kept, in seconds.
	KeepAliveS int
	// LoadS is how long the engine may take to load, in seconds.
	LoadS int
	// SimSet are parameters of the embedded engine, as cost.step_base_ms=6.
	SimSet []string
	// SimConfig is a file with them, as the engine sees it.
	SimConfig string
}

// Speculation is speculative decoding. The zero value is none.
type Speculation struct {
	Method string // as vLLM names it: eagle, eagle3, mtp, ngram, draft_model …
	Model  string // of the draft
	Tokens int    // drafted per step
	// AcceptanceLength simulates acceptance: tokens per verification step, the
	// target's own counted too. 0 verifies for real.
	AcceptanceLength float64
	// Config holds further members of vLLM's --speculative-config, as JSON.
	Config string
}

// On reports whether anything is drafted.
func (s Speculation) On() bool {
	return s.Method != "" || s.Model != "" || s.Tokens != 0 || s.Config != "" || s.AcceptanceLength != 0
}

// Command is what is run.
type Command struct {
	// Program that a process starts, arguments apart.
	Program []string
	// Entrypoint replaces an image's; empty keeps the image's own.
	Entrypoint []string
	// Prefix stands between an image's entrypoint and the arguments.
	Prefix []string
	// Args follow.
	Args []string
	// Env is the declared environment.
	Env []deploy.Var
}

// Argv is the whole command line of a process.
func (c Command) Argv() []string { return join(c.Program, c.Args) }

// ContainerArgs follow the entrypoint in a container.
func (c Command) ContainerArgs() []string { return join(c.Prefix, c.Args) }

func join(a, b []string) []string { return append(append([]string{}, a...), b...) }

// Build makes the command of an engine.
func Build(engine string, s Settings) (Command, error) {
	build := map[string]func(Settings, *errorList) Command{VLLM: vllm, SGLang: sglang, Sim: simulator}[engine]
	if build == nil {
		return Command{}, fmt.Errorf("--engine %s: no preset; there are %s, %s and %s", engine, VLLM, SGLang, Sim)
	}
	var errs errorList
	s.check(&errs)
	c := build(s, &errs)
	if err := errors.Join(errs...); err != nil {
		return Command{}, err
	}
	return c, nil
}

// check refuses what no engine can be.
func (s *Settings) check(errs *errorList) {
	for _, n := range []struct {
		flag  string
		value int
	}{
		{"tensor-parallel-size", s.TensorParallel}, {"pipeline-parallel-size", s.PipelineParallel}, {"data-parallel-size", s.DataParallel},
		{"max-num-seqs", s.MaxNumSeqs}, {"max-model-len", s.MaxModelLen}, {"num-speculative-tokens", s.Speculation.Tokens},
		{"engine-keep-alive-seconds", s.KeepAliveS},
	} {
		if n.value < 0 {
			errs.addf("--%s %d: must be above 0", n.flag, n.value)
		}
	}
	if u := s.GPUMemoryUtilization; !(u >= 0 && u <= 1) {
		errs.addf("--gpu-memory-utilization %v: must be above 0 and at most 1", u)
	}
	if s.DPAttention && s.DataParallel < 2 {
		errs.addf("--dp-attention: needs --data-parallel-size above 1")
	}
	if g := s.OffloadGB; !(g >= 0 && g < 1e6) {
		errs.addf("--kv-offload-gb %v: must be above 0", g)
	}
	if s.Offload == OffloadNone || s.Offload == "" {
		for _, o := range []struct {
			flag  string
			given bool
		}{{"kv-offload-gb", s.OffloadGB != 0}, {"kv-offload-server", s.OffloadServer != ""}, {"kv-offload-config", s.OffloadConfig != ""}} {
			if o.given {
				errs.addf("--%s: has no effect without --kv-offload", o.flag)
			}
		}
	}
	if s.NoPrefixCaching && s.Offload != "" && s.Offload != OffloadNone {
		errs.addf("--kv-offload %s: keeps prefixes, which --no-prefix-caching switches off", s.Offload)
	}
	s.Speculation.check(errs)
}

func (s Speculation) check(errs *errorList) {
	if !s.On() {
		return
	}
	if s.Method == "" && s.Model == "" && s.Config == "" {
		errs.addf("speculative decoding: give --speculative-method or --speculative-model")
	}
	switch al := s.AcceptanceLength; {
	case al == 0:
	case s.Tokens == 0:
		errs.addf("--speculative-acceptance-length %v: needs --num-speculative-tokens", al)
	case !(al >= 1 && al <= float64(s.Tokens+1)):
		errs.addf("--speculative-acceptance-length %v: must be from 1 to %d, the drafted tokens and the target's own", al, s.Tokens+1)
	}
}

// ranks are the GPUs of one data-parallel rank, and the number of those.
func (s *Settings) ranks() (gpus, data int) {
	return max(s.TensorParallel, 1) * max(s.PipelineParallel, 1), max(s.DataParallel, 1)
}

// refuseOffload names the offloads that an engine has not.
func (s *Settings) refuseOffload(errs *errorList, engine string, has ...Offload) {
	if s.Offload == "" {
		return
	}
	names := []string{string(OffloadNone)}
	for _, o := range has {
		names = append(names, string(o))
	}
	for _, n := range names {
		if n == string(s.Offload) {
			return
		}
	}
	errs.addf("--kv-offload %s: %s has %s", s.Offload, engine, strings.Join(names, ", "))
}

type errorList []error

func (l *errorList) addf(format string, a ...any) { *l = append(*l, fmt.Errorf(format, a...)) }
