package docker

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// When an image is pulled.
const (
	PullMissing = "missing" // when it isn't here
	PullAlways  = "always"
	PullNever   = "never"
)

// HostNetwork as Network puts the engine on the network of the host.
const HostNetwork = "host"

// Defaults of a Config.
const (
	DefaultPort = 8000
	// GPUShmSize is /dev/shm of an engine with GPUs, whose workers talk through it;
	// Docker's own default of 64 MiB is too little (spec/inferencex.md §1.5).
	GPUShmSize = 16 << 30
)

// Config says how the engine's container is made. Only Image is needed.
//
// "{port}" in Command and in values of Env stands for the port on which the engine
// must listen, on all addresses: --host 0.0.0.0 --port {port}.
type Config struct {
	// Image by tag or digest, vllm/vllm-openai:v0.11.0, or the id of a local one.
	Image string
	// Pull is PullMissing when empty.
	Pull string
	// Entrypoint in place of the image's, when not empty. As in a Dockerfile, the
	// image's command then falls away.
	Entrypoint []string
	// Command in place of the image's, when not empty: what follows the entry point.
	Command []string
	Env     []deploy.Var
	// WorkDir and User (name or uid[:gid]) in place of the image's.
	WorkDir string
	User    string

	// GPUs are NVIDIA's: "" none, "all", a number, or "device=0,1" (indices or
	// UUIDs).
	GPUs string
	// Devices are paths of the host as path[:path inside[:permissions]]; AMD GPUs
	// are /dev/kfd and /dev/dri.
	Devices []string
	// Groups are further groups of the process, as AMD's video and render.
	Groups []string
	// ShmSize of /dev/shm in bytes; 0 is GPUShmSize with GPUs or Devices, else
	// Docker's default. It means nothing with HostIPC.
	ShmSize int64
	// Ulimits by name, -1 for none; with GPUs or Devices memlock is -1 and stack
	// 67108864 where they are not given.
	Ulimits map[string]int64
	// Memory limit in bytes; 0 is none.
	Memory int64
	// HostIPC shares the host's IPC namespace, and with it /dev/shm.
	HostIPC bool
	// Init puts Docker's init before the engine, which passes signals on and reaps
	// orphans. A program that handles no SIGTERM ignores it as process 1.
	Init        bool
	CapAdd      []string
	SecurityOpt []string
	// Privileged gives the container the whole machine; hardly ever needed.
	Privileged bool

	// Mounts as source:path[:ro|rw]. A source that begins with / or . is a path as
	// seen from here, any other a named volume, which is made where it is missing
	// and stays.
	Mounts []string

	// Network is a new bridge network of the engine's own when empty, or
	// HostNetwork.
	Network string
	// Port on which the engine listens; 0 is DefaultPort, and on the host's network
	// a free one, which the engine must be told by {port}.
	Port int
	// ExtraHosts are lines for /etc/hosts, as name:address.
	ExtraHosts []string

	// Progress takes a line a step, of a pull above all; nil takes none.
	Progress io.Writer
}

// check finds what no daemon needs to be asked for.
func (c Config) check() error {
	if c.Image == "" {
		return errors.New("image: none is given")
	}
	if !slices.Contains([]string{"", PullMissing, PullAlways, PullNever}, c.Pull) {
		return fmt.Errorf("pull %q: want %s, %s or %s", c.Pull, PullMissing, PullAlways, PullNever)
	}
	if c.Network != "" && c.Network != HostNetwork {
		return fmt.Errorf("network %q: want none (a network of the engine's own) or %s", c.Network, HostNetwork)
	}
	if c.Port < 0 || c.Port > 65535 {
		return fmt.Errorf("port %d: want 1 to 65535, or 0", c.Port)
	}
	if c.Network == HostNetwork && c.Port == 0 && !c.takesPort() {
		return errors.New("network host: the engine must be told its port: write {port} in its command, or set port")
	}
	if c.ShmSize < 0 || c.Memory < 0 {
		return fmt.Errorf("shm size %d and memory %d: want bytes, or 0", c.ShmSize, c.Memory)
	}
	if _, err := parseGPUs(c.GPUs); err != nil {
		return err
	}
	for _, d := range c.Devices {
		if _, err := parseDevice(d); err != nil {
			return err
		}
	}
	for _, m := range c.Mounts {
		if _, err := parseMount(m); err != nil {
			return err
		}
	}
	for _, v := range c.Env {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Value, "\x00") {
			return fmt.Errorf("env %q: not a name of a variable, or its value holds a zero byte", v.Name)
		}
	}
	return nil
}

const portMark = "{port}"

// takesPort tells whether the engine is told its port.
func (c Config) takesPort() bool {
	return slices.ContainsFunc(c.Command, func(a string) bool { return strings.Contains(a, portMark) }) ||
		slices.ContainsFunc(c.Env, func(v deploy.Var) bool { return strings.Contains(v.Value, portMark) })
}

// withPort puts the port where it is asked for.
func withPort(s string, port int) string {
	return strings.ReplaceAll(s, portMark, strconv.Itoa(port))
}

// accelerated tells whether the engine is given accelerators.
func (c Config) accelerated() bool { return c.GPUs != "" || len(c.Devices) > 0 }

// gpus are the NVIDIA GPUs that are asked for.
type gpus struct {
	count int // -1 is all
	ids   []string
}

func parseGPUs(s string) (gpus, error) {
	if s == "" {
		return gpus{}, nil
	}
	if s == "all" {
		return gpus{count: -1}, nil
	}
	if list, ok := strings.CutPrefix(s, "device="); ok {
		ids := strings.Split(list, ",")
		if slices.Contains(ids, "") {
			return gpus{}, fmt.Errorf("gpus %q: an id is empty", s)
		}
		return gpus{ids: ids}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return gpus{}, fmt.Errorf(`gpus %q: want all, a number, or device=0,1`, s)
	}
	return gpus{count: n}, nil
}

// device is one of the host that the engine gets.
type device struct{ host, inside, permissions string }

func parseDevice(s string) (device, error) {
	parts := strings.Split(s, ":")
	d := device{host: parts[0], inside: parts[0], permissions: "rwm"}
	if len(parts) > 1 {
		d.inside = parts[1]
	}
	if len(parts) > 2 {
		d.permissions = parts[2]
	}
	if len(parts) > 3 || !strings.HasPrefix(d.host, "/") || !strings.HasPrefix(d.inside, "/") || strings.Trim(d.permissions, "rwm") != "" || d.permissions == "" {
		return device{}, fmt.Errorf("device %q: want path[:path inside[:rwm]]", s)
	}
	return d, nil
}

// mountSpec is a mount as it was asked for.
type mountSpec struct {
	source, target string
	path           bool // source is a path, no volume
	readOnly       bool
}

var volumeName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

func parseMount(s string) (mountSpec, error) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return mountSpec{}, fmt.Errorf("mount %q: want source:path[:ro]", s)
	}
	m := mountSpec{source: parts[0], target: parts[1]}
	m.path = strings.HasPrefix(m.source, "/") || strings.HasPrefix(m.source, ".")
	if !m.path && !volumeName.MatchString(m.source) {
		return m, fmt.Errorf("mount %q: its source is neither a path, which begins with / or ., nor the name of a volume", s)
	}
	if !strings.HasPrefix(m.target, "/") {
		return m, fmt.Errorf("mount %q: the path inside must begin with /", s)
	}
	if len(parts) == 3 {
		switch parts[2] {
		case "ro":
			m.readOnly = true
		case "rw":
		default:
			return m, fmt.Errorf("mount %q: after the path inside comes ro or rw, not %q", s, parts[2])
		}
	}
	return m, nil
}
