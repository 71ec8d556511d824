package docker

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// options are the container of an engine, but for its name, labels and network.
func (d *Driver) options(image found, s site, mounts []mount.Mount) client.ContainerCreateOptions {
	c := d.config
	config := &container.Config{
		Image: image.id, Entrypoint: c.Entrypoint,
		WorkingDir: c.WorkDir, User: c.User,
	}
	for _, arg := range c.Command {
		config.Cmd = append(config.Cmd, withPort(arg, s.port))
	}
	for _, v := range c.Env {
		config.Env = append(config.Env, v.Name+"="+withPort(v.Value, s.port))
	}
	host := &container.HostConfig{
		// Kept for who looks at a running engine; the log proper is ours.
		LogConfig:   container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "16m", "max-file": "1"}},
		Mounts:      mounts,
		ShmSize:     c.ShmSize,
		CapAdd:      c.CapAdd,
		SecurityOpt: c.SecurityOpt,
		Privileged:  c.Privileged,
		ExtraHosts:  c.ExtraHosts,
		GroupAdd:    c.Groups,
		Resources:   c.resources(),
	}
	if c.ShmSize == 0 && c.accelerated() && !c.HostIPC {
		host.ShmSize = GPUShmSize
	}
	if c.HostIPC {
		host.IpcMode = "host"
	}
	if c.Init {
		host.Init = &c.Init
	}
	if !s.host && s.join == "" {
		config.ExposedPorts = network.PortSet{tcp(s.port): {}}
		host.PortBindings = network.PortMap{tcp(s.port): {{HostIP: loopback}}} // any free port
	}
	return client.ContainerCreateOptions{Config: config, HostConfig: host}
}

// resources are what the container may use.
func (c Config) resources() container.Resources {
	r := container.Resources{Memory: c.Memory, DeviceRequests: deviceRequests(c.GPUs, nil)}
	for _, text := range c.Devices {
		d, _ := parseDevice(text) // New refused what is none
		r.Devices = append(r.Devices, container.DeviceMapping{PathOnHost: d.host, PathInContainer: d.inside, CgroupPermissions: d.permissions})
	}
	limits := map[string]int64{}
	if c.accelerated() {
		limits["memlock"], limits["stack"] = -1, 64<<20
	}
	maps.Copy(limits, c.Ulimits)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		r.Ulimits = append(r.Ulimits, &container.Ulimit{Name: name, Soft: limits[name], Hard: limits[name]})
	}
	return r
}

// deviceRequests asks for NVIDIA GPUs, with further capabilities of the driver.
func deviceRequests(text string, more []string) []container.DeviceRequest {
	g, _ := parseGPUs(text) // New refused what is none
	if g.count == 0 && g.ids == nil {
		return nil
	}
	return []container.DeviceRequest{{Count: g.count, DeviceIDs: g.ids, Capabilities: [][]string{append([]string{"gpu"}, more...)}}}
}

// commandLine is what an engine's container runs. {port} stays as it was written: a
// port that another run won't get is no part of a result's identity.
func (d *Driver) commandLine(image found) []string {
	entrypoint, command := image.entrypoint, image.cmd
	if len(d.config.Entrypoint) > 0 {
		entrypoint, command = d.config.Entrypoint, nil
	}
	if len(d.config.Command) > 0 {
		command = d.config.Command
	}
	return slices.Concat(entrypoint, command)
}

func (d *Driver) secrets(image found) deploy.Secrets {
	return deploy.SecretsOf(d.commandLine(image), d.config.Env)
}

// facts are what is started.
func (d *Driver) facts(image found) deploy.Facts {
	secrets := d.secrets(image)
	return deploy.Facts{Driver: "docker", Image: image.identity, Args: secrets.MaskAll(d.commandLine(image)), Env: secrets.MaskEnv(d.config.Env)}
}

// published finds the port of the host at which a port inside is reached.
func published(ports network.PortMap, port int) (at netip.AddrPort, ok bool) {
	for _, b := range ports[tcp(port)] {
		if at, err := netip.ParseAddrPort(b.HostIP.String() + ":" + b.HostPort); err == nil && at.Port() != 0 {
			return at, true
		}
	}
	return netip.AddrPort{}, false
}
