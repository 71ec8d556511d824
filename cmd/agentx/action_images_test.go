package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
	"github.com/org/agentx-action/pkg/result"
)

// dialled is an image of the simulated engine that decodes so much slower.
func dialled(t *testing.T, d dockertest.Docker, slowdown float64) (id string) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	text := fmt.Sprintf(`{"faults":{"prefill_slowdown":0.05,"decode_slowdown":%v}}`, slowdown)
	if err := w.WriteHeader(&tar.Header{Name: "dial.json", Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	made, err := d.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{Image: d.Image, Name: "agentx-dial-" + strings.ToLower(rand.Text()[:8])})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = d.Client.ContainerRemove(t.Context(), made.ID, client.ContainerRemoveOptions{Force: true})
	}()
	if _, err := d.Client.CopyToContainer(t.Context(), made.ID, client.CopyToContainerOptions{DestinationPath: "/", Content: &b}); err != nil {
		t.Fatal(err)
	}
	image, err := d.Client.ContainerCommit(t.Context(), made.ID, client.ContainerCommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = d.Client.ImageRemove(context.WithoutCancel(t.Context()), image.ID, client.ImageRemoveOptions{Force: true})
	})
	return image.ID
}

// A pull request from two images to a verdict: head and base alternate on one runner, a
// new engine for every part, and the comment says which figure got worse. The two
// differ by a dial of the simulated engine.
func TestActionImages(t *testing.T) {
	if raceDetector {
		t.Skip("a verdict needs a client that keeps up, which the race detector does not let it")
	}
	d := dockertest.Get(t)
	h := newActionHost(t, "pull")
	h.env["DOCKER_HOST"] = d.Host
	for name, value := range map[string]string{
		"engine": "sim", "image": dialled(t, d, 0.6), "base-image": dialled(t, d, 0.2), "pull": "never", "sim-config": "/dial.json", "model": "sim", "fail-on": "regression", "store": "kept",
		"concurrency": "32", "benchmark-duration": "8", "burst-phase-starts": "true", "trace-idle-gap-cap-seconds": "0.2",
	} {
		h.inputs[name] = value
	}
	s := h.run("agentx", "action")
	s.want(t, exitWorse, "comment: created", "1-head", "2-base", "3-base", "4-head")
	if s.outputs["verdict"] != "regression" || s.outputs["comparison-path"] != "artifacts/1-head/comparison.json" || s.outputs["result-path"] != "artifacts/1-head/result.json" {
		t.Errorf("outputs %v", s.outputs)
	}
	if body := h.api.CommentsOn(actionPull)[0].Body; !strings.Contains(body, "REGRESSION") || !strings.Contains(body, "ITL p50") {
		t.Errorf("the comment:\n%s", body)
	}
	c, err := readComparison(filepath.Join(h.dir, s.outputs["comparison-path"]))
	if err != nil || len(c.Head.Runs) != 2 || len(c.Base.Runs) != 2 || len(c.Axis) != 1 || c.Axis[0].Key != "engine_image" {
		t.Fatalf("%v; comparison %+v", err, c)
	}
	if problems, err := result.Check(filepath.Join(h.dir, "artifacts", "1-head")); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", err, problems)
	}
	// What the base measured stands where no baseline is read.
	refs := map[string]int{}
	for _, ref := range h.stored("kept") {
		refs[ref]++
	}
	if refs["pr-7 "+actionHead[:12]] != 2 || refs["base-of-pr-7 "+actionBase[:12]] != 2 || len(refs) != 2 {
		t.Errorf("in the store: %v", refs)
	}
	// An image that is not there shows before anything is measured.
	h.inputs["base-image"] = "agentx-test:nowhere"
	h.inputs["output-artifact-dir"] = "other"
	s = h.run("agentx", "action")
	s.want(t, exitFailed, "nothing was run: the base's image (--base-image)")
}
