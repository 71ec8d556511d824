package main

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/preset"
)

// env is the declared environment: a later source wins over an earlier.
func (e *engineFlags) env(base []deploy.Var, in planInput, errs *errorList) []deploy.Var {
	out := slices.Clone(base)
	set := func(flag string, v deploy.Var) {
		if v.Name == "" || strings.ContainsAny(v.Name, "= \t\n\x00") || strings.Contains(v.Value, "\x00") {
			errs.add(fmt.Errorf("--%s: %q is no name of a variable", flag, v.Name))
			return
		}
		if i := slices.IndexFunc(out, func(o deploy.Var) bool { return o.Name == v.Name }); i >= 0 {
			out[i] = v
			return
		}
		out = append(out, v)
	}
	for _, name := range sortedKeys(e.EngineEnv) {
		set("engine-env", deploy.Var{Name: name, Value: e.EngineEnv[name], Secret: deploy.SecretName(name) || slices.Contains(in.Masked, name)})
	}
	for _, name := range e.EngineSecretEnv {
		value, ok := in.Lookup(name)
		if !ok {
			errs.add(fmt.Errorf("--engine-secret-env %s: our environment has no such variable", name))
			continue
		}
		set("engine-secret-env", deploy.Var{Name: name, Value: value, Secret: true})
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// container settles what only a container has.
func (e *engineFlags) container(p *enginePlan, errs *errorList) {
	p.Image, p.Pull, p.Network, p.GPUs, p.Devices = e.Image, e.Pull, e.Network, e.GPUs, e.Device
	p.Groups, p.HostIPC, p.CapAdd, p.SecurityOpt, p.Privileged = e.GroupAdd, e.IPC == "host", e.CapAdd, e.SecurityOpt, e.Privileged
	if p.GPUs == "" && len(p.Devices) == 0 && (p.Engine == preset.VLLM || p.Engine == preset.SGLang) {
		p.GPUs = "all" // AMD's are given as devices
	}
	if p.GPUs == "none" {
		p.GPUs = ""
	}
	errs.add(checkGPUs(p.GPUs))
	if !p.HostIPC { // the host's is shared then
		var err error
		if p.ShmBytes, err = parseBytes(e.ShmSize); err != nil {
			errs.add(fmt.Errorf("--shm-size %w", err))
		}
	}
	p.Ulimits = map[string]int64{}
	if p.GPUs != "" || len(p.Devices) > 0 {
		p.Ulimits = map[string]int64{"memlock": -1, "stack": 64 << 20} // pinned memory, and NCCL's threads
	}
	for _, text := range e.Ulimit {
		name, value, ok := strings.Cut(text, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if !ok || name == "" || err != nil || n < -1 {
			errs.add(fmt.Errorf("--ulimit %s: want name=value, -1 for none", text))
			continue
		}
		p.Ulimits[name] = n
	}
	for _, text := range e.Mount {
		m, err := mount(text)
		errs.add(err)
		p.Mounts = append(p.Mounts, m)
	}
	for _, d := range e.Device {
		if !path.IsAbs(d) {
			errs.add(fmt.Errorf("--device %s: want a path", d))
		}
	}
}

// compose settles a Compose project.
func (e *engineFlags) compose(p *enginePlan, errs *errorList) {
	p.Compose.Files, p.Compose.EnvFiles, p.Compose.Profiles = e.ComposeFile, e.ComposeEnvFile, e.ComposeProfile
	if p.Engine != "" {
		errs.add(fmt.Errorf("--engine %s: the Compose file says what is run; drop it", p.Engine))
	}
	if e.ComposeService == "" {
		errs.add(errors.New("--compose-service: say which service takes the load, as router:8000"))
	} else {
		service, err := parseEndpoint("compose-service", e.ComposeService)
		errs.add(err)
		p.Compose.Service = service
	}
	for _, text := range e.ComposeMetrics {
		m, err := parseEndpoint("compose-metrics", text)
		errs.add(err)
		p.Compose.Metrics = append(p.Compose.Metrics, m)
	}
}

func parseEndpoint(flag, text string) (endpoint, error) {
	service, portText, ok := strings.Cut(text, ":")
	port, err := strconv.ParseUint(portText, 10, 16)
	if !ok || service == "" || err != nil || port == 0 {
		return endpoint{}, fmt.Errorf("--%s %s: want name:port", flag, text)
	}
	return endpoint{Service: service, Port: int(port)}, nil
}

func checkGPUs(text string) error {
	list, byID := strings.CutPrefix(text, "device=")
	switch {
	case text == "" || text == "all":
		return nil
	case byID:
		for id := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(id) == "" || strings.ContainsAny(id, " \"'") {
				return fmt.Errorf("--gpus %s: want device=0,1 or device=GPU-…", text)
			}
		}
		return nil
	}
	if n, err := strconv.Atoi(text); err != nil || n < 1 {
		return fmt.Errorf("--gpus %s: want all, none, a number, or device=0,1", text)
	}
	return nil
}

// mount checks a mount, and makes its source a full path.
func mount(text string) (string, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "ro" && parts[2] != "rw" || parts[0] == "" || !path.IsAbs(parts[1]) {
		return "", fmt.Errorf("--mount %s: want source:path or source:path:ro, the path a full one", text)
	}
	if strings.HasPrefix(parts[0], ".") { // any other word is a volume's name
		full, err := filepath.Abs(parts[0])
		if err != nil {
			return "", fmt.Errorf("--mount %s: %w", text, err)
		}
		parts[0] = full
	}
	return strings.Join(parts, ":"), nil
}

// parseBytes reads a size as Docker writes it: 16g, 512m, 1024.
func parseBytes(text string) (int64, error) {
	units := map[byte]float64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40}
	number := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), "b")
	unit := 1.0
	if n := len(number); n > 0 {
		if u, ok := units[number[n-1]]; ok {
			number, unit = number[:n-1], u
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || v*unit >= math.MaxInt64 {
		return 0, fmt.Errorf("%q: want a size above 0, as 16g or 512m", text)
	}
	return int64(v * unit), nil
}
