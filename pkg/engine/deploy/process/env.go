package process

import (
	"os"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// inheritedNames and inheritedPrefixes pass from our environment to an engine.
var (
	inheritedNames = []string{
		// a user's session
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
		// where libraries and Python packages are
		"LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONHOME", "PYTHONPATH",
		// where weights are
		"HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE",
		// the way to the network
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
		"GPU_DEVICE_ORDINAL",
	}
	inheritedPrefixes = []string{"LC_", "CUDA_", "NVIDIA_", "ROCR_", "ROCM_", "HIP_", "SLURM_"}
)

// Inherited tells whether a variable of our own environment reaches an engine. A
// short list does, without what is called like a secret (NVIDIA_API_KEY, SLURM_JWT);
// whatever changes how an engine works should be declared, so
// that it stands in the result's identity.
func Inherited(name string) bool {
	if deploy.SecretName(name) {
		return false
	}
	return slices.Contains(inheritedNames, name) ||
		slices.ContainsFunc(inheritedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// environment of an engine: its mark, what it inherits, what is declared.
func environment(ours []string, declared []deploy.Var, name, owner string) []string {
	env := []string{
		markEngine + "=" + name,
		markOwner + "=" + owner,
		// Engines name their workers with py-setproctitle, which writes over
		// /proc/PID/environ, and with it the mark, unless it is told not to (seen
		// with 1.3.8).
		"SPT_NOENV=1",
	}
	for _, pair := range ours {
		name, _, _ := strings.Cut(pair, "=")
		if Inherited(name) && !slices.ContainsFunc(declared, func(v deploy.Var) bool { return v.Name == name }) {
			env = append(env, pair)
		}
	}
	for _, v := range declared {
		if v.Name != markEngine && v.Name != markOwner {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return env
}

// pathOf is where the engine's commands are looked for.
func pathOf(declared []deploy.Var) string {
	for _, v := range declared {
		if v.Name == "PATH" {
			return v.Value
		}
	}
	return os.Getenv("PATH")
}
