package preset

import (
	"math"
	"strconv"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// sglang is `python3 -m sglang.launch_server`. Its images have an entrypoint that
// runs what follows, so that stays.
func sglang(s Settings, errs *errorList) Command {
	s.refuseOffload(errs, SGLang, OffloadHiCache, OffloadMooncake, OffloadLMCache)
	s.needModel(errs)
	s.refuseSim(errs, SGLang)
	if s.APIKey != "" {
		errs.addf("--api-key: SGLang takes it only on its command line, where every process of the machine reads it; leave it out")
	}
	launch := []string{"python3", "-m", "sglang.launch_server"}
	c := Command{Program: launch, Prefix: launch}
	c.Args = s.sglangArgs(errs)
	c.Env = s.sglangEnv()
	return c
}

func (s *Settings) sglangArgs(errs *errorList) []string {
	var a argList
	a.add("--model-path", s.path())
	a.add("--served-model-name", s.Model)
	a.add("--host", s.host())
	a.add("--port", s.Port)
	a.on("--trust-remote-code", s.TrustRemoteCode)
	s.sglangParallel(&a)
	a.number("--max-running-requests", s.maxRunning())
	a.number("--cuda-graph-max-bs", min(s.MaxNumSeqs, cudaGraphMaxBS))
	a.number("--context-length", s.MaxModelLen)
	a.share("--mem-fraction-static", s.GPUMemoryUtilization)
	a.add("--kv-cache-dtype", s.KVCacheDtype)
	a.on("--disable-radix-cache", s.NoPrefixCaching)
	a.on("--enable-metrics", !s.NoMetrics)
	a.on("--enable-cache-report", !s.NoCacheReport)
	s.sglangSpeculation(&a, errs)
	s.sglangOffload(&a, errs)
	return a
}

// cudaGraphMaxBS bounds the graphs that are captured, as InferenceX does.
const cudaGraphMaxBS = 64

// sglangParallel says the same layout as vLLM's flags. With attention alone
// replicated, SGLang counts all GPUs of the data-parallel ranks as tensor-parallel.
func (s *Settings) sglangParallel(a *argList) {
	tensor := s.TensorParallel
	if s.DPAttention {
		tensor = max(tensor, 1) * s.DataParallel
	}
	a.number("--tensor-parallel-size", tensor)
	a.number("--pipeline-parallel-size", s.PipelineParallel)
	a.number("--data-parallel-size", s.DataParallel)
	a.on("--enable-dp-attention", s.DPAttention)
	if s.ExpertParallel {
		a.number("--expert-parallel-size", max(tensor, 1))
	}
}

// maxRunning is SGLang's limit: over all ranks when only attention is replicated.
func (s *Settings) maxRunning() int {
	if s.DPAttention {
		return s.MaxNumSeqs * s.DataParallel
	}
	return s.MaxNumSeqs
}

// algorithms by the method that vLLM names.
var algorithms = map[string]string{"eagle": "EAGLE", "eagle3": "EAGLE3", "mtp": "NEXTN", "nextn": "NEXTN", "ngram": "NGRAM", "draft_model": "STANDALONE"}

func (s *Settings) sglangSpeculation(a *argList, errs *errorList) {
	p := s.Speculation
	if !p.On() {
		return
	}
	algorithm, known := algorithms[p.Method]
	switch {
	case p.Config != "":
		errs.addf("--speculative-config: only vLLM has it; give SGLang's own flags by --args")
	case p.Method == "":
		errs.addf("--speculative-method: SGLang must be told")
	case !known:
		errs.addf("--speculative-method %s: SGLang has eagle, eagle3, mtp, ngram, draft_model", p.Method)
	}
	a.add("--speculative-algorithm", algorithm)
	a.add("--speculative-draft-model-path", p.Model)
	if p.Tokens > 0 {
		if algorithm != "NGRAM" {
			a.number("--speculative-num-steps", p.Tokens)
			a.number("--speculative-eagle-topk", 1)
		}
		a.number("--speculative-num-draft-tokens", p.Tokens+1) // the target's own is one of them
	}
}

func (s *Settings) sglangOffload(a *argList, errs *errorList) {
	gpus, data := s.ranks()
	switch s.Offload {
	case OffloadHiCache, OffloadMooncake:
		a.on("--enable-hierarchical-cache", true)
		if s.OffloadGB > 0 {
			perRank := int(math.Floor(s.OffloadGB / float64(gpus*data)))
			if perRank < 1 {
				errs.addf("--kv-offload-gb %v: less than 1 GB for each of %d GPUs", s.OffloadGB, gpus*data)
			}
			a.number("--hicache-size", perRank)
		} else if s.Offload == OffloadHiCache {
			s.needOffload(errs, "kv-offload-gb", false)
		}
		a.add("--hicache-write-policy", "write_through_selective")
		a.add("--hicache-io-backend", "kernel")
		a.add("--hicache-mem-layout", "page_first")
		if s.Offload == OffloadHiCache {
			if s.OffloadServer != "" || s.OffloadConfig != "" {
				errs.addf("--kv-offload hicache: is host memory alone; for a Mooncake Store behind it give --kv-offload mooncake, and drop --kv-offload-server and --kv-offload-config")
			}
			return
		}
		if s.OffloadServer == "" && s.OffloadConfig == "" {
			errs.addf("--kv-offload mooncake: needs --kv-offload-server or --kv-offload-config")
		}
		a.add("--hicache-storage-backend", "mooncake")
		if s.OffloadConfig != "" {
			a.add("--hicache-storage-backend-extra-config", "@"+s.OffloadConfig)
		}
	case OffloadLMCache:
		if s.OffloadServer != "" || s.OffloadGB != 0 {
			errs.addf("--kv-offload lmcache: SGLang reads server and size from the file of --kv-offload-config; drop --kv-offload-server and --kv-offload-gb")
		}
		s.needOffload(errs, "kv-offload-config", s.OffloadConfig != "")
		a.on("--enable-lmcache", true)
	}
}

func (s *Settings) sglangEnv() []deploy.Var {
	env := envList{}
	env.add("PYTHONHASHSEED", "0")
	if s.KeepAliveS > 0 {
		env.add("SGLANG_TIMEOUT_KEEP_ALIVE", strconv.Itoa(s.KeepAliveS))
	}
	if al := s.Speculation.AcceptanceLength; al != 0 {
		env.add("SGLANG_SIMULATE_ACC_LEN", strconv.FormatFloat(al, 'f', -1, 64))
		env.add("SGLANG_SIMULATE_ACC_METHOD", "match-expected")
		env.add("SGLANG_SIMULATE_ACC_TOKEN_MODE", "real-draft-token") // older than 0.5.16 ignores it
	}
	switch {
	case s.Offload == OffloadMooncake && s.OffloadServer != "":
		env.add("MOONCAKE_MASTER", s.OffloadServer)
	case s.Offload == OffloadLMCache && s.OffloadConfig != "":
		env.add("LMCACHE_CONFIG_FILE", s.OffloadConfig)
	}
	return env
}
