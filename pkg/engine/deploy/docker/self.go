package docker

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// self is the container in which this process runs.
type self struct {
	id string
	// onHost: it shares the host's network, so it joins no other.
	onHost  bool
	gateway netip.Addr // the host, as seen from it
	mounts  []container.MountPoint
}

// findSelf asks the daemon for the container in which this process runs; nil when
// it runs in none that this daemon knows.
func findSelf(ctx context.Context, c *client.Client) (*self, error) {
	for _, id := range ownIDs() {
		res, err := c.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking up our own container: %w", err)
		}
		if res.Container.State == nil || !res.Container.State.Running {
			continue
		}
		s := &self{id: res.Container.ID, mounts: res.Container.Mounts}
		if h := res.Container.HostConfig; h != nil {
			s.onHost = h.NetworkMode.IsHost()
		}
		if n := res.Container.NetworkSettings; n != nil {
			for _, endpoint := range n.Networks {
				if endpoint != nil && endpoint.Gateway.IsValid() {
					s.gateway = endpoint.Gateway
				}
			}
		}
		return s, nil
	}
	return nil, nil
}

// ownIDs are ids that our own container may have, the surest first.
func ownIDs() []string {
	hostname, _ := os.Hostname()
	if _, err := os.Stat("/.dockerenv"); err != nil {
		hostname = ""
	}
	return idsIn(read("/proc/self/cgroup"), read("/proc/self/mountinfo"), hostname)
}

var (
	fullID  = regexp.MustCompile(`[0-9a-f]{64}`)
	shortID = regexp.MustCompile(`^[0-9a-f]{12}$`)
	// The daemon mounts these files into each container, out of its folder; what
	// else a host has mounted belongs to its containers.
	ownFile = regexp.MustCompile(`/([0-9a-f]{64})(?:/userdata)?/(?:hostname|hosts|resolv\.conf) /etc/(?:hostname|hosts|resolv\.conf) `)
)

// idsIn finds container ids in what the kernel tells a process of itself. The
// host name is a container's id by default, in a container only.
func idsIn(cgroup, mountinfo, hostname string) (ids []string) {
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for line := range strings.Lines(cgroup) {
		if i := strings.LastIndexByte(line, '/'); i >= 0 {
			add(fullID.FindString(line[i:]))
		}
	}
	for _, m := range ownFile.FindAllStringSubmatch(mountinfo, -1) {
		add(m[1])
	}
	add(shortID.FindString(hostname))
	return ids
}

func read(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

// hostPath translates a path as we see it to one of the host.
func (s *self) hostPath(path string) (string, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	best, rest := container.MountPoint{}, ""
	for _, m := range s.mounts {
		below, err := filepath.Rel(m.Destination, path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") || len(m.Destination) <= len(best.Destination) {
			continue
		}
		best, rest = m, below
	}
	if best.Source == "" {
		return "", fmt.Errorf("%s lies in no mount of the container in which agentx runs (%.12s), so the host has no path for it: mount its folder into this container (docker run -v), or name a volume", path, s.id)
	}
	return filepath.Join(best.Source, rest), nil
}
