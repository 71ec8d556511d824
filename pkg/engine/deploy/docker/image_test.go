package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
)

func TestIdentityIsADigestWhereThereIsOne(t *testing.T) {
	const id = "sha256:1"
	for _, c := range []struct {
		name    string
		digests []string
		want    string
	}{
		{"vllm/vllm-openai:v1", []string{"mirror.example/vllm@sha256:2", "vllm/vllm-openai@sha256:3"}, "vllm/vllm-openai@sha256:3"},
		{"docker.io/vllm/vllm-openai", []string{"vllm/vllm-openai@sha256:3"}, "vllm/vllm-openai@sha256:3"},
		{"renamed:v1", []string{"vllm/vllm-openai@sha256:3"}, "vllm/vllm-openai@sha256:3"},
		{"x/y@sha256:4", []string{"x/y@sha256:5"}, "x/y@sha256:4"},
		{"local:1", nil, id},
	} {
		if got := identity(c.name, id, c.digests); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestProgressOfAPull(t *testing.T) {
	l := layers{}
	for _, m := range []jsonstream.Message{
		{Status: "Pulling from vllm/vllm-openai", ID: "v1"},
		{Status: "Pulling fs layer", ID: "a"},
		{Status: "Waiting", ID: "b"},
		{Status: "Already exists", ID: "c"},
		{Status: "Downloading", ID: "a", Progress: &jsonstream.Progress{Current: 1 << 30, Total: 2 << 30}},
		{Status: "Downloading", ID: "b", Progress: &jsonstream.Progress{Current: 1 << 29, Total: 1 << 30}},
		{Status: "Download complete", ID: "b"},
		{Status: "Extracting", ID: "b", Progress: &jsonstream.Progress{Current: 5, Total: 1 << 30}},
		{Status: "Pull complete", ID: "b"},
		{Status: "Digest: sha256:1"},
	} {
		l.take(m)
	}
	if got, want := l.String(), "2 of 3 layers, 2.0 of 3.0 GiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRegistryLogin(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if auth, err := registryAuth("ghcr.io/org/engine"); auth != "" || err != nil {
		t.Errorf("without a file: %q, %v", auth, err)
	}
	write(t, filepath.Join(dir, "config.json"), `{
		"auths": {"https://index.docker.io/v1/": {"auth": "bWU6cGE6c3M="}, "ghcr.io": {"identitytoken": "t"}, "bad.example": {"auth": "bWU="}},
		"credHelpers": {"helped.example": "test", "none.example": "test", "gone.example": "missing"},
		"HttpHeaders": {"any": "thing"}}`)
	write(t, filepath.Join(dir, "docker-credential-test"), `#!/bin/sh
read server
[ "$server" = helped.example ] || { echo "credentials not found in native keychain"; exit 1; }
echo '{"ServerURL":"'$server'","Username":"me","Secret":"s3"}'
`)
	for image, want := range map[string]registry.AuthConfig{
		"vllm/vllm-openai":     {Username: "me", Password: "pa:ss", ServerAddress: dockerHub},
		"ghcr.io/org/engine:1": {IdentityToken: "t", ServerAddress: "ghcr.io"},
		"helped.example/x":     {Username: "me", Password: "s3", ServerAddress: "helped.example"},
		"none.example/x":       {},
		"quay.io/x/y":          {},
	} {
		auth, err := registryAuth(image)
		if err != nil {
			t.Errorf("%s: %v", image, err)
			continue
		}
		got := &registry.AuthConfig{}
		if auth != "" {
			if got, err = authconfig.Decode(auth); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: %s", image, diff)
		}
	}
	for image, want := range map[string]string{
		"bad.example/x":  "auths bad.example",
		"gone.example/x": "docker-credential-missing",
		"x/UPPER":        "lowercase",
	} {
		if _, err := registryAuth(image); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", image, err)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
