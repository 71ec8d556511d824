package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
)

// dockerHub is the name under which `docker login` keeps its default registry.
const dockerHub = "https://index.docker.io/v1/"

// credentials is the part of Docker's client configuration that tells who logs in
// where.
type credentials struct {
	Auths map[string]struct {
		Auth          string `json:"auth"` // base64 of name:password
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	Store   string            `json:"credsStore"`
	Helpers map[string]string `json:"credHelpers"`
}

// registryAuth is the login for an image's registry as the API takes it, from
// $DOCKER_CONFIG/config.json, where `docker login` writes it; "" is nobody's.
func registryAuth(image string) (string, error) {
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", err
	}
	server := reference.Domain(ref)
	if server == "docker.io" {
		server = dockerHub
	}
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", nil //nolint:nilerr // no home: nobody has logged in
		}
		dir = filepath.Join(home, ".docker")
	}
	name := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var c credentials
	if err := json.Unmarshal(text, &c); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	login, err := c.login(server)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if login == (registry.AuthConfig{}) {
		return "", nil
	}
	login.ServerAddress = server
	return authconfig.Encode(login)
}

// login finds who logs in to a server; the zero value is nobody.
func (c credentials) login(server string) (registry.AuthConfig, error) {
	helper := c.Helpers[server]
	if helper == "" {
		helper = c.Store
	}
	if helper != "" {
		return askHelper(helper, server)
	}
	a := c.Auths[server]
	if a.Auth == "" {
		return registry.AuthConfig{IdentityToken: a.IdentityToken}, nil
	}
	plain, err := base64.StdEncoding.DecodeString(a.Auth)
	user, password, ok := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
	if err != nil || !ok {
		return registry.AuthConfig{}, fmt.Errorf("auths %s: not base64 of name:password", server)
	}
	return registry.AuthConfig{Username: user, Password: password, IdentityToken: a.IdentityToken}, nil
}

// askHelper asks a credential helper, a program that keeps logins.
func askHelper(helper, server string) (registry.AuthConfig, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	program := "docker-credential-" + helper
	ask := exec.CommandContext(ctx, program, "get")
	ask.Stdin = strings.NewReader(server)
	ask.WaitDelay = time.Second
	out, err := ask.Output()
	if err != nil {
		if bytes.Contains(out, []byte("not found")) {
			return registry.AuthConfig{}, nil // "credentials not found in native keychain"
		}
		return registry.AuthConfig{}, fmt.Errorf("%s: %w", program, err) // its output may hold a secret
	}
	var login struct{ Username, Secret string }
	if err := json.Unmarshal(out, &login); err != nil {
		return registry.AuthConfig{}, fmt.Errorf("%s answered no login", program)
	}
	if login.Username == "<token>" {
		return registry.AuthConfig{IdentityToken: login.Secret}, nil
	}
	return registry.AuthConfig{Username: login.Username, Password: login.Secret}, nil
}
