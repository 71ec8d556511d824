package compose

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// describe says what was started. Args holds a word for each service: its name,
// how often, and the command as the daemon runs it. Env holds what the files give
// each service, as service.NAME.
func (e *engine) describe(ctx context.Context, all map[string][]container.InspectResponse, hide deploy.Secrets, d *Driver) (deploy.Facts, error) {
	f := deploy.Facts{Driver: "compose", Env: map[string]string{}}
	if n := len(e.metrics); n > 1 {
		f.Replicas = n
	}
	maps.Copy(f.Env, hide.MaskEnv(d.Env))
	var images []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first := &all[name][0]
		word := name
		if n := len(all[name]); n > 1 {
			word += "×" + strconv.Itoa(n)
		}
		f.Args = append(f.Args, hide.Mask(word+": "+strings.Join(hide.MaskAll(append([]string{first.Path}, first.Args...)), " ")))
		s := e.project.Services[name]
		for key, value := range s.Environment {
			switch {
			case value == nil:
			case hide.Hides(key):
				f.Env[name+"."+key] = deploy.Masked
			default:
				f.Env[name+"."+key] = hide.Mask(*value)
			}
		}
		digest, err := e.digest(ctx, first.Image, s.Image)
		if err != nil {
			return f, err
		}
		images = append(images, name+"="+digest)
	}
	f.Image = strings.Join(images, " ")
	return f, nil
}

// digest is an image's name@sha256:…, of the repository it was asked for under
// where it has several, or its id where it was never in a registry.
func (e *engine) digest(ctx context.Context, id, asked string) (string, error) {
	image, err := e.daemon.api.ImageInspect(ctx, id)
	if err != nil {
		return "", err
	}
	if len(image.RepoDigests) == 0 {
		return image.ID, nil
	}
	repository, _, _ := strings.Cut(asked, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	for _, d := range image.RepoDigests {
		if strings.HasPrefix(d, repository+"@") {
			return d, nil
		}
	}
	return image.RepoDigests[0], nil
}

// sortByNumber sorts a service's containers as docker compose counts them.
func sortByNumber(list []container.InspectResponse) {
	number := func(c container.InspectResponse) int {
		n, _ := strconv.Atoi(c.Config.Labels[numberLabel])
		return n
	}
	slices.SortFunc(list, func(a, b container.InspectResponse) int { return number(a) - number(b) })
}
