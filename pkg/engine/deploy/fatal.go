package deploy

import (
	"regexp"
	"strings"
)

// weight of a fatal line: the lower, the closer to the cause.
type weight int

const (
	known       weight = iota // a cause with a remedy
	exception                 // the last line of a traceback, a panic
	consequence               // "see root cause above"
	weights
)

// fatals are lines that engines write when they fail, in lower case, with what
// to do. They were gathered from reports to vLLM, SGLang, LMCache and NCCL.
var fatals = []struct {
	text   string
	weight weight
	advice string
}{
	{"cuda out of memory", known, adviceMemory},
	{"hip out of memory", known, adviceMemory},
	{"outofmemoryerror", known, adviceMemory},
	{"no available memory for the cache blocks", known, "raise --gpu-memory-utilization, use more GPUs, or a smaller model"},
	{"less than desired gpu memory utilization", known, "something else holds GPU memory: end it (nvidia-smi names it), or lower --gpu-memory-utilization"},
	{"maximum number of tokens that can be stored in kv cache", known, adviceContext},
	{"kv cache is needed, which is larger than the available kv cache memory", known, adviceContext},
	{"not enough memory. please try to increase --mem-fraction-static", known, "the weights leave no room for the KV cache: raise --mem-fraction-static, use more GPUs, or a smaller model"},
	{"out of memory. please set a smaller number for", known, "lower --max-running-requests"},
	{"runs out of memory", known, "lower --max-running-requests"},
	{"address already in use", known, "another process has the port: end it, or give another port (0 picks a free one)"},
	{"unrecognized arguments", known, adviceArgs},
	{"invalid choice:", known, adviceArgs},
	{"the following arguments are required", known, adviceArgs},
	{"error: argument ", known, adviceArgs},
	{"gatedrepoerror", known, adviceHub},
	{"cannot access gated repo", known, adviceHub},
	{"repositorynotfounderror", known, adviceHub},
	{"401 client error", known, adviceHub},
	{"hfvalidationerror", known, adviceNoModel},
	{"repo id must be in the form", known, adviceNoModel},
	{"is not a valid model identifier", known, adviceHub},
	{"localentrynotfounderror", known, "the weights are not in the cache and the hub can't be reached: check the network, HF_HOME and HF_HUB_OFFLINE"},
	{"couldn't connect to 'https://huggingface.co'", known, "the hub can't be reached: check the network, or put the weights into HF_HOME beforehand"},
	{"no module named", known, "a Python package is missing in the engine's environment"},
	{"no cuda gpus are available", known, adviceDriver},
	{"found no nvidia driver", known, adviceDriver},
	{"failed to infer device type", known, adviceDriver},
	{"libcuda.so.1: cannot open shared object", known, adviceDriver},
	{"cuda driver version is insufficient", known, "the GPU driver is older than the engine's CUDA: update it, or take an older engine"},
	{"no kernel image is available", known, "the engine was built for other GPUs than this one"},
	{"nccl error", known, "the GPUs can't reach each other: try NCCL_DEBUG=INFO; in a container, give more shared memory"},
	{"bus error", known, "shared memory ran out: give the container more (shm-size), or free /dev/shm"},
	{"no space left on device", known, "a disk is full: free space for weights, caches and logs"},
	{"too many open files", known, "raise the limit of open files (ulimit -n)"},
	{"cannot allocate memory", known, "the machine's memory ran out: lower the CPU offload, or free memory"},
	{"illegal memory access", known, "a kernel of the engine failed: see its log"},
	{"memory access fault by gpu", known, "a kernel of the engine failed: see its log"},

	{"engine core initialization failed", consequence, ""},
	{"enginecore failed to start", consequence, ""},
	{"enginecore encountered a fatal error", consequence, ""},
	{"enginedeaderror", consequence, ""},
	{"sigquit from a child", consequence, ""},
	{"scheduler hit an exception", consequence, ""},
	{"failed core proc", consequence, ""},
	{"application startup failed", consequence, ""},
	{"childfailederror", consequence, ""},

	{"panic: ", exception, ""},
	{"fatal error: ", exception, ""},
	{"fatal python error: ", exception, ""},
	{"panicked at ", exception, ""},
	{"terminate called after throwing", exception, ""},
	{"segmentation fault", exception, ""},
	{"core dumped", exception, ""},
}

const (
	adviceMemory  = "GPU memory ran out: lower --gpu-memory-utilization (vLLM) or --mem-fraction-static (SGLang), or end what else uses the GPU"
	adviceContext = "the context doesn't fit: lower --max-model-len, or raise --gpu-memory-utilization"
	adviceArgs    = "the engine does not know these arguments: compare them with the --help of this version"
	adviceHub     = "the hub refused: check the model's name, accept its terms, and declare HF_TOKEN as a secret"
	adviceNoModel = "this is neither a folder that the engine finds nor a model's name: a path that doesn't exist? Check --model or --model-path, and in a container that the folder is mounted"
	adviceDriver  = "the engine sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES, and that the container was given GPUs"
)

// survived is after how many lines a line was not fatal after all.
const survived = 2000

// fatalFinder keeps the first fatal line of each weight.
type fatalFinder struct {
	lines int
	found [weights]struct {
		text, advice string
		line         int
	}
	invalid weight // whose text lacks its cause yet
	reasons int    // lines in which that is looked for
}

// read takes one line of the log.
func (f *fatalFinder) read(line string) {
	f.lines++
	text, w, advice, ok := fatal(line)
	if !ok {
		f.reason(line)
		return
	}
	f.reasons = 0
	if at := &f.found[w]; at.text == "" || f.lines-at.line > survived {
		at.text, at.advice, at.line = text, advice, f.lines
		if invalid.MatchString(text) {
			f.invalid, f.reasons = w, 2
		}
	}
}

// invalid is Pydantic's headline. What is wrong stands below it, indented, perhaps
// after the name of the field.
var invalid = regexp.MustCompile(`\d+ validation errors? for \w+$`)

// reason adds what stands below such a headline to it.
func (f *fatalFinder) reason(line string) {
	if f.reasons == 0 {
		return
	}
	f.reasons--
	text, _ := bare(line)
	message, input, _ := strings.Cut(strings.TrimSpace(text), " [type=")
	at := &f.found[f.invalid]
	at.text += ": " + message
	if input != "" || strings.HasPrefix(text, " ") {
		f.reasons = 0
	}
}

// best is the line closest to the cause, of those that are no older than the
// engine's last lines.
func (f *fatalFinder) best() (text, advice string) {
	for _, at := range f.found {
		if at.text != "" && f.lines-at.line <= survived {
			return at.text, at.advice
		}
	}
	return "", ""
}

// forget what the engine got over.
func (f *fatalFinder) forget() { *f = fatalFinder{} }

// fatal tells whether a line is one, and its text without what a logger puts
// before it.
func fatal(line string) (text string, w weight, advice string, ok bool) {
	text, level := bare(line)
	if text == "" || text[0] == ' ' || text[0] == '\t' {
		return "", 0, "", false // source lines of a traceback quote the messages of exceptions
	}
	switch level {
	case "DEBUG", "INFO", "WARNING":
		return "", 0, "", false
	}
	lower := strings.ToLower(text)
	for _, f := range fatals {
		if strings.Contains(lower, f.text) {
			return text, f.weight, f.advice, true
		}
	}
	if raised.MatchString(text) {
		return text, exception, "", true
	}
	return "", 0, "", false
}

// raised is the last line of a Python traceback.
var raised = regexp.MustCompile(`^(?:\w+\.)*\w*(?:Error|Exception)(?:: .|$)`)
