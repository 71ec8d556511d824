package preset

import (
	"fmt"
	"net"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// vllm is `vllm serve`. Official images have it as their entrypoint; it is set all
// the same, so that one command line is run whatever the image.
func vllm(s Settings, errs *errorList) Command {
	s.refuseOffload(errs, VLLM, OffloadVLLMNative, OffloadVLLMSimple, OffloadLMCache, OffloadMooncake)
	s.needModel(errs)
	s.refuseSim(errs, VLLM)
	serve := []string{"vllm", "serve"}
	c := Command{Program: serve, Entrypoint: serve}
	c.Args = s.vllmArgs(errs)
	c.Env = s.vllmEnv()
	return c
}

func (s *Settings) vllmArgs(errs *errorList) []string {
	_, data := s.ranks()
	a := argList{s.path()}
	a.add("--served-model-name", s.Model)
	a.add("--host", s.host())
	a.add("--port", s.Port)
	a.on("--trust-remote-code", s.TrustRemoteCode)
	a.number("--tensor-parallel-size", s.TensorParallel)
	a.number("--pipeline-parallel-size", s.PipelineParallel)
	a.number("--data-parallel-size", s.DataParallel)
	a.on("--enable-expert-parallel", s.ExpertParallel)
	a.number("--max-num-seqs", s.MaxNumSeqs)
	a.number("--max-model-len", s.MaxModelLen)
	a.share("--gpu-memory-utilization", s.GPUMemoryUtilization)
	a.add("--kv-cache-dtype", s.KVCacheDtype)
	a.on("--enable-prefix-caching", !s.NoPrefixCaching)
	a.on("--no-enable-prefix-caching", s.NoPrefixCaching)
	a.on("--enable-prompt-tokens-details", !s.NoCacheReport)
	a.on("--disable-log-stats", s.NoMetrics)
	if s.Speculation.On() {
		a.add("--speculative-config", s.Speculation.vllmConfig(errs))
		if s.Speculation.Tokens > 0 && s.MaxNumSeqs > 0 {
			// Graph sizes count tokens: a step verifies the drafts of every sequence.
			a.number("--max-cudagraph-capture-size", (1+s.Speculation.Tokens)*s.MaxNumSeqs)
		}
	}
	s.vllmOffload(&a, data, errs)
	return a
}

// vllmConfig is the value of --speculative-config.
func (s Speculation) vllmConfig(errs *errorList) string {
	object := map[string]any{}
	if s.Config != "" {
		var given map[string]jsontext.Value
		if err := json.Unmarshal([]byte(s.Config), &given); err != nil {
			errs.addf("--speculative-config: no JSON object: %w", err)
			return ""
		}
		for k, v := range given {
			object[k] = v
		}
	}
	set := func(flag, key string, value any, given bool) {
		if !given {
			return
		}
		if _, twice := object[key]; twice {
			errs.addf("--speculative-config: %s is --%s; give one of them", key, flag)
		}
		object[key] = value
	}
	set("speculative-method", "method", s.Method, s.Method != "")
	set("speculative-model", "model", s.Model, s.Model != "")
	set("num-speculative-tokens", "num_speculative_tokens", s.Tokens, s.Tokens != 0)
	set("speculative-acceptance-length", "rejection_sample_method", "synthetic", s.AcceptanceLength != 0)
	set("speculative-acceptance-length", "synthetic_acceptance_length", s.AcceptanceLength, s.AcceptanceLength != 0)
	return encode(object)
}

// vllmOffload adds the second tier. Sizes are of one data-parallel rank, over all
// its GPUs: vLLM divides by those itself.
func (s *Settings) vllmOffload(a *argList, data int, errs *errorList) {
	bytes := s.OffloadGB * 1e9 / float64(data)
	switch s.Offload {
	case OffloadVLLMNative:
		s.needOffload(errs, "kv-offload-gb", s.OffloadGB > 0)
		a.add("--kv-offloading-backend", "native")
		a.add("--kv-offloading-size", strconv.FormatFloat(bytes/(1<<30), 'f', 3, 64))
	case OffloadVLLMSimple:
		s.needOffload(errs, "kv-offload-gb", s.OffloadGB > 0)
		a.connector("SimpleCPUOffloadConnector", map[string]any{"cpu_bytes_to_use": int64(bytes), "lazy_offload": true})
	case OffloadMooncake:
		s.needOffload(errs, "kv-offload-config", s.OffloadConfig != "")
		if s.OffloadServer != "" || s.OffloadGB != 0 {
			errs.addf("--kv-offload mooncake: vLLM reads server and size from the file of --kv-offload-config; drop --kv-offload-server and --kv-offload-gb")
		}
		a.connector("MooncakeStoreConnector", map[string]any{"load_async": true})
	case OffloadLMCache:
		if s.OffloadServer == "" {
			if s.OffloadGB == 0 && s.OffloadConfig == "" {
				errs.addf("--kv-offload lmcache: needs --kv-offload-gb, --kv-offload-config or --kv-offload-server")
			}
			a.connector("LMCacheConnectorV1", nil)
			return
		}
		if s.OffloadGB != 0 {
			errs.addf("--kv-offload-gb: the LMCache server of --kv-offload-server has its own --l1-size-gb; drop it")
		}
		host, port, err := net.SplitHostPort(s.OffloadServer)
		number, portErr := strconv.ParseUint(port, 10, 16)
		if err != nil || portErr != nil || host == "" {
			errs.addf("--kv-offload-server %s: want host:port", s.OffloadServer)
		}
		a.connector("LMCacheMPConnector", map[string]any{"lmcache.mp.host": "tcp://" + host, "lmcache.mp.port": number})
	}
}

func (s *Settings) vllmEnv() []deploy.Var {
	gpus, data := s.ranks()
	env := envList{}
	env.add("PYTHONHASHSEED", "0") // block keys are the same in every rank
	if !s.NoCacheReset {
		env.add("VLLM_SERVER_DEV_MODE", "1") // serves /reset_prefix_cache
	}
	if s.KeepAliveS > 0 {
		env.add("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", strconv.Itoa(s.KeepAliveS))
	}
	if s.LoadS > 0 {
		env.add("VLLM_ENGINE_READY_TIMEOUT_S", strconv.Itoa(s.LoadS))
	}
	switch {
	case s.Offload == OffloadMooncake:
		env.add("MOONCAKE_CONFIG_PATH", s.OffloadConfig)
	case s.Offload == OffloadLMCache && s.OffloadConfig != "":
		env.add("LMCACHE_CONFIG_FILE", s.OffloadConfig)
	case s.Offload == OffloadLMCache && s.OffloadServer == "":
		env.add("LMCACHE_LOCAL_CPU", "True")
		env.add("LMCACHE_MAX_LOCAL_CPU_SIZE", strconv.FormatFloat(s.OffloadGB/float64(gpus*data), 'f', -1, 64)) // of one GPU's worker
	}
	if s.APIKey != "" {
		env = append(env, deploy.Var{Name: "VLLM_API_KEY", Value: s.APIKey, Secret: true})
	}
	return env
}

func (s *Settings) needModel(errs *errorList) {
	if s.Model == "" {
		errs.addf("--model: the engine must be told what to serve")
	}
}

func (s *Settings) needOffload(errs *errorList, flag string, given bool) {
	if !given {
		errs.addf("--kv-offload %s: needs --%s", s.Offload, flag)
	}
}

func (s *Settings) refuseSim(errs *errorList, engine string) {
	if len(s.SimSet) > 0 || s.SimConfig != "" {
		errs.addf("--sim-set, --sim-config: dials of the embedded engine; %s has none", engine)
	}
}

func (s *Settings) path() string {
	if s.Path != "" {
		return s.Path
	}
	return s.Model
}

func (s *Settings) host() string {
	if s.Host != "" {
		return s.Host
	}
	return "0.0.0.0"
}

// argList is a command line that leaves out what is not set.
type argList []string

func (a *argList) add(flag, value string) {
	if value != "" {
		*a = append(*a, flag, value)
	}
}

func (a *argList) on(flag string, on bool) {
	if on {
		*a = append(*a, flag)
	}
}

func (a *argList) number(flag string, n int) {
	if n > 0 {
		*a = append(*a, flag, strconv.Itoa(n))
	}
}

func (a *argList) share(flag string, v float64) {
	if v > 0 {
		*a = append(*a, flag, strconv.FormatFloat(v, 'f', -1, 64))
	}
}

func (a *argList) connector(name string, extra map[string]any) {
	object := map[string]any{"kv_connector": name, "kv_role": "kv_both"}
	if extra != nil {
		object["kv_connector_extra_config"] = extra
	}
	a.add("--kv-transfer-config", encode(object))
}

// encode writes an object with its members in order, so that equal settings are
// equal command lines.
func encode(object map[string]any) string {
	text, err := json.Marshal(object, json.Deterministic(true))
	if err != nil { // numbers and strings only
		panic(fmt.Sprintf("preset: %v", err))
	}
	return string(text)
}

type envList []deploy.Var

func (e *envList) add(name, value string) { *e = append(*e, deploy.Var{Name: name, Value: value}) }
