package main

import "time"

// replayFlags are the flags of `aiperf profile` that mean something here, by the
// same names, and ours. A pointer is nil when the flag was not given.
type replayFlags struct {
	Scenario       string `help:"Rule set: inferencex-agentx-mvp or agentx." placeholder:"NAME" group:"Rules"`
	UnsafeOverride bool   `help:"Run although rules are broken; the result then does not count." group:"Rules"`

	serverFlags
	ResetKVCache bool   `name:"reset-kv-cache" help:"Reset the server's prefix cache first, and prove it." group:"Server"`
	EndpointType string `default:"chat" help:"Only chat." placeholder:"TYPE" group:"Server"`

	InputFile               []string `sep:"none" help:"Trace file or folder." placeholder:"PATH" group:"Traces" config:"substitute,path"`
	PublicDataset           string   `help:"A public corpus, by its name; fetched from Hugging Face when it is not in the cache." placeholder:"NAME" group:"Traces"`
	CustomDatasetType       string   `help:"Only weka-trace." placeholder:"TYPE" group:"Traces"`
	NumDatasetEntries       *int     `aliases:"num-prompts" help:"Keep the first N traces." placeholder:"N" group:"Traces"`
	MaxContextLength        int      `help:"Drop traces with a longer prompt and answer, in tokens." placeholder:"N" group:"Traces"`
	DatasetSamplingStrategy string   `default:"sequential" help:"sequential, shuffle or random." placeholder:"HOW" group:"Traces"`
	AllowDatasetWrap        bool     `help:"Has no effect: one trace may always be live on several lanes, kept apart by the marker." hidden:"" group:"Traces"`
	NestedTimes             string   `default:"auto" help:"How inner subagent times are to be read: auto, absolute or relative." group:"Traces"`

	Concurrency                string   `help:"Lanes: live session trees; 1 when not given." placeholder:"N" group:"Load" config:"list=whole"`
	BenchmarkDuration          *float64 `help:"Seconds to measure; 1800, 3600 with --scenario agentx, 25 with run alone." placeholder:"S" group:"Load"`
	BenchmarkGracePeriod       *float64 `help:"Seconds for what is in flight at the end, or inf; 30." placeholder:"S" group:"Load" config:"inf"`
	RandomSeed                 *uint64  `help:"Of start positions, shuffles and texts." placeholder:"N" group:"Load"`
	TrajectoryStartMinRatio    *float64 `help:"Earliest entry into a trace, as a share of its time." placeholder:"R" group:"Load"`
	TrajectoryStartMaxRatio    *float64 `help:"Latest entry." placeholder:"R" group:"Load"`
	BurstPhaseStarts           bool     `help:"Start phases at once instead of spread." group:"Load"`
	WarmupRequestsPerLane      *int     `help:"Requests each lane advances by before measuring." placeholder:"N" group:"Load"`
	AgenticCacheWarmupDuration *float64 `help:"Or advance for so many seconds." placeholder:"S" group:"Load"`
	WarmupGracePeriod          *float64 `aliases:"agentic-warmup-grace-period" help:"Longest wait for warm-up answers." placeholder:"S" group:"Load" config:"inf"`
	SystemIdleGapCapSeconds    *float64 `help:"Longest time without any request in flight." placeholder:"S" group:"Load" config:"inf"`
	TraceIdleGapCapSeconds     *float64 `help:"Longest time a tree has none in flight." placeholder:"S" group:"Load" config:"inf"`
	FailedRequestThreshold     *float64 `help:"Stop when a larger share of the requests failed." placeholder:"R" group:"Load"`
	IgnoreTraceDelays          *bool    `help:"Leave recorded delays out." group:"Load"`
	UseThinkTimeOnly           bool     `help:"Take the recorded think_time as delay." group:"Load"`
	InterTurnDelayCapSeconds   *float64 `help:"Longest delay between two turns." placeholder:"S" group:"Load"`
	SynthesisMaxISL            *int     `name:"synthesis-max-isl" help:"Not supported; the rule sets forbid it." hidden:"" group:"Load"`
	SynthesisMaxOSL            int      `name:"synthesis-max-osl" help:"Cap of main answers, in tokens." placeholder:"N" group:"Load"`
	LanePlan                   *string  `help:"shared, or seeded for A/B runs: each lane its own order of traces." placeholder:"HOW" group:"Load"`
	CacheBust                  *string  `help:"Where the marker that keeps trees apart stands: first-turn-prefix, or none." placeholder:"WHERE" group:"Load"`
	Marker                     string   `default:"words" help:"Form of the marker: words or aiperf." group:"Load"`
	ISL                        string   `name:"isl" default:"content" help:"Whose count equals the recorded one: the text's (content) or the server's (wire)." group:"Load"`
	MessageShape               string   `default:"roles" help:"roles, merged (no two messages of one role in a row) or single-user." group:"Load"`
	History                    *string  `help:"recorded." placeholder:"HOW" group:"Load"`
	RequestRate                *float64 `help:"Not for recorded sessions." hidden:"" group:"Load"`
	ArrivalPattern             *string  `help:"Not for recorded sessions." hidden:"" aliases:"request-rate-mode" group:"Load"`
	UserCentricRate            *float64 `help:"Not for recorded sessions." hidden:"" group:"Load"`
	FixedSchedule              *bool    `help:"Not for recorded sessions." hidden:"" group:"Load"`

	outputFlags
	ignoredFlags

	unasked bool // --compare-with was chosen by us: without it a run goes on
}

// serverFlags say where the engine is and how it is spoken to.
type serverFlags struct {
	URL                     []string `name:"url" short:"u" sep:"none" help:"Address of the server." placeholder:"URL" group:"Server" config:"substitute"`
	ModelNames              []string `name:"model-names" aliases:"model" short:"m" help:"Model name; the only one the server has, when not given." placeholder:"NAME" group:"Server" config:"substitute"`
	CustomEndpoint          string   `name:"endpoint" aliases:"custom-endpoint" help:"Path below the address, instead of /v1/chat/completions." placeholder:"PATH" group:"Server"`
	APIKey                  string   `name:"api-key" help:"Sent as a bearer token." placeholder:"KEY" group:"Server" config:"substitute,secret"`
	Header                  []string `short:"H" sep:"none" help:"Further header, as Name:Value." placeholder:"N:V" group:"Server" config:"substitute,secret"`
	ExtraInputs             []string `sep:"none" help:"Further members of every body, as key:value or as a JSON object." placeholder:"K:V" group:"Server"`
	Streaming               *bool    `help:"Ask for a stream (the default)." group:"Server"`
	UseServerTokenCount     *bool    `help:"Count tokens by the server's usage (the default); =false counts the prompt's own words." group:"Server"`
	PerChunkUsage           bool     `help:"Ask for usage with every chunk." group:"Server"`
	UseLegacyMaxTokens      bool     `help:"Send max_tokens instead of max_completion_tokens." group:"Server"`
	RequestTimeoutSeconds   float64  `default:"21600" help:"Longest time for one request." placeholder:"S" group:"Server"`
	ConnectionReuseStrategy string   `default:"pooled" help:"pooled, never or sticky-user-sessions." placeholder:"HOW" group:"Server"`
	SessionHeader           string   `help:"Name to send X-Correlation-ID under." placeholder:"NAME" group:"Server"`
	TreeHeader              string   `help:"Header to send the tree's id under: the same for a root and its subagents." placeholder:"NAME" group:"Server"`
	XSessionID              bool     `name:"x-session-id" help:"Send X-Session-ID, for routers that keep sessions together." group:"Server"`
	XSMGRoutingKey          bool     `name:"x-smg-routing-key" help:"Send X-SMG-Routing-Key (SGLang Model Gateway)." group:"Server"`
	XDynamoSessionID        bool     `name:"x-dynamo-session-id" help:"Send X-Dynamo-Session-ID and the parent's." group:"Server"`
	KeepAliveSeconds        *float64 `help:"How long an idle connection is kept; 4 when not given." placeholder:"S" group:"Server"`
	WaitForModelTimeout     float64  `help:"Seconds to wait until the server answers; 0 asks once." placeholder:"S" group:"Server"`
	RetryUnsent             bool     `help:"Send again what provably was not sent; counted." group:"Server"`
}

// outputFlags say what is written and shown.
type outputFlags struct {
	Goodput           []string `sep:"none" help:"Conditions of a good request, as metric:threshold." placeholder:"M:T" group:"Result"`
	SliceDuration     *float64 `help:"Seconds of a time slice." placeholder:"S" group:"Result"`
	OutputArtifactDir string   `aliases:"artifact-dir" default:"artifacts" help:"Folder for the artifacts." placeholder:"DIR" group:"Result" config:"substitute"`
	ServerMetrics     []string `sep:"none" help:"Metrics pages of the engine; /metrics of the address when not given." placeholder:"URL" group:"Result" config:"substitute"`
	CompareWith       []string `sep:"none" help:"Folder of a run to compare with, again for repeats of it; or of a folder of runs, whose newest accepted five are taken; or the same in a store, as s3://bucket/prefix/v1/owner/repo/cell/branch. One that does not fit is refused before the run." placeholder:"DIR" group:"Result" config:"substitute"`
	Floor             string   `help:"Noise floor of the runner pool, as agentx compare --aa writes it." placeholder:"FILE" group:"Result" config:"substitute,path"`
	NoServerMetrics   bool     `help:"Do not read the engine's metrics." group:"Result"`
	GPUTelemetry      []string `name:"gpu-telemetry" sep:"none" help:"Read the GPUs' power from nvidia-smi, or from DCGM exporters at these addresses; nvidia-smi when not given, where it is and the server is on this machine." placeholder:"SOURCE" group:"Result"`
	NoGPUTelemetry    bool     `name:"no-gpu-telemetry" help:"Do not read the GPUs." group:"Result"`
	ShowTraceTiming   bool     `help:"Show the HTTP phases at the end." group:"Result"`
	ExportHTTPTrace   bool     `name:"export-http-trace" help:"Has no effect: the phases are always recorded." hidden:"" group:"Result"`
	StatsInterval     float64  `default:"10" help:"Seconds between progress lines; 0 for none." placeholder:"S" group:"Result"`
	FailOn            []string `default:"never" enum:"never,invalid,untrusted,regression" help:"What to fail on, one or several: a run that does not count (invalid) or also one that may mislead (untrusted), with exit code 3; a regression, with 4; or never." placeholder:"WHAT,..." group:"Result"`
}

// ignoredFlags are AIPerf's flags that a script may hold and that change nothing
// here; the ones given are named.
type ignoredFlags struct {
	Tokenizer                   *string  `hidden:""`
	TokenizerRevision           *string  `hidden:""`
	TokenizerTrustRemoteCode    bool     `hidden:""`
	ApplyChatTemplate           bool     `hidden:""`
	UIType                      *string  `name:"ui-type" aliases:"ui" hidden:""`
	WorkersMax                  *int     `aliases:"max-workers" hidden:""`
	RecordProcessors            *int     `hidden:""`
	ServerMetricsFormats        []string `sep:"none" hidden:""`
	ExportLevel                 *string  `aliases:"profile-export-level" hidden:""`
	LogLevel                    *string  `hidden:""`
	Verbose                     bool     `short:"v" hidden:""`
	ExtraVerbose                bool     `hidden:""`
	UseDynamoConvAwareRouting   bool     `hidden:""`
	DynamoSessionTimeoutSeconds *float64 `hidden:""`
	AutoPlot                    *bool    `negatable:"" hidden:""`
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }
