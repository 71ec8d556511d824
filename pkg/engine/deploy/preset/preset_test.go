package preset

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// cases are the combinations of spec/inferencex.md §1.6.
var cases = []struct {
	name   string
	engine string
	s      Settings
}{
	{"vllm_plain", VLLM, Settings{Model: "org/model", Port: "8000"}},
	{"vllm_tensor_expert_parallel", VLLM, Settings{Model: "org/model", Path: "/models/m", Port: "8888", TrustRemoteCode: true, TensorParallel: 8, ExpertParallel: true,
		MaxNumSeqs: 32, MaxModelLen: 1048576, GPUMemoryUtilization: 0.9, KVCacheDtype: "fp8", KeepAliveS: 900, LoadS: 3600}},
	{"vllm_data_parallel", VLLM, Settings{Model: "org/model", Port: "8000", TensorParallel: 1, DataParallel: 8, DPAttention: true, ExpertParallel: true, MaxNumSeqs: 16}},
	{"vllm_pipeline", VLLM, Settings{Model: "org/model", Port: "8000", TensorParallel: 4, PipelineParallel: 2}},
	{"vllm_fixed_baseline", VLLM, Settings{Model: "org/model", Port: "8000", NoPrefixCaching: true, MaxModelLen: 9472}},
	{"vllm_bare", VLLM, Settings{Model: "org/model", Port: "8000", NoMetrics: true, NoCacheReport: true, NoCacheReset: true}},
	{"vllm_key", VLLM, Settings{Model: "org/model", Port: "8000", APIKey: "canary"}},
	{"vllm_eagle3_simulated", VLLM, Settings{Model: "org/model", Port: "8000", MaxNumSeqs: 16, Speculation: Speculation{Method: "eagle3", Model: "org/draft", Tokens: 3, AcceptanceLength: 2.78}}},
	{"vllm_mtp_real", VLLM, Settings{Model: "org/model", Port: "8000", Speculation: Speculation{Method: "mtp", Tokens: 3, Config: `{"moe_backend":"triton"}`}}},
	{"vllm_offload_native", VLLM, Settings{Model: "org/model", Port: "8000", TensorParallel: 8, Offload: OffloadVLLMNative, OffloadGB: 1200}},
	{"vllm_offload_native_dp", VLLM, Settings{Model: "org/model", Port: "8000", DataParallel: 8, Offload: OffloadVLLMNative, OffloadGB: 1200}},
	{"vllm_offload_simple", VLLM, Settings{Model: "org/model", Port: "8000", TensorParallel: 8, Offload: OffloadVLLMSimple, OffloadGB: 1200}},
	{"vllm_offload_lmcache", VLLM, Settings{Model: "org/model", Port: "8000", TensorParallel: 8, Offload: OffloadLMCache, OffloadGB: 1200}},
	{"vllm_offload_lmcache_server", VLLM, Settings{Model: "org/model", Port: "8000", Offload: OffloadLMCache, OffloadServer: "lmcache:5555"}},
	{"vllm_offload_mooncake", VLLM, Settings{Model: "org/model", Port: "8000", Offload: OffloadMooncake, OffloadConfig: "/etc/mooncake.json"}},
	{"sglang_plain", SGLang, Settings{Model: "org/model", Port: "8000"}},
	{"sglang_tensor_expert_parallel", SGLang, Settings{Model: "org/model", Path: "/models/m", Port: "8888", TrustRemoteCode: true, TensorParallel: 8, ExpertParallel: true,
		MaxNumSeqs: 32, MaxModelLen: 1048576, GPUMemoryUtilization: 0.85, KVCacheDtype: "fp8_e4m3", KeepAliveS: 900, LoadS: 3600}},
	{"sglang_dp_attention", SGLang, Settings{Model: "org/model", Port: "8000", DataParallel: 8, DPAttention: true, ExpertParallel: true, MaxNumSeqs: 16}},
	{"sglang_data_parallel", SGLang, Settings{Model: "org/model", Port: "8000", TensorParallel: 2, DataParallel: 4, MaxNumSeqs: 100}},
	{"sglang_fixed_baseline", SGLang, Settings{Model: "org/model", Port: "8000", NoPrefixCaching: true}},
	{"sglang_bare", SGLang, Settings{Model: "org/model", Port: "8000", NoMetrics: true, NoCacheReport: true, NoCacheReset: true}},
	{"sglang_eagle_simulated", SGLang, Settings{Model: "org/model", Port: "8000", Speculation: Speculation{Method: "mtp", Tokens: 3, AcceptanceLength: 2.49}}},
	{"sglang_ngram", SGLang, Settings{Model: "org/model", Port: "8000", Speculation: Speculation{Method: "ngram", Tokens: 7}}},
	{"sglang_offload_hicache", SGLang, Settings{Model: "org/model", Port: "8000", TensorParallel: 8, Offload: OffloadHiCache, OffloadGB: 1201}},
	{"sglang_offload_mooncake", SGLang, Settings{Model: "org/model", Port: "8000", Offload: OffloadMooncake, OffloadServer: "mooncake:50051", OffloadGB: 100}},
	{"sglang_offload_lmcache", SGLang, Settings{Model: "org/model", Port: "8000", Offload: OffloadLMCache, OffloadConfig: "/etc/lmcache.yaml"}},
	{"sim", Sim, Settings{Model: "m", Port: "{port}", Host: "127.0.0.1", SimSet: []string{"cost.step_base_ms=6"}, KeepAliveS: 900}},
}

func TestCommands(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Build(c.engine, c.s)
			if err != nil {
				t.Fatal(err)
			}
			text := show(got)
			file := filepath.Join("testdata", c.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// show writes a command with a flag and its values on a line.
func show(c Command) string {
	var b strings.Builder
	b.WriteString("process: " + strings.Join(c.Program, " ") + "\n")
	if len(c.Entrypoint) > 0 {
		b.WriteString("entrypoint: " + strings.Join(c.Entrypoint, " ") + "\n")
	}
	if len(c.Prefix) > 0 {
		b.WriteString("after the image's entrypoint: " + strings.Join(c.Prefix, " ") + "\n")
	}
	groups, _ := group(c.Args)
	for _, g := range groups {
		b.WriteString("  " + strings.Join(g, " ") + "\n")
	}
	for _, v := range c.Env {
		b.WriteString(v.Name + "=" + v.Value)
		if v.Secret {
			b.WriteString(" (secret)")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A key reaches an engine through its environment alone.
func TestKeyIsOnNoCommandLine(t *testing.T) {
	c, err := Build(VLLM, Settings{Model: "m", APIKey: "canary"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(append(c.Argv(), c.ContainerArgs()...), " "), "canary") {
		t.Errorf("the key is on the command line: %q", c.Argv())
	}
	for _, v := range c.Env {
		if v.Value == "canary" && !v.Secret {
			t.Errorf("%s is not marked as a secret", v.Name)
		}
	}
}

// Equal settings are equal command lines: identities are compared.
func TestCommandsDoNotVary(t *testing.T) {
	for _, c := range cases {
		first, err := Build(c.engine, c.s)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			again, _ := Build(c.engine, c.s)
			if diff := cmp.Diff(first, again); diff != "" {
				t.Fatalf("%s: %s", c.name, diff)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		engine string
		s      Settings
		want   []string
	}{
		{"trt", Settings{}, []string{"--engine trt"}},
		{VLLM, Settings{}, []string{"--model"}},
		{VLLM, Settings{Model: "m", Offload: OffloadHiCache, OffloadGB: 1}, []string{"--kv-offload hicache: vllm has none, vllm-native"}},
		{SGLang, Settings{Model: "m", Offload: OffloadVLLMNative, OffloadGB: 1}, []string{"--kv-offload vllm-native: sglang has none, hicache"}},
		{Sim, Settings{Offload: OffloadLMCache, OffloadGB: 1}, []string{"--kv-offload lmcache: the embedded engine has none"}},
		{VLLM, Settings{Model: "m", Offload: OffloadVLLMNative}, []string{"needs --kv-offload-gb"}},
		{VLLM, Settings{Model: "m", Offload: OffloadMooncake}, []string{"needs --kv-offload-config"}},
		{VLLM, Settings{Model: "m", Offload: OffloadLMCache}, []string{"needs --kv-offload-gb, --kv-offload-config or --kv-offload-server"}},
		{VLLM, Settings{Model: "m", Offload: OffloadLMCache, OffloadServer: "nowhere"}, []string{"--kv-offload-server nowhere: want host:port"}},
		{SGLang, Settings{Model: "m", Offload: OffloadMooncake}, []string{"needs --kv-offload-server or --kv-offload-config"}},
		{SGLang, Settings{Model: "m", TensorParallel: 8, Offload: OffloadHiCache, OffloadGB: 4}, []string{"less than 1 GB for each of 8 GPUs"}},
		{VLLM, Settings{Model: "m", OffloadGB: 5, OffloadServer: "a:1"}, []string{"--kv-offload-gb: has no effect", "--kv-offload-server: has no effect"}},
		{VLLM, Settings{Model: "m", NoPrefixCaching: true, Offload: OffloadVLLMNative, OffloadGB: 1}, []string{"--no-prefix-caching"}},
		{SGLang, Settings{Model: "m", DPAttention: true}, []string{"--dp-attention: needs --data-parallel-size"}},
		{VLLM, Settings{Model: "m", GPUMemoryUtilization: 1.5, MaxNumSeqs: -1}, []string{"--gpu-memory-utilization 1.5", "--max-num-seqs -1"}},
		{VLLM, Settings{Model: "m", Speculation: Speculation{Tokens: 3}}, []string{"--speculative-method"}},
		{VLLM, Settings{Model: "m", Speculation: Speculation{Method: "mtp", AcceptanceLength: 2}}, []string{"needs --num-speculative-tokens"}},
		{VLLM, Settings{Model: "m", Speculation: Speculation{Method: "mtp", Tokens: 3, AcceptanceLength: 4.5}}, []string{"must be from 1 to 4"}},
		{VLLM, Settings{Model: "m", Speculation: Speculation{Config: "{"}}, []string{"--speculative-config: no JSON object"}},
		{VLLM, Settings{Model: "m", Speculation: Speculation{Method: "mtp", Config: `{"method":"ngram"}`}}, []string{"method is --speculative-method"}},
		{SGLang, Settings{Model: "m", Speculation: Speculation{Method: "medusa", Tokens: 3}}, []string{"--speculative-method medusa: SGLang has"}},
		{SGLang, Settings{Model: "m", Speculation: Speculation{Config: `{}`}}, []string{"only vLLM has it"}},
		{SGLang, Settings{Model: "m", APIKey: "canary"}, []string{"--api-key"}},
		{Sim, Settings{TensorParallel: 2}, []string{"--tensor-parallel-size: the embedded engine has its own dials"}},
		{VLLM, Settings{Model: "m", SimSet: []string{"a=1"}}, []string{"--sim-set"}},
	} {
		got, err := Build(c.engine, c.s)
		if err == nil {
			t.Errorf("%s %+v was taken: %q", c.engine, c.s, got.Args)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s %+v: %v; want %q", c.engine, c.s, err, w)
			}
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("a key is shown: %v", err)
		}
	}
}
