package docker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
)

// The GPUs are read by the engine's own image where we see none.
func TestGPUsByTheEnginesImage(t *testing.T) {
	b := newBench(t)
	d := b.driver(t, Config{
		Image: b.Build(t, dockertest.AgentX, testdata+"nvidia-smi"), Pull: PullNever,
		Command: []string{"sim", "--host", "0.0.0.0", "--port", "{port}"},
	})
	up, err := deploy.Bring(t.Context(), d, deploy.Plan{GPUs: d.SMI(), Load: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Close(t.Context()) })
	if len(up.GPUs) != 1 || up.GPUs[0].UUID != "GPU-1" || up.GPUs[0].Driver != "580.65" {
		t.Errorf("its GPUs: %+v; memory of the first was not taken, of the second nothing is known", up.GPUs)
	}
	if diff := cmp.Diff([]string{"process 4242 (python3) holds memory of GPU 1"}, up.Foreign); diff != "" {
		t.Error(diff)
	}
	if err := up.Close(t.Context()); err != nil {
		t.Error(err)
	}
	b.nothingLeft(t, up.Name)
}
