package docker

import (
	"fmt"
	"strings"

	"github.com/moby/moby/client"
)

// explained is what a daemon says, by a piece of it, and what to do about it.
var explained = []struct{ says, todo string }{
	{"could not select device driver", "this Docker daemon has no GPU runtime: install the NVIDIA Container Toolkit (nvidia-ctk runtime configure --runtime=docker) and start the daemon again; AMD GPUs are given by devices: /dev/kfd, /dev/dri"},
	{"nvidia-container-cli", "the NVIDIA runtime found no working driver or no such GPU: try nvidia-smi on the host"},
	{"gathering device information", "the host has no such device: ls -l /dev/kfd /dev/dri shows AMD's"},
	{"bind source path does not exist", "make the folder first; it is looked up on the host of the daemon"},
	{"non-overlapping IPv4 address pool", "Docker has no addresses left for another network: docker network prune, or network: host"},
	{"pull access denied", "check the name, or log in to its registry (docker login)"},
	{"unauthorized", "log in to its registry (docker login)"},
	{"manifest unknown", "check the tag"},
	{"docker-init", "the daemon has no docker-init: leave init off"},
	{"executable file not found", "check command and entrypoint against the image"},
}

// explain adds to an error of the daemon what to do about it.
func (d *Driver) explain(err error) error {
	if err == nil {
		return nil
	}
	if client.IsErrConnectionFailed(err) {
		return d.unreachable(err)
	}
	for _, e := range explained {
		if strings.Contains(err.Error(), e.says) {
			return fmt.Errorf("%w: %s", err, e.todo)
		}
	}
	return err
}

// unreachable says that the daemon doesn't answer.
func (d *Driver) unreachable(err error) error {
	host := d.client.DaemonHost()
	if path, ok := strings.CutPrefix(host, "unix://"); ok {
		return fmt.Errorf("no Docker daemon at %s: %w (does dockerd run, may this user open the socket, and inside a container is it mounted: -v %s:%[3]s? DOCKER_HOST names another)", host, err, path)
	}
	return fmt.Errorf("no Docker daemon at %s: %w (DOCKER_HOST names it)", host, err)
}
