package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
)

func TestOwnContainerFromWhatTheKernelSays(t *testing.T) {
	a, b := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	for _, c := range []struct {
		name, cgroup, mountinfo, hostname string
		want                              []string
	}{
		{name: "a host", cgroup: "0::/user.slice/user-0.slice\n", hostname: "",
			mountinfo: "90 25 0:50 / /var/lib/docker/containers/" + a + "/mounts/shm rw - tmpfs shm rw\n"},
		{name: "cgroup v1", cgroup: "12:pids:/docker/" + a + "\n1:name=systemd:/docker/" + a + "\n", hostname: "a1a1a1a1a1a1",
			want: []string{a, "a1a1a1a1a1a1"}},
		{name: "cgroup v1 by systemd", cgroup: "3:cpu:/system.slice/docker-" + a + ".scope\n", want: []string{a}},
		{name: "Docker in Docker", cgroup: "3:cpu:/docker/" + b + "/docker/" + a + "\n", want: []string{a}},
		{name: "cgroup v2", cgroup: "0::/\n", hostname: "runner",
			mountinfo: "708 700 254:1 /var/lib/docker/containers/" + a + "/resolv.conf /etc/resolv.conf rw,relatime - ext4 /dev/vda1 rw\n" +
				"709 700 254:1 /var/lib/docker/containers/" + a + "/hostname /etc/hostname rw,relatime - ext4 /dev/vda1 rw\n",
			want: []string{a}},
		{name: "podman", cgroup: "0::/\n",
			mountinfo: "709 700 0:1 /containers/overlay-containers/" + a + "/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw\n",
			want:      []string{a}},
	} {
		if diff := cmp.Diff(c.want, idsIn(c.cgroup, c.mountinfo, c.hostname)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestHostPaths(t *testing.T) {
	real := t.TempDir()
	link := filepath.Join(real, "link")
	if err := os.Symlink("/work/linked", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(real, "there")); err != nil {
		t.Fatal(err)
	}
	me := &self{id: "0123456789abcdef", mounts: []container.MountPoint{
		{Source: "/home/runner/_work", Destination: "/work"},
		{Source: "/mnt/models", Destination: "/work/models"},
		{Source: "/host/tmp", Destination: real},
		{Destination: "/work/scratch"}, // in memory only
	}}
	for path, want := range map[string]string{
		"/work":                        "/home/runner/_work",
		"/work/a/b":                    "/home/runner/_work/a/b",
		"/work/models/x":               "/mnt/models/x",
		"/work/modelsx":                "/home/runner/_work/modelsx",
		filepath.Join(real, "there"):   "/host/tmp",
		filepath.Join(real, "nothing"): "/host/tmp/nothing",
		"/workspace":                   "",
		"/work/scratch/x":              "",
		"/":                            "",
	} {
		got, err := me.hostPath(path)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
}
