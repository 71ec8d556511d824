package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
)

// found is an image that is here.
type found struct {
	id string
	// identity is name@sha256:…, or the id where no registry has it.
	identity        string
	entrypoint, cmd []string
}

// Prepare sees to it that the engine's image is here, and asks no registry again
// afterwards.
func (d *Driver) Prepare(ctx context.Context) error {
	image, err := d.image(ctx, d.config.Image)
	if err != nil {
		return fmt.Errorf("docker: %w", d.explain(err))
	}
	d.prepared.Store(&image)
	return nil
}

// present is an image that was prepared, or else is looked up and pulled.
func (d *Driver) present(ctx context.Context, name string) (found, error) {
	if image := d.prepared.Load(); image != nil && name == d.config.Image {
		return *image, nil
	}
	return d.image(ctx, name)
}

// image looks an image up, and pulls it as the configuration says.
func (d *Driver) image(ctx context.Context, name string) (found, error) {
	if d.config.Pull != PullAlways {
		f, err := d.local(ctx, name)
		switch {
		case err == nil || !errdefs.IsNotFound(err):
			return f, err
		case d.config.Pull == PullNever:
			return f, fmt.Errorf("image %s is not here and pull is %s: docker pull %[1]s, or docker load", name, PullNever)
		}
	}
	if err := d.pull(ctx, name); err != nil {
		return found{}, fmt.Errorf("image %s can't be pulled (check its name and the way to its registry, or docker load it): %w", name, err)
	}
	return d.local(ctx, name)
}

// local is the image that the daemon has.
func (d *Driver) local(ctx context.Context, name string) (found, error) {
	res, err := d.client.ImageInspect(ctx, name)
	if err != nil {
		return found{}, err
	}
	f := found{id: res.ID, identity: identity(name, res.ID, res.RepoDigests)}
	if res.Config != nil {
		f.entrypoint, f.cmd = res.Config.Entrypoint, res.Config.Cmd
	}
	return f, nil
}

// identity is the image by digest, under the name that was asked for if it has one.
func identity(name, id string, digests []string) string {
	if strings.Contains(name, "@sha256:") {
		return name
	}
	if ref, err := reference.ParseNormalizedNamed(name); err == nil {
		for _, d := range digests {
			if strings.HasPrefix(d, reference.FamiliarName(ref)+"@") {
				return d
			}
		}
	}
	if len(digests) > 0 {
		return digests[0]
	}
	return id
}

// pull pulls an image and tells how it goes.
func (d *Driver) pull(ctx context.Context, name string) error {
	begin := time.Now()
	d.progress("pulling %s", name)
	auth, err := registryAuth(name)
	if err != nil {
		return err
	}
	res, err := d.client.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	defer res.Close()
	layers, told := layers{}, begin
	for m, err := range res.JSONMessages(ctx) {
		switch {
		case err != nil:
			return err
		case m.Error != nil:
			return errors.New(m.Error.Message)
		}
		layers.take(m)
		if time.Since(told) >= 5*time.Second {
			d.progress("pulling %s: %s", name, layers)
			told = time.Now()
		}
	}
	d.progress("pulled %s in %.0f s", name, time.Since(begin).Seconds())
	return nil
}

// layers is how far a pull has come.
type layers map[string]layer

type layer struct {
	current, total int64 // bytes downloaded
	complete       bool
}

func (l layers) take(m jsonstream.Message) {
	one := l[m.ID]
	switch m.Status {
	case "Pulling fs layer", "Waiting":
	case "Downloading":
		if m.Progress != nil {
			one.current, one.total = m.Progress.Current, m.Progress.Total
		}
	case "Download complete", "Verifying Checksum", "Extracting":
		one.current = one.total
	case "Pull complete", "Already exists":
		one.current, one.complete = one.total, true
	default:
		return // no layer
	}
	l[m.ID] = one
}

func (l layers) String() string {
	var current, total int64
	complete := 0
	for _, one := range l {
		current += one.current
		total += one.total
		if one.complete {
			complete++
		}
	}
	const gib = 1 << 30
	return fmt.Sprintf("%d of %d layers, %.1f of %.1f GiB", complete, len(l), float64(current)/gib, float64(total)/gib)
}
