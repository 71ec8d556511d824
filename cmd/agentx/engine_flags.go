package main

// engineFlags say which engine a run brings up, and how. Names that vLLM has are
// vLLM's. They are keys of agentx.yaml too, by the same names.
type engineFlags struct {
	Driver string `enum:",url,process,docker,compose,sim" default:"" help:"How the engine is brought up: url (it is there), process, docker, compose, or sim (embedded). Follows from the other settings when not given." placeholder:"HOW" group:"Engine"`
	Engine string `enum:",vllm,sglang,sim,custom" default:"" help:"Whose command line: vllm, sglang, sim, or custom with --engine-command." placeholder:"NAME" group:"Engine"`

	ModelPath       string            `help:"Weights, when not those of --model: a folder as the engine sees it, or a name of the model hub." placeholder:"PATH" group:"Engine" config:"substitute"`
	TrustRemoteCode bool              `help:"Let the engine run the model's own code." group:"Engine"`
	Args            []string          `sep:"none" help:"Edits of the preset's command line: --flag=value replaces or appends, !--flag removes." placeholder:"ARG" group:"Engine" config:"substitute"`
	EngineCommand   []string          `sep:"none" help:"Command line of a custom engine, a word each; {port} stands for the port." placeholder:"WORD" group:"Engine" config:"substitute"`
	EnginePrefix    []string          `sep:"none" help:"Words before the command line of a process, as srun's or numactl's." placeholder:"WORD" group:"Engine" config:"substitute"`
	EngineEnv       map[string]string `mapsep:"none" help:"Environment of the engine, or variables of a Compose file; goes into the result." placeholder:"NAME=VALUE" group:"Engine" config:"substitute"`
	EngineSecretEnv []string          `sep:"none" help:"Variables of our environment handed to the engine, and shown nowhere." placeholder:"NAME" group:"Engine"`
	EnginePort      int               `help:"Port of the engine; 8000 in a container with a network of its own, a free one elsewhere, when not given." placeholder:"N" group:"Engine"`

	Image   string   `help:"Image of the engine's container, best by digest: name@sha256:…" placeholder:"IMAGE" group:"Engine container" config:"substitute"`
	Pull    string   `enum:"missing,always,never" default:"missing" help:"When the image is pulled: missing, always, never." group:"Engine container"`
	GPUs    string   `name:"gpus" help:"GPUs of the container: all, a number, or device=0,1; all with the presets of vLLM and SGLang, none otherwise, when not given." placeholder:"WHICH" group:"Engine container" config:"substitute"`
	Device  []string `sep:"none" help:"Device the container gets, as path or path:path inside:rwm; AMD's GPUs are /dev/kfd and /dev/dri." placeholder:"PATH" group:"Engine container"`
	Mount   []string `sep:"none" help:"Folder of the host in the container, as source:target or source:target:ro." placeholder:"S:T" group:"Engine container" config:"substitute,path"`
	ShmSize string   `default:"16g" help:"Shared memory of the container." placeholder:"SIZE" group:"Engine container"`
	Ulimit  []string `sep:"none" help:"Limit in the container; memlock=-1 and stack=67108864 with GPUs, when not given." placeholder:"N=V" group:"Engine container"`
	Network string   `enum:",host" default:"" help:"host puts the container on the host's network; it has one of its own when not given." placeholder:"NAME" group:"Engine container"`

	GroupAdd    []string `sep:"none" help:"Further group of the engine's process, as video." placeholder:"NAME" group:"Engine container"`
	IPC         string   `name:"ipc" enum:",host" default:"" help:"host shares the host's shared memory." placeholder:"NAME" group:"Engine container"`
	CapAdd      []string `sep:"none" help:"Capability the container gets, as IPC_LOCK." placeholder:"NAME" group:"Engine container"`
	SecurityOpt []string `sep:"none" help:"Security option, as seccomp=unconfined." placeholder:"OPT" group:"Engine container"`
	Privileged  bool     `help:"Give the container the whole machine; hardly ever needed." group:"Engine container"`

	ComposeFile    []string `sep:"none" help:"Compose file that brings up the engine." placeholder:"FILE" group:"Engine by Compose" config:"substitute,path"`
	ComposeService string   `help:"Service that takes the load, as router:8000." placeholder:"NAME:PORT" group:"Engine by Compose"`
	ComposeMetrics []string `sep:"none" help:"An engine in it whose /metrics is read, as engine:8000; the service above when not given." placeholder:"NAME:PORT" group:"Engine by Compose"`
	ComposeEnvFile []string `sep:"none" help:"File of variables for it; .env beside it when not given." placeholder:"FILE" group:"Engine by Compose" config:"substitute,path"`
	ComposeProfile []string `sep:"none" help:"Profile of it to switch on." placeholder:"NAME" group:"Engine by Compose"`

	EngineLoadTimeoutSeconds  float64 `default:"3600" help:"Longest time to load, until /health." placeholder:"S" group:"Engine"`
	EngineReadyTimeoutSeconds float64 `default:"600" help:"Longest time from then until the first completion." placeholder:"S" group:"Engine"`
	EngineGraceSeconds        float64 `default:"10" help:"Time between TERM and KILL." placeholder:"S" group:"Engine"`

	FreshEngine string `enum:"run,concurrency,point" default:"run" help:"When a new one is brought up: run (one for all, its cache reset between the concurrencies), concurrency (with its baseline), or point (every single result)." placeholder:"WHEN" group:"Engine"`

	engineSettings
}

// engineSettings are what vLLM and SGLang have in common.
type engineSettings struct {
	TensorParallelSize   int     `help:"GPUs of a tensor-parallel group." placeholder:"N" group:"Engine settings"`
	PipelineParallelSize int     `help:"Stages of the pipeline." placeholder:"N" group:"Engine settings"`
	DataParallelSize     int     `help:"Data-parallel ranks." placeholder:"N" group:"Engine settings"`
	DPAttention          bool    `name:"dp-attention" help:"Ranks replicate attention alone and share the experts; vLLM does so by itself." group:"Engine settings"`
	ExpertParallel       bool    `help:"Spread the experts over all ranks." group:"Engine settings"`
	MaxNumSeqs           int     `help:"Sequences a data-parallel rank runs at once; when not given, twice the lanes over all ranks, since trees fan out." placeholder:"N" group:"Engine settings"`
	MaxModelLen          int     `help:"Context, in tokens; the model's own when not given." placeholder:"N" group:"Engine settings"`
	GPUMemoryUtilization float64 `name:"gpu-memory-utilization" help:"Share of GPU memory; SGLang's --mem-fraction-static." placeholder:"R" group:"Engine settings"`
	KVCacheDtype         string  `name:"kv-cache-dtype" help:"Type of the KV cache, as fp8." placeholder:"TYPE" group:"Engine settings"`
	PrefixCaching        bool    `default:"true" negatable:"" help:"Keep a prefix cache." group:"Engine settings"`

	KVOffload       string  `name:"kv-offload" enum:"none,vllm-native,vllm-simple,lmcache,mooncake,hicache" default:"none" help:"Second tier of the KV cache: none, vllm-native, vllm-simple, lmcache, mooncake, hicache." group:"Engine settings"`
	KVOffloadGB     float64 `name:"kv-offload-gb" help:"Its host memory for the whole engine, in 10⁹ bytes." placeholder:"GB" group:"Engine settings"`
	KVOffloadServer string  `name:"kv-offload-server" help:"Its server: an LMCache server or a mooncake_master, as host:port." placeholder:"H:P" group:"Engine settings" config:"substitute"`
	KVOffloadConfig string  `name:"kv-offload-config" help:"Its own configuration file, as the engine sees it." placeholder:"FILE" group:"Engine settings" config:"substitute"`

	SpeculativeMethod           string  `help:"Speculative decoding: eagle, eagle3, mtp, ngram, draft_model …" placeholder:"NAME" group:"Engine settings"`
	SpeculativeModel            string  `help:"Weights of the draft." placeholder:"PATH" group:"Engine settings" config:"substitute"`
	NumSpeculativeTokens        int     `help:"Tokens drafted per step." placeholder:"N" group:"Engine settings"`
	SpeculativeAcceptanceLength float64 `help:"Simulate acceptance: tokens per verification step, the target's own counted; verified for real when not given." placeholder:"L" group:"Engine settings"`
	SpeculativeConfig           string  `help:"Further members of vLLM's --speculative-config, as JSON." placeholder:"JSON" group:"Engine settings"`

	EngineMetrics          bool `default:"true" negatable:"" help:"Let the engine serve its counters." group:"Engine settings"`
	CacheReport            bool `default:"true" negatable:"" help:"Let it report cached tokens with every answer." group:"Engine settings"`
	CacheReset             bool `default:"true" negatable:"" help:"Let it empty its prefix cache on request; vLLM serves that in development mode only." group:"Engine settings"`
	EngineKeepAliveSeconds int  `default:"900" help:"How long it keeps an idle connection." placeholder:"S" group:"Engine settings"`
}
