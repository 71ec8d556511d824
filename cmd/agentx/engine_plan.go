package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/preset"
)

// Drivers (decisions.md 32).
const (
	driverURL     = "url"
	driverProcess = "process"
	driverDocker  = "docker"
	driverCompose = "compose"
	driverSim     = "sim"
)

const engineCustom = "custom"

// portPlaceholder stands in a command line for the port that is taken at start.
const portPlaceholder = "{port}"

// enginePort is an engine's port in a container.
const enginePort = 8000

// enginePlan is what is to be started, settled before anything starts.
type enginePlan struct {
	Driver string // url, process, docker, compose or sim
	Engine string // vllm, sglang, sim, custom; "" with url and compose
	URL    string // of an engine that is there

	// Argv is the command line: of a process the whole of it, in a container what
	// follows the entrypoint. It may hold portPlaceholder when Port is 0.
	Argv []string
	// Entrypoint replaces the image's, when not empty.
	Entrypoint []string
	// Env is the declared environment: the preset's, then --engine-env, then
	// --engine-secret-env, a name once.
	Env []deploy.Var
	// Port the engine listens on; 0 takes a free one.
	Port int

	Image, Pull string
	GPUs        string // all, a number, device=0,1; "" for none
	Devices     []string
	Groups      []string
	Mounts      []string // source:path[:ro], the source a full path or a volume
	ShmBytes    int64
	HostIPC     bool
	Ulimits     map[string]int64
	CapAdd      []string
	SecurityOpt []string
	Privileged  bool
	Network     string // "" makes one of our own, or host

	Compose composePlan

	// Load, Answer and Grace are deploy.Plan's; 0 is its default.
	Load, Answer, Grace time.Duration
	// NoMetrics leaves the metrics page out of what ready means.
	NoMetrics bool
	// CacheReset says that the engine can be asked to empty its prefix cache.
	CacheReset bool
}

// composePlan is a Compose project: its files, the service that takes the load,
// and where its engines' metrics are.
type composePlan struct {
	Files    []string
	EnvFiles []string
	Profiles []string
	Service  endpoint
	Metrics  []endpoint
}

// endpoint is a port of a service.
type endpoint struct {
	Service string
	Port    int
}

// planInput is what the plan needs of the other flags.
type planInput struct {
	URL    []string
	Models []string
	APIKey string
	Lanes  int // the largest concurrency
	Sim    simFlags
	// Masked are names in --engine-env whose values came from our environment: they
	// may be secrets, whatever they are called.
	Masked []string
	Lookup func(string) (string, bool) // of our environment; nil = os.LookupEnv
}

// plan settles what is started. All that is wrong is reported at once.
func (e *engineFlags) plan(in planInput) (enginePlan, error) {
	if in.Lookup == nil {
		in.Lookup = os.LookupEnv
	}
	var errs errorList
	p := enginePlan{
		Driver: e.driver(in), Engine: e.Engine, Port: e.EnginePort, NoMetrics: !e.EngineMetrics, CacheReset: e.CacheReset,
		Load: seconds(e.EngineLoadTimeoutSeconds), Answer: seconds(e.EngineReadyTimeoutSeconds), Grace: seconds(e.EngineGraceSeconds),
	}
	for _, s := range []struct {
		flag string
		v    float64
	}{{"engine-load-timeout-seconds", e.EngineLoadTimeoutSeconds}, {"engine-ready-timeout-seconds", e.EngineReadyTimeoutSeconds}, {"engine-grace-seconds", e.EngineGraceSeconds}} {
		if !(s.v > 0 && s.v <= 7*24*3600) {
			errs.add(fmt.Errorf("--%s %v: must be above 0 and at most a week", s.flag, s.v))
		}
	}
	if e.EnginePort < 0 || e.EnginePort > 65535 {
		errs.add(fmt.Errorf("--engine-port %d: must be a port", e.EnginePort))
	}
	e.refuse(p.Driver, in, &errs)
	switch p.Driver {
	case driverProcess:
		e.command(&p, in, &errs)
		p.Argv = append(slices.Clone(e.EnginePrefix), p.Argv...)
	case driverDocker:
		if p.Port == 0 && e.Network != "host" {
			p.Port = enginePort
		}
		e.command(&p, in, &errs)
		e.container(&p, &errs)
	case driverCompose:
		e.compose(&p, &errs)
		p.Env = e.env(nil, in, &errs)
	}
	return p, errs.join()
}

// driver is the one asked for, or the one that the settings call for.
func (e *engineFlags) driver(in planInput) string {
	switch {
	case e.Driver != "":
		return e.Driver
	case len(in.URL) > 0:
		return driverURL
	case len(e.ComposeFile) > 0:
		return driverCompose
	case e.Image != "":
		return driverDocker
	case len(e.EngineCommand) > 0, e.Engine == preset.VLLM, e.Engine == preset.SGLang, e.Engine == engineCustom:
		return driverProcess
	}
	return driverSim
}

// refuse names the settings that have no effect with a driver, and those it lacks.
func (e *engineFlags) refuse(driver string, in planInput, errs *errorList) {
	commanded := []string{driverProcess, driverDocker}
	for _, s := range []struct {
		flag  string
		given bool
		by    []string // drivers that take it
	}{
		{"url", len(in.URL) > 0, []string{driverURL}},
		{"engine-command", len(e.EngineCommand) > 0, commanded},
		{"args", len(e.Args) > 0, commanded},
		{"engine-prefix", len(e.EnginePrefix) > 0, []string{driverProcess}},
		{"model-path", e.ModelPath != "", commanded},
		{"engine-port", e.EnginePort != 0, commanded},
		{"engine-env", len(e.EngineEnv) > 0, []string{driverProcess, driverDocker, driverCompose}},
		{"engine-secret-env", len(e.EngineSecretEnv) > 0, []string{driverProcess, driverDocker, driverCompose}},
		{"image", e.Image != "", []string{driverDocker}},
		{"gpus", e.GPUs != "", []string{driverDocker}},
		{"device", len(e.Device) > 0, []string{driverDocker}},
		{"mount", len(e.Mount) > 0, []string{driverDocker}},
		{"ulimit", len(e.Ulimit) > 0, []string{driverDocker}},
		{"network", e.Network != "", []string{driverDocker}},
		{"ipc", e.IPC != "", []string{driverDocker}},
		{"group-add", len(e.GroupAdd) > 0, []string{driverDocker}},
		{"cap-add", len(e.CapAdd) > 0, []string{driverDocker}},
		{"security-opt", len(e.SecurityOpt) > 0, []string{driverDocker}},
		{"privileged", e.Privileged, []string{driverDocker}},
		{"compose-file", len(e.ComposeFile) > 0, []string{driverCompose}},
		{"compose-service", e.ComposeService != "", []string{driverCompose}},
		{"compose-metrics", len(e.ComposeMetrics) > 0, []string{driverCompose}},
		{"compose-env-file", len(e.ComposeEnvFile) > 0, []string{driverCompose}},
		{"compose-profile", len(e.ComposeProfile) > 0, []string{driverCompose}},
	} {
		if s.given && !slices.Contains(s.by, driver) {
			errs.add(fmt.Errorf("--%s: has no effect with the driver %s, only with %s", s.flag, driver, strings.Join(s.by, ", ")))
		}
	}
	switch {
	case driver == driverURL && len(in.URL) == 0:
		errs.add(errors.New("--driver url: needs --url"))
	case driver == driverDocker && e.Image == "":
		errs.add(errors.New("--driver docker: needs --image"))
	case driver == driverCompose && len(e.ComposeFile) == 0:
		errs.add(errors.New("--driver compose: needs --compose-file"))
	}
	if driver == driverSim && e.Engine != "" && e.Engine != preset.Sim {
		errs.add(fmt.Errorf("--engine %s: the driver sim has only the embedded engine", e.Engine))
	}
	if !slices.Contains(commanded, driver) {
		e.refuseSettings(driver, errs)
	}
}

// refuseSettings names typed settings where there is no command line to put them on.
func (e *engineFlags) refuseSettings(where string, errs *errorList) {
	s := e.presetSettings(planInput{})
	for _, d := range []struct {
		flag  string
		given bool
	}{
		{"trust-remote-code", s.TrustRemoteCode}, {"tensor-parallel-size", s.TensorParallel != 0}, {"pipeline-parallel-size", s.PipelineParallel != 0},
		{"data-parallel-size", s.DataParallel != 0}, {"dp-attention", s.DPAttention}, {"expert-parallel", s.ExpertParallel},
		{"max-num-seqs", s.MaxNumSeqs != 0}, {"max-model-len", s.MaxModelLen != 0}, {"gpu-memory-utilization", s.GPUMemoryUtilization != 0},
		{"kv-cache-dtype", s.KVCacheDtype != ""}, {"no-prefix-caching", s.NoPrefixCaching}, {"kv-offload", s.Offload != preset.OffloadNone},
		{"kv-offload-gb", s.OffloadGB != 0}, {"kv-offload-server", s.OffloadServer != ""}, {"kv-offload-config", s.OffloadConfig != ""},
		{"speculative-…, --num-speculative-tokens", s.Speculation.On()},
	} {
		if d.given {
			errs.add(fmt.Errorf("--%s: a setting of the presets vllm and sglang; it has no effect with %s", d.flag, where))
		}
	}
}

// presetSettings are the typed ones, for a preset.
func (e *engineFlags) presetSettings(in planInput) preset.Settings {
	s := preset.Settings{
		Path: e.ModelPath, APIKey: in.APIKey, TrustRemoteCode: e.TrustRemoteCode,
		TensorParallel: e.TensorParallelSize, PipelineParallel: e.PipelineParallelSize, DataParallel: e.DataParallelSize, DPAttention: e.DPAttention, ExpertParallel: e.ExpertParallel,
		MaxNumSeqs: e.MaxNumSeqs, MaxModelLen: e.MaxModelLen, GPUMemoryUtilization: e.GPUMemoryUtilization, KVCacheDtype: e.KVCacheDtype, NoPrefixCaching: !e.PrefixCaching,
		Offload: preset.Offload(e.KVOffload), OffloadGB: e.KVOffloadGB, OffloadServer: e.KVOffloadServer, OffloadConfig: e.KVOffloadConfig,
		Speculation: preset.Speculation{Method: e.SpeculativeMethod, Model: e.SpeculativeModel, Tokens: e.NumSpeculativeTokens, AcceptanceLength: e.SpeculativeAcceptanceLength, Config: e.SpeculativeConfig},
		NoMetrics:   !e.EngineMetrics, NoCacheReport: !e.CacheReport, NoCacheReset: !e.CacheReset,
		KeepAliveS: e.EngineKeepAliveSeconds, LoadS: int(e.EngineLoadTimeoutSeconds),
		SimSet: in.Sim.SimSet, SimConfig: in.Sim.SimConfig,
	}
	if s.MaxNumSeqs == 0 && in.Lanes > 0 {
		ranks := max(s.DataParallel, 1)
		s.MaxNumSeqs = (2*in.Lanes + ranks - 1) / ranks
	}
	return s
}

// command settles command line and environment.
func (e *engineFlags) command(p *enginePlan, in planInput, errs *errorList) {
	if p.Engine == "" && len(e.EngineCommand) > 0 {
		p.Engine = engineCustom
	}
	switch p.Engine {
	case "":
		errs.add(errors.New("--engine: say whose command line it is: vllm, sglang, sim or custom"))
		return
	case engineCustom:
		e.custom(p, in, errs)
		return
	}
	if len(e.EngineCommand) > 0 {
		errs.add(fmt.Errorf("--engine-command: only with --engine custom; change the command line of %s by --args", p.Engine))
	}
	s := e.presetSettings(in)
	s.Port = portText(p.Port)
	if p.Driver == driverProcess {
		s.Host = "127.0.0.1" // nobody else is to load it
	}
	switch len(in.Models) {
	case 0:
	case 1:
		s.Model = in.Models[0]
	default:
		errs.add(fmt.Errorf("--model: %s serves one model", p.Engine))
	}
	c, err := preset.Build(p.Engine, s)
	if err != nil {
		errs.add(err)
		return
	}
	if c.Args, err = preset.Edit(c.Args, e.Args); err != nil {
		errs.add(err)
		return
	}
	p.Argv = c.Argv()
	if p.Driver == driverDocker {
		p.Entrypoint, p.Argv = c.Entrypoint, c.ContainerArgs()
	} else if p.Engine == preset.Sim {
		p.Argv[0] = self()
	}
	p.Env = e.env(c.Env, in, errs)
}

// custom is a command line of the user's own.
func (e *engineFlags) custom(p *enginePlan, in planInput, errs *errorList) {
	if len(e.EngineCommand) == 0 && p.Driver == driverProcess {
		errs.add(errors.New("--engine custom: needs --engine-command"))
	}
	if len(e.Args) > 0 {
		errs.add(errors.New("--args: a custom command line is not edited; put them into --engine-command"))
	}
	if e.ModelPath != "" {
		errs.add(errors.New("--model-path: put it into --engine-command"))
	}
	e.refuseSettings("a custom command line", errs)
	if p.Port == 0 && !slices.ContainsFunc(e.EngineCommand, func(w string) bool { return strings.Contains(w, portPlaceholder) }) {
		errs.add(fmt.Errorf("--engine-command: must hold %s, or --engine-port must say where it listens", portPlaceholder))
	}
	for _, w := range e.EngineCommand {
		if p.Port != 0 {
			w = strings.ReplaceAll(w, portPlaceholder, strconv.Itoa(p.Port))
		}
		p.Argv = append(p.Argv, w)
	}
	p.Env = e.env(nil, in, errs)
}

func portText(port int) string {
	if port == 0 {
		return portPlaceholder
	}
	return strconv.Itoa(port)
}

// self is this program, for an embedded engine in a process of its own.
func self() string {
	if name, err := os.Executable(); err == nil {
		return name
	}
	return os.Args[0]
}
