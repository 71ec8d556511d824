package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// The setup action installs the binary whose checksum its release wrote down, and no
// other.
func TestSetupAction(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are binaries for Linux only")
	}
	program := []byte("#!/bin/sh\necho v9.9.9\n")
	var served atomic.Pointer[[]byte]
	served.Store(&program)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v9.9.9/agentx-linux-"+runtime.GOARCH {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(*served.Load())
	}))
	defer server.Close()
	action := t.TempDir()
	for name, text := range map[string]string{"checksums.txt": fmt.Sprintf("%064d  agentx-linux-other\n%x  agentx-linux-%s\n", 0, sha256.Sum256(program), runtime.GOARCH), "version.txt": "v9.9.9\n"} {
		if err := os.WriteFile(filepath.Join(action, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("../../.github/actions/setup/install")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(action, "install"), script, 0o700); err != nil {
		t.Fatal(err)
	}
	install := func() (string, error) {
		temp := t.TempDir()
		c := exec.Command(filepath.Join(action, "install"))
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + temp, "DOWNLOAD_URL=" + server.URL, "GITHUB_PATH=" + filepath.Join(temp, "path"), "GITHUB_OUTPUT=" + filepath.Join(temp, "output")}
		out, err := c.CombinedOutput()
		if err == nil {
			path, _ := os.ReadFile(filepath.Join(temp, "path"))
			output, _ := os.ReadFile(filepath.Join(temp, "output"))
			if strings.TrimSpace(string(path)) != filepath.Join(temp, "agentx", "bin") || string(output) != "version=v9.9.9\n" {
				t.Errorf("path %q, output %q", path, output)
			}
		} else if left, _ := filepath.Glob(filepath.Join(temp, "agentx", "bin", "*")); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
		return string(out), err
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is missing; every runner of GitHub's has it")
	}
	if out, err := install(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	other := append([]byte("#!/bin/sh\nsteal\n"), program...)
	served.Store(&other)
	if out, err := install(); err == nil || !strings.Contains(out, "its checksum differs") {
		t.Errorf("another program was installed: %v\n%s", err, out)
	}
}
