package docker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestConfigIsChecked(t *testing.T) {
	for want, c := range map[string]Config{
		"image: none":              {},
		`pull "sometimes"`:         {Image: "x", Pull: "sometimes"},
		`network "bridge"`:         {Image: "x", Network: "bridge"},
		"port 65536":               {Image: "x", Port: 65536},
		"must be told its port":    {Image: "x", Network: HostNetwork, Command: []string{"serve"}},
		"shm size -1":              {Image: "x", ShmSize: -1},
		`gpus "0"`:                 {Image: "x", GPUs: "0"},
		`gpus "device=0,"`:         {Image: "x", GPUs: "device=0,"},
		`gpus "some"`:              {Image: "x", GPUs: "some"},
		`device "kfd"`:             {Image: "x", Devices: []string{"kfd"}},
		`device "/a:/b:x"`:         {Image: "x", Devices: []string{"/a:/b:x"}},
		`device "/a:/b:"`:          {Image: "x", Devices: []string{"/a:/b:"}},
		`mount "/a"`:               {Image: "x", Mounts: []string{"/a"}},
		`mount "~/a:/a": its sour`: {Image: "x", Mounts: []string{"~/a:/a"}},
		`mount "a:b"`:              {Image: "x", Mounts: []string{"aa:b"}},
		`not "z"`:                  {Image: "x", Mounts: []string{"/a:/b:z"}},
		`env "A=B"`:                {Image: "x", Env: []deploy.Var{{Name: "A=B"}}},
	} {
		want = strings.ReplaceAll(want, `"a:b"`, `"aa:b"`)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", c, err, want)
		}
	}
	for _, c := range []Config{
		{Image: "x"},
		{Image: "x", Network: HostNetwork, Port: 8000},
		{Image: "x", Network: HostNetwork, Env: []deploy.Var{{Name: "PORT", Value: "{port}"}}},
		{Image: "x", GPUs: "device=GPU-1,2", Mounts: []string{"./a:/a", "hf-cache:/b:ro", "/a:/c:rw"}},
	} {
		if err := c.check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestResourcesOfAnEngineWithGPUs(t *testing.T) {
	all := container.DeviceRequest{Count: -1, Capabilities: [][]string{{"gpu"}}}
	two := container.DeviceRequest{Count: 2, Capabilities: [][]string{{"gpu"}}}
	named := container.DeviceRequest{DeviceIDs: []string{"0", "3"}, Capabilities: [][]string{{"gpu"}}}
	limits := []*container.Ulimit{{Name: "memlock", Soft: -1, Hard: -1}, {Name: "stack", Soft: 67108864, Hard: 67108864}}
	for _, c := range []struct {
		name   string
		config Config
		want   container.Resources
		shm    int64
	}{
		{name: "none"},
		{"all", Config{GPUs: "all"}, container.Resources{DeviceRequests: []container.DeviceRequest{all}, Ulimits: limits}, GPUShmSize},
		{"two", Config{GPUs: "2", ShmSize: 5}, container.Resources{DeviceRequests: []container.DeviceRequest{two}, Ulimits: limits}, 5},
		{"named", Config{GPUs: "device=0,3", HostIPC: true, Memory: 7}, container.Resources{DeviceRequests: []container.DeviceRequest{named}, Ulimits: limits, Memory: 7}, 0},
		{"AMD", Config{Devices: []string{"/dev/kfd", "/dev/dri:/dev/x:r"}, Ulimits: map[string]int64{"memlock": 9}}, container.Resources{
			Devices: []container.DeviceMapping{
				{PathOnHost: "/dev/kfd", PathInContainer: "/dev/kfd", CgroupPermissions: "rwm"},
				{PathOnHost: "/dev/dri", PathInContainer: "/dev/x", CgroupPermissions: "r"},
			},
			Ulimits: []*container.Ulimit{{Name: "memlock", Soft: 9, Hard: 9}, limits[1]},
		}, GPUShmSize},
	} {
		d := &Driver{config: c.config}
		host := d.options(found{}, site{port: 1}, nil).HostConfig
		if diff := cmp.Diff(c.want, host.Resources); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if host.ShmSize != c.shm {
			t.Errorf("%s: /dev/shm of %d bytes, want %d", c.name, host.ShmSize, c.shm)
		}
		if (host.IpcMode == "host") != c.config.HostIPC {
			t.Errorf("%s: IPC %q", c.name, host.IpcMode)
		}
	}
}

func TestPublishedOnlyWhereItMustBe(t *testing.T) {
	d := &Driver{config: Config{Image: "x"}}
	for name, c := range map[string]struct {
		me        *self
		published bool
	}{
		"on the host":                          {nil, true},
		"in a container":                       {&self{id: "me"}, false},
		"in a container on the host's network": {&self{id: "me", onHost: true}, true},
	} {
		s, err := d.site(c.me)
		if err != nil {
			t.Fatal(err)
		}
		bindings := d.options(found{}, s, nil).HostConfig.PortBindings[tcp(DefaultPort)]
		if got := len(bindings) == 1 && bindings[0].HostIP == loopback; got != c.published {
			t.Errorf("%s: %+v", name, bindings)
		}
	}
}

func TestFactsOfTheCommand(t *testing.T) {
	image := found{identity: "i@sha256:1", entrypoint: []string{"vllm"}, cmd: []string{"--help"}}
	for _, c := range []struct {
		config Config
		want   []string
	}{
		{Config{}, []string{"vllm", "--help"}},
		{Config{Command: []string{"serve", "m"}}, []string{"vllm", "serve", "m"}},
		{Config{Entrypoint: []string{"sh"}}, []string{"sh"}},
		{Config{Entrypoint: []string{"sh", "-c"}, Command: []string{"x"}}, []string{"sh", "-c", "x"}},
	} {
		if diff := cmp.Diff(c.want, (&Driver{config: c.config}).facts(image).Args); diff != "" {
			t.Error(diff)
		}
	}
}
