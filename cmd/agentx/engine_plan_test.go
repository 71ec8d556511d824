package main

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// planOf is what a command line of `run` plans, in an environment of one token.
func planOf(t *testing.T, line ...string) (enginePlan, error) {
	t.Helper()
	var g grammar
	parser, err := kong.New(&g, kong.Vars{"version": "test", "sampleSeed": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"run"}, line...)); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	in := planInput{URL: g.Run.URL, Models: g.Run.ModelNames, APIKey: g.Run.APIKey, Lanes: 8, Sim: g.Run.simFlags}
	in.Lookup = func(name string) (string, bool) { return "canary", name == "HF_TOKEN" }
	return g.Run.plan(in)
}

func TestPlanOfDocker(t *testing.T) {
	got, err := planOf(t, "--image", "vllm/vllm-openai@sha256:0", "--engine", "vllm", "--model", "org/m", "--tensor-parallel-size", "8",
		"--mount", "/data/hf:/root/.cache/huggingface", "--mount", "/data/ro:/ro:ro", "--engine-env", "A=1", "--engine-env", "PYTHONHASHSEED=7", "--engine-secret-env", "HF_TOKEN",
		"--args=--block-size=128", "--args=!--enable-prompt-tokens-details", "--shm-size", "32g")
	if err != nil {
		t.Fatal(err)
	}
	want := enginePlan{
		Driver: "docker", Engine: "vllm", Entrypoint: []string{"vllm", "serve"},
		Argv: []string{"org/m", "--served-model-name", "org/m", "--host", "0.0.0.0", "--port", "8000", "--tensor-parallel-size", "8", "--max-num-seqs", "16", "--enable-prefix-caching", "--block-size=128"},
		Env: []deploy.Var{
			{Name: "PYTHONHASHSEED", Value: "7"}, {Name: "VLLM_SERVER_DEV_MODE", Value: "1"}, {Name: "VLLM_HTTP_TIMEOUT_KEEP_ALIVE", Value: "900"}, {Name: "VLLM_ENGINE_READY_TIMEOUT_S", Value: "3600"},
			{Name: "A", Value: "1"}, {Name: "HF_TOKEN", Value: "canary", Secret: true},
		},
		Port: 8000, Image: "vllm/vllm-openai@sha256:0", Pull: "missing", GPUs: "all", ShmBytes: 32 << 30,
		Mounts:  []string{"/data/hf:/root/.cache/huggingface", "/data/ro:/ro:ro"},
		Ulimits: map[string]int64{"memlock": -1, "stack": 67108864},
		Load:    time.Hour, Answer: 10 * time.Minute, Grace: 10 * time.Second, CacheReset: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlanDriver(t *testing.T) {
	for _, c := range []struct {
		line   string
		driver string
		engine string
	}{
		{"", "sim", ""},
		{"--url http://a", "url", ""},
		{"--engine sim", "sim", "sim"},
		{"--driver process --engine sim", "process", "sim"},
		{"--engine sglang --model m", "process", "sglang"},
		{"--engine-command x --engine-command {port}", "process", "custom"},
		{"--image i --engine custom", "docker", "custom"},
		{"--compose-file c.yaml --compose-service r:80 --compose-metrics e:8000", "compose", ""},
	} {
		got, err := planOf(t, strings.Fields(c.line)...)
		if err != nil || got.Driver != c.driver || got.Engine != c.engine {
			t.Errorf("%s: driver %q, engine %q, %v; want %q, %q", c.line, got.Driver, got.Engine, err, c.driver, c.engine)
		}
	}
}

func TestPlanPort(t *testing.T) {
	p, err := planOf(t, "--engine", "vllm", "--model", "m")
	if err != nil || p.Port != 0 {
		t.Fatalf("port %d, %v", p.Port, err)
	}
	if line := strings.Join(p.Argv, " "); !strings.Contains(line, "--port {port}") || !strings.Contains(line, "--host 127.0.0.1") {
		t.Errorf("%s", line)
	}
	p, err = planOf(t, "--engine", "vllm", "--model", "m", "--image", "i", "--network", "host")
	if line := strings.Join(p.Argv, " "); err != nil || p.Port != 0 || !strings.Contains(line, "--port {port}") {
		t.Errorf("port %d, %s, %v", p.Port, line, err)
	}
	p, err = planOf(t, "--engine", "sglang", "--model", "m", "--engine-prefix", "srun", "--engine-prefix=--overlap")
	if line := strings.Join(p.Argv, " "); err != nil || !strings.HasPrefix(line, "srun --overlap python3 -m sglang.launch_server --model-path m ") {
		t.Errorf("%s, %v", line, err)
	}
	p, err = planOf(t, "--engine-port", "80", "--engine-command=srv", "--engine-command=-p{port}")
	if err != nil || strings.Join(p.Argv, " ") != "srv -p80" {
		t.Errorf("%q, %v", p.Argv, err)
	}
}

// AMD's GPUs are devices.
func TestPlanOfAMD(t *testing.T) {
	p, err := planOf(t, "--engine", "vllm", "--model", "m", "--image", "i", "--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "video", "--ipc", "host", "--cap-add", "SYS_PTRACE", "--security-opt", "seccomp=unconfined")
	if err != nil || p.GPUs != "" || p.ShmBytes != 0 || !p.HostIPC || p.Ulimits["memlock"] != -1 {
		t.Errorf("%+v, %v", p, err)
	}
	want := "docker run --rm --pull missing --device /dev/kfd --device /dev/dri --group-add video --ipc host --ulimit memlock=-1 --ulimit stack=67108864 --cap-add SYS_PTRACE --security-opt seccomp=unconfined "
	if line := p.commandLine(); !strings.HasPrefix(line, want) {
		t.Errorf("%s", line)
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"--image i --url http://a", []string{"--image: has no effect with the driver url"}},
		{"--driver docker", []string{"--driver docker: needs --image"}},
		{"--driver url", []string{"--driver url: needs --url"}},
		{"--driver compose", []string{"--driver compose: needs --compose-file", "--compose-service: say which"}},
		{"--image i", []string{"--engine: say whose command line"}},
		{"--driver sim --engine vllm", []string{"--engine vllm: the driver sim"}},
		{"--url http://a --tensor-parallel-size 2 --kv-offload lmcache", []string{"--tensor-parallel-size: a setting of the presets", "--kv-offload: a setting"}},
		{"--engine vllm", []string{"--model"}},
		{"--engine vllm --model a --model b", []string{"vllm serves one model"}},
		{"--engine vllm --model a --engine-command x", []string{"--engine-command: only with --engine custom"}},
		{"--engine custom", []string{"needs --engine-command", "must hold {port}"}},
		{"--engine-command x{port} --args=--y --tensor-parallel-size 2", []string{"--args: a custom command line", "--tensor-parallel-size: a setting"}},
		{"--engine vllm --model m --engine-secret-env NOPE", []string{"no such variable"}},
		{"--engine vllm --model m --engine-port 70000 --engine-grace-seconds 0", []string{"--engine-port 70000", "--engine-grace-seconds 0"}},
		{"--image i --engine vllm --model m --mount a --mount a:b --ulimit x --gpus some --shm-size big --device kfd",
			[]string{"--mount a: want", "--mount a:b: want", "--ulimit x", "--gpus some", `--shm-size "big"`, "--device kfd"}},
		{"--compose-file c --compose-service r --compose-metrics e:x --engine vllm", []string{"--compose-service r: want name:port", "--compose-metrics e:x: want", "--engine vllm: the Compose file"}},
		{"--driver process --engine sim --api-key canary", []string{"--api-key"}},
		{"--image i --engine vllm --model m --args=!--nothing", []string{"no --nothing"}},
		{"--image i --engine sglang --model m --api-key canary", []string{"--api-key"}},
	} {
		_, err := planOf(t, strings.Fields(c.line)...)
		if err == nil {
			t.Errorf("%s: was taken", c.line)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v; want %q", c.line, err, w)
			}
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: shows a secret: %v", c.line, err)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"16g": 16 << 30, "16GB": 16 << 30, "512m": 512 << 20, "1024": 1024, "1.5k": 1536} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "g", "-1g", "0", "nan", "inf", "1e300", "16x"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q was taken as %d", text, got)
		}
	}
}
