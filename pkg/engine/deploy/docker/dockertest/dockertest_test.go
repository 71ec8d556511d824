package dockertest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
)

func TestMain(m *testing.M) { os.Exit(dockertest.Wrap(m).Run()) }

func TestGet(t *testing.T) {
	d := dockertest.Get(t)
	image, err := d.Client.ImageInspect(t.Context(), d.Image)
	if err != nil {
		t.Fatal(err)
	}
	if got := image.Config.Entrypoint; len(got) != 1 || got[0] != "/agentx" {
		t.Errorf("entry point %q", got)
	}
	if again := dockertest.Get(t).Image; again != d.Image {
		t.Errorf("a second image was built: %s, %s", d.Image, again)
	}
	if !strings.Contains(d.Host, "://") {
		t.Errorf("host %q", d.Host)
	}
	if _, err := d.Client.Info(t.Context(), client.InfoOptions{}); err != nil {
		t.Error(err)
	}
}
