package deploy

import (
	"fmt"
	"strings"
	"testing"
)

func TestFatalLine(t *testing.T) {
	for name, c := range map[string]struct {
		log, want, advice string
	}{
		"vLLM, free memory": {
			log: `INFO 09-28 15:47:20 [api_server.py:1] vLLM API server version 0.10
(EngineCore_DP0 pid=17374) ERROR 09-28 15:47:24 [core.py:718] EngineCore failed to start.
(EngineCore_DP0 pid=17374) ERROR 09-28 15:47:24 [core.py:718] Traceback (most recent call last):
(EngineCore_DP0 pid=17374) ERROR 09-28 15:47:24 [core.py:718]   File "gpu_worker.py", line 180, in init_device
(EngineCore_DP0 pid=17374) ERROR 09-28 15:47:24 [core.py:718]     raise ValueError(
(EngineCore_DP0 pid=17374) ERROR 09-28 15:47:24 [core.py:718] ValueError: Free memory on device (3.22/4.0 GiB) on startup is less than desired GPU memory utilization (0.9, 3.6 GiB).
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}`,
			want:   "ValueError: Free memory on device (3.22/4.0 GiB) on startup is less than desired GPU memory utilization (0.9, 3.6 GiB).",
			advice: "something else holds GPU memory",
		},
		"vLLM, unknown cause": {
			log: `ERROR 05-23 09:31:47 [core.py:396] EngineCore failed to start.
ERROR 05-23 09:31:47 [core.py:396] Traceback (most recent call last):
ERROR 05-23 09:31:47 [core.py:396]     raise KeyError(name)
ERROR 05-23 09:31:47 [core.py:396] KeyError: 'rope_scaling'
RuntimeError: Engine core initialization failed. See root cause above.`,
			want: "KeyError: 'rope_scaling'",
		},
		"only the consequence": {
			log:  "RuntimeError: Engine core initialization failed. See root cause above.",
			want: "RuntimeError: Engine core initialization failed. See root cause above.",
		},
		"SGLang": {
			log: `[2025-03-29 18:12:40] server_args=ServerArgs(mem_fraction_static=0.88)
[2025-03-29 18:12:58 TP0] Scheduler hit an exception: Traceback (most recent call last):
    raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static.")
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.

[2025-03-29 18:12:58] Received sigquit from a child process. It usually means the child failed.`,
			want:   "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
			advice: "raise --mem-fraction-static",
		},
		"torchrun, in colour": {
			log:    "\x1b[31m[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 616.00 MiB.\x1b[0m",
			want:   "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 616.00 MiB.",
			advice: "GPU memory ran out",
		},
		"port": {
			log:    "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
			want:   "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
			advice: "another process has the port",
		},
		"arguments": {
			log:    "usage: vllm serve [-h]\napi_server.py: error: unrecognized arguments: --no-such-flag",
			want:   "api_server.py: error: unrecognized arguments: --no-such-flag",
			advice: "--help",
		},
		"Compose": {
			log:    "engine-1  | OSError: You are trying to access a gated repo.\nengine-1  | huggingface_hub.errors.GatedRepoError: 401 Client Error.",
			want:   "huggingface_hub.errors.GatedRepoError: 401 Client Error.",
			advice: "HF_TOKEN",
		},
		"Pydantic, a check": {
			log: `pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig
  Value error, User-specified max_model_len (100000) is greater than the derived max_model_len. [type=value_error, input_value=ArgsKwargs((), {})]
    For further information visit https://errors.pydantic.dev/2.14/v/value_error`,
			want: "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig: Value error, User-specified max_model_len (100000) is greater than the derived max_model_len.",
		},
		"Pydantic, a field": {
			log: `(EngineCore pid=2) ERROR 05-23 09:31:47 [core.py:396] pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig
(EngineCore pid=2) ERROR 05-23 09:31:47 [core.py:396] block_size
(EngineCore pid=2) ERROR 05-23 09:31:47 [core.py:396]   Input should be a valid integer [type=int_type, input_value=None]
(EngineCore pid=2) ERROR 05-23 09:31:47 [core.py:396]     For further information visit https://errors.pydantic.dev/2.14/v/int_type`,
			want: "pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig: block_size: Input should be a valid integer",
		},
		"path that is none": {
			log:    "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/tmp/nomodel'. Use `repo_type` argument if needed.",
			want:   "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/tmp/nomodel'. Use `repo_type` argument if needed.",
			advice: "a path that doesn't exist",
		},
		"Go":          {log: "panic: runtime error: index out of range\n\ngoroutine 1 [running]:", want: "panic: runtime error: index out of range"},
		"Rust":        {log: "thread 'main' panicked at src/main.rs:3:5:", want: "thread 'main' panicked at src/main.rs:3:5:"},
		"fine":        {log: "INFO 05-23 09:31:22 [loader.py:458] retry after CUDA out of memory: no\nWARNING:  ValueError: ignored\nsome Error: no exception"},
		"source only": {log: `    raise ValueError("CUDA out of memory")`},
	} {
		t.Run(name, func(t *testing.T) {
			var tl tail
			tl.write([]byte(c.log + "\n"))
			got, advice := tl.fatal.best()
			if got != c.want || !strings.Contains(advice, c.advice) || (advice == "") != (c.advice == "") {
				t.Errorf("got %q with advice %q\nwant %q with %q", got, advice, c.want, c.advice)
			}
		})
	}
}

// What an engine wrote long before its end was not what ended it.
func TestFatalLineIsForgotten(t *testing.T) {
	var tl tail
	tl.write([]byte("ValueError: one bad request\n"))
	for i := range survived + 1 {
		fmt.Fprintf(writer(tl.write), "line %d\n", i)
	}
	if got, _ := tl.fatal.best(); got != "" {
		t.Errorf("got %q", got)
	}
	tl.write([]byte("KeyError: 'x'\n"))
	if got, _ := tl.fatal.best(); got != "KeyError: 'x'" {
		t.Errorf("got %q", got)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestTailIsBoundedAndPrintable(t *testing.T) {
	var tl tail
	tl.write([]byte(strings.Repeat("x", 1<<20) + "\n"))
	for i := range 1000 {
		fmt.Fprintf(writer(tl.write), "\x1b[2K\r loading %d %%\x07\xff\r\n", i)
	}
	if len(tl.last) != tailLines || tl.last[tailLines-1] != " loading 999 %�" {
		t.Errorf("%d lines, the last is %q", len(tl.last), tl.last[len(tl.last)-1])
	}
}

func FuzzTail(f *testing.F) {
	f.Add([]byte("(a pid=1) ERROR 05-23 09:31:47 [core.py:396] ValueError: x\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		var tl tail
		tl.write(log)
		tl.end()
		for _, line := range tl.last {
			if len(line) > 4*longestLine || strings.ContainsAny(line, "\n\r\x1b") {
				t.Errorf("line %q", line)
			}
		}
	})
}

func BenchmarkTail(b *testing.B) {
	line := []byte("(APIServer pid=395085) INFO 05-07 02:14:18 [loggers.py:116] Engine 000: Avg prompt throughput: 0.0 tokens/s, " +
		"Avg generation throughput: 9.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.0%, Prefix cache hit rate: 0.0%\n")
	var tl tail
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		tl.write(line)
	}
}
