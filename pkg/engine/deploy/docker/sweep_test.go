package docker

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestSweepTakesWhatHasNoOwner(t *testing.T) {
	b := newBench(t)
	live, _ := b.start(t, Config{Command: []string{"serve", "{port}"}})
	running := live.(*engine).id

	dead, away := deploy.Self(), deploy.Self()
	dead.Started = "1"
	away.Namespace = "pid:[1]"
	cases := map[string]struct {
		owner, container string
		left             bool
	}{
		"dead owner":                   {owner: dead.String(), left: true},
		"living owner":                 {owner: deploy.Self().String()},
		"owner in a removed container": {owner: away.String(), container: strings.Repeat("0", 64), left: true},
		"owner in a running container": {owner: away.String(), container: running},
		"owner somewhere":              {owner: away.String()},
		"no owner":                     {},
		"dead owner, living container": {owner: dead.String(), container: running, left: true},
	}
	names := map[string]string{}
	for what, c := range cases {
		labels := map[string]string{deploy.OwnerLabel: c.owner, ContainerLabel: c.container}
		names[what] = b.plant(t, labels, true)
	}
	stranger := b.plant(t, map[string]string{deploy.OwnerLabel: dead.String()}, false)

	swept, err := b.driver(t, Config{}).Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range cases {
		told := 0
		for _, line := range swept {
			if strings.Contains(line, names[what]) {
				told++
			}
		}
		if there := b.there(t, names[what]); there == c.left || (told == 2) != c.left {
			t.Errorf("%s: there %v, told %d times in %q", what, there, told, swept)
		}
	}
	if !b.there(t, stranger) {
		t.Error("what doesn't carry our label was taken")
	}
	answer(t, live.URL())
}

func TestSweepLeavesANetworkWithAStrangerOnIt(t *testing.T) {
	b := newBench(t)
	dead := deploy.Self()
	dead.Started = "1"
	name := b.plant(t, map[string]string{deploy.OwnerLabel: dead.String()}, true)
	stranger := deploy.NewName()
	made, err := b.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: stranger, Config: &container.Config{Image: b.image, Cmd: []string{"deaf", "80"}},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(name)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := b.Client.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	if _, err := b.Client.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	swept, err := b.driver(t, Config{}).Sweep(t.Context())
	if err != nil {
		t.Error(err)
	}
	if !slices.Contains(swept, "network "+name+" stays: containers that are not ours are on it") {
		t.Errorf("swept %q", swept)
	}
	if _, err := b.Client.NetworkInspect(t.Context(), name, client.NetworkInspectOptions{}); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(swept, func(line string) bool {
		return strings.HasPrefix(line, "container ") && strings.HasSuffix(line, name)
	}) {
		t.Errorf("swept %q", swept)
	}
}

// TestSweepTakesVolumes: a Compose project leaves them, and the next run may be of
// another kind; one that a stranger has mounted stays.
func TestSweepTakesVolumes(t *testing.T) {
	b := newBench(t)
	dead := deploy.Self()
	dead.Started = "1"
	free, used, stranger := deploy.NewName(), deploy.NewName(), deploy.NewName()
	for _, name := range []string{free, used} {
		labels := map[string]string{deploy.Label: name, deploy.OwnerLabel: dead.String()}
		if _, err := b.Client.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: name, Labels: labels}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = b.Client.VolumeRemove(context.Background(), name, client.VolumeRemoveOptions{Force: true})
		})
	}
	made, err := b.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: stranger, Config: &container.Config{Image: b.image}, HostConfig: &container.HostConfig{Binds: []string{used + ":/data"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = b.Client.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true})
		_, _ = b.Client.VolumeRemove(context.Background(), used, client.VolumeRemoveOptions{Force: true})
	})
	swept, err := b.driver(t, Config{}).Sweep(t.Context())
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"volume " + free + " of " + free, "volume " + used + " stays: containers that are not ours are on it"} {
		if !slices.Contains(swept, want) {
			t.Errorf("no %q in %q", want, swept)
		}
	}
	if _, err := b.Client.VolumeInspect(t.Context(), free, client.VolumeInspectOptions{}); err == nil {
		t.Error("the volume is still there")
	}
	if _, err := b.Client.VolumeInspect(t.Context(), used, client.VolumeInspectOptions{}); err != nil {
		t.Error(err)
	}
}

// plant makes a container that never ran and a network, under one name.
func (b bench) plant(t *testing.T, labels map[string]string, ours bool) (name string) {
	t.Helper()
	name = deploy.NewName()
	if ours {
		labels[deploy.Label] = name
	}
	network, err := b.Client.NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "bridge", Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Config: &container.Config{Image: b.image, Labels: labels},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(name)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = b.Client.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true})
		_, _ = b.Client.NetworkRemove(context.Background(), network.ID, client.NetworkRemoveOptions{})
	})
	return name
}

// there tells whether the container and the network of that name are, and fails
// where only one of them is.
func (b bench) there(t *testing.T, name string) bool {
	t.Helper()
	_, noContainer := b.Client.ContainerInspect(t.Context(), name, client.ContainerInspectOptions{})
	_, noNetwork := b.Client.NetworkInspect(t.Context(), name, client.NetworkInspectOptions{})
	if (noContainer == nil) != (noNetwork == nil) {
		t.Errorf("%s: container %v, network %v", name, noContainer, noNetwork)
	}
	return noContainer == nil
}

func TestStrangersOfOurNameStay(t *testing.T) {
	b := newBench(t)
	name := b.plant(t, map[string]string{}, false)
	_, err := b.driver(t, Config{Command: []string{"exit", "0"}}).Start(t.Context(), name, io.Discard)
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v", err)
	}
	if !b.there(t, name) {
		t.Error("they were taken away")
	}
}
