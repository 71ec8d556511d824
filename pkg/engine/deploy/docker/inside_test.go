package docker

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// A GitHub action's container holds the daemon's socket and is on a network of the
// job's, or on Docker's default one.
func TestFromInsideAContainer(t *testing.T) {
	b := newBench(t)
	socket, ok := strings.CutPrefix(b.Host, "unix://")
	if !ok {
		t.Skip("the daemon is not at a socket: " + b.Host)
	}
	image := b.Build(t, testdata+"inside")
	job := deploy.NewName()
	made, err := b.Client.NetworkCreate(t.Context(), job, client.NetworkCreateOptions{Driver: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := b.Client.NetworkRemove(context.Background(), made.ID, client.NetworkRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct{ ours, engine, reached string }{
		"network of the job":                    {ours: job, reached: `at http://agentx-[0-9a-f]{8}:8000`},
		"default network":                       {ours: "bridge", reached: `at http://agentx-[0-9a-f]{8}:8000`},
		"host's network":                        {ours: "host", reached: `at http://127\.0\.0\.1:\d`},
		"network of the job, engine on host's":  {ours: job, engine: HostNetwork, reached: `at http://1[0-9]{0,2}\.[0-9.]+\.1:\d`},
		"host's network, engine on host's, too": {ours: "host", engine: HostNetwork, reached: `at http://127\.0\.0\.1:\d`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := b.Client.NetworkInspect(t.Context(), c.ours, client.NetworkInspectOptions{}); err != nil {
				t.Skip("this daemon has no such network: ", err)
			}
			code, out := b.inside(t, image, socket, c.ours, b.image, c.engine, "/data/given")
			for _, want := range []string{c.reached, "answer hello", "stopped: exit status 0"} {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("%s is missing", want)
				}
			}
			if code != 0 || t.Failed() {
				t.Fatalf("exit status %d\n%s", code, out)
			}
		})
	}
	left, err := b.Client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("ancestor", b.image)})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("left: %+v, %v", left.Items, err)
	}
	networks, err := b.Client.NetworkList(t.Context(), client.NetworkListOptions{Filters: client.Filters{}.Add("label", ContainerLabel)})
	if err != nil || len(networks.Items) > 0 {
		t.Errorf("left: %+v, %v", networks.Items, err)
	}
}

// inside runs testdata/inside with the socket and a volume at /data, and gives what
// it wrote.
func (b bench) inside(t *testing.T, image, socket, network string, args ...string) (code int64, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	made, err := b.Client.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{Image: image, Cmd: args, Env: []string{"DOCKER_HOST=unix:///docker.sock"}},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(network),
			Mounts: []mount.Mount{
				{Type: mount.TypeBind, Source: socket, Target: "/docker.sock"},
				{Type: mount.TypeVolume, Target: "/data"},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := b.Client.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Error(err)
		}
	})
	wait := b.Client.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := b.Client.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		if strings.Contains(err.Error(), "could not find bridge") {
			t.Skip("this daemon has lost its default network: ", err)
		}
		t.Fatal(err)
	}
	select {
	case res := <-wait.Result:
		code = res.StatusCode
	case err := <-wait.Error:
		t.Fatal(err)
	}
	logs, err := b.Client.ContainerLogs(ctx, made.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var text bytes.Buffer
	if _, err := stdcopy.StdCopy(&text, &text, logs); err != nil {
		t.Fatal(err)
	}
	return code, text.String()
}
