package main

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/publish/github/githubtest"
)

// actWorkflow is a workflow of a user's. Its last step sees what the Action leaves:
// outputs, and files that are the job's own.
const actWorkflow = `name: bench
on: pull_request
jobs:
  e2e:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: agentx
        uses: ./
        with:
          concurrency: 2
          benchmark-duration: 2
          benchmark-grace-period: 1
          fixed-shapes: none
          store: kept
          github-token: ghs_canary_4f9d2c
      - env:
          VERDICT: ${{ steps.agentx.outputs.verdict }}
          RESULT: ${{ steps.agentx.outputs.result-path }}
          KEPT: ${{ steps.agentx.outputs.result-url }}
          COMMENT: ${{ steps.agentx.outputs.comment-url }}
          TTFT: ${{ steps.agentx.outputs.ttft-p50-ms }}
        run: |
          echo "verdict is $VERDICT, comment $COMMENT, ttft $TTFT"
          [ "$VERDICT" = "not compared" ] && [ -n "$COMMENT" ] && [ -n "$TTFT" ]
          grep -q '"kind": *"agentx.result"' "$RESULT"
          [ -f "$KEPT/manifest.json" ]
          echo "the outputs are right"
`

// The Action as act plays it: the image is built from the Dockerfile, the step runs in
// it with inputs, event and files of a runner, and the post step after it.
// .ci/e2e-act prepares what this needs.
func TestAct(t *testing.T) {
	act, image := os.Getenv("AGENTX_TEST_ACT"), os.Getenv("AGENTX_TEST_ACT_IMAGE")
	if act == "" {
		t.Skip("plays a workflow in containers: run .ci/e2e-act")
	}
	dir := actRepository(t, os.Getenv("AGENTX_TEST_ACT_MODULES"))
	api := githubtest.New(actionRepo)
	api.Token = "ghs_canary_4f9d2c"
	api.AddPull(githubtest.Pull{Number: actionPull, State: "open", HeadSHA: actionHead, HeadOwner: "octo", HeadBranch: "change"})
	server := httptest.NewServer(api)
	defer server.Close()
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(actionPayloads["pull"].json), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, act, "pull_request", "-W", ".github/workflows/e2e.yml", "-P", "ubuntu-latest="+image, "--pull=false", "--network", "host",
		"--container-daemon-socket", "-", "-e", event, "--env", "GITHUB_API_URL="+server.URL, "--env", "GITHUB_GRAPHQL_URL="+server.URL+"/graphql", "--env", "NO_PROXY=127.0.0.1")
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+t.TempDir()) // act keeps settings there
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"the outputs are right", "comment: created"} {
		if !strings.Contains(string(out), text) {
			t.Errorf("act does not say %q", text)
		}
	}
	if strings.Contains(string(out), "ghs_canary") {
		t.Error("the token is in the log")
	}
	comments := api.CommentsOn(actionPull)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "NOT COMPARED") {
		t.Errorf("comments %+v", comments)
	}
}

// actRepository is this repository as it stands, with the workflow in it. Its image is
// built on one that holds the modules already, where one is named.
func actRepository(t *testing.T, modules string) string {
	t.Helper()
	dir := t.TempDir()
	script := `set -e
cd ../..
git ls-files -z --cached --others --exclude-standard | grep -zvE '(^|/)testdata/|_test\.go$|^\.github/workflows/' | xargs -0 cp --parents -t "$1" 2>/dev/null || true
cd "$1"
git init -q -b main
git remote add origin https://github.com/` + actionRepo + `.git
mkdir -p .github/workflows
cat >.github/workflows/e2e.yml
[ -z "$2" ] || sed -i "s|^FROM golang:[^ ]* AS build$|FROM $2 AS build|" Dockerfile
git add -A
git -c user.name=t -c user.email=t@example.com commit -qm t`
	c := exec.Command("bash", "-c", script, "bash", dir, modules)
	c.Stdin = strings.NewReader(actWorkflow)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "Dockerfile")); err != nil {
		t.Fatal(err)
	}
	return dir
}
