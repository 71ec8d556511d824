package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/gpu"
	"github.com/org/agentx-action/pkg/engine/output"
)

// SMI runs nvidia-smi in a short container of the engine's own image, given the GPUs
// that the engine is given: an agentx that is in a container itself sees none. Of
// the processes on them it shows few or none, and by other ids.
func (d *Driver) SMI() gpu.Runner {
	return gpu.RunnerFunc(func(ctx context.Context, args ...string) ([]byte, error) {
		out, err := d.RunShort(ctx, "", append([]string{gpu.Command}, args...), d.config.GPUs)
		return []byte(out), err
	})
}

// RunShort runs a program of an image in a container of its own, without a network,
// and gives what it wrote to its standard output: nvidia-smi, to see the GPUs as the
// engine does. image is the driver's own when empty; gpus are written as
// Config.GPUs, and the driver's Devices are given too. The container is removed
// before it returns. An exit code other than 0 is an error with its standard error.
func (d *Driver) RunShort(ctx context.Context, image string, argv []string, gpus string) (stdout string, err error) {
	stdout, err = d.runShort(ctx, image, argv, gpus)
	if err != nil {
		return "", fmt.Errorf("docker: running %s: %w", strings.Join(argv, " "), d.explain(err))
	}
	return stdout, nil
}

func (d *Driver) runShort(ctx context.Context, name string, argv []string, gpus string) (stdout string, err error) {
	if len(argv) == 0 {
		return "", errors.New("no program is given")
	}
	if _, err := parseGPUs(gpus); err != nil {
		return "", err
	}
	if name == "" {
		name = d.config.Image
	}
	image, err := d.present(ctx, name)
	if err != nil {
		return "", err
	}
	me, err := findSelf(ctx, d.client)
	if err != nil {
		return "", err
	}
	short := deploy.NewName()
	marks := labels(short, me)
	late, stop := patient(ctx)
	defer stop()
	defer func() {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoing)
		defer cancel()
		err = errors.Join(err, until(undo, "its container", func() error { return d.removeContainer(undo, short, marks) }))
	}()

	resources := Config{GPUs: gpus, Devices: d.config.Devices}.resources()
	resources.DeviceRequests = deviceRequests(gpus, []string{"utility"}) // what nvidia-smi needs of the driver
	made, err := d.client.ContainerCreate(late, client.ContainerCreateOptions{
		Name:   short,
		Config: &container.Config{Image: image.id, Entrypoint: argv[:1], Cmd: argv[1:], Labels: marks, User: d.config.User},
		HostConfig: &container.HostConfig{
			NetworkMode: "none", GroupAdd: d.config.Groups, Resources: resources,
			LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "16m", "max-file": "1"}},
		},
	})
	if err != nil {
		return "", err
	}
	streams, err := d.client.ContainerAttach(late, made.ID, client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return "", err
	}
	defer streams.Close()
	watch, cancel := context.WithCancel(late)
	defer cancel()
	wait := d.client.ContainerWait(watch, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := d.client.ContainerStart(late, made.ID, client.ContainerStartOptions{}); err != nil {
		return "", err
	}
	return finish(ctx, streams.Reader, wait)
}

// finish collects what a short container writes until it ends.
func finish(ctx context.Context, streams io.Reader, wait client.ContainerWaitResult) (string, error) {
	var out, diag output.Head // read once copied is closed only
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = stdcopy.StdCopy(&out, &diag, streams)
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case err := <-wait.Error:
		return "", err
	case end := <-wait.Result:
		select {
		case <-copied:
		case <-time.After(5 * time.Second):
			return "", errors.New("its output never ended")
		}
		if end.StatusCode != 0 {
			return "", fmt.Errorf("exit status %d: %s", end.StatusCode, strings.TrimSpace(diag.String()+out.String()))
		}
	}
	if out.Cut {
		return "", fmt.Errorf("it wrote more than %d bytes", output.DefaultLimit)
	}
	return out.String(), nil
}
