package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker"
	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/validity"
)

// runnerUser is whom GitHub's workspace belongs to.
const runnerUser = 1001

// action is agentx in a container as GitHub runs an Action: root, the first process,
// the daemon's socket and the workspace mounted, on a network of the job's.
type action struct {
	t         *testing.T
	docker    dockertest.Docker
	id        string
	workspace string
	wait      client.ContainerWaitResult
}

func startAction(t *testing.T, args ...string) *action {
	t.Helper()
	d := dockertest.Get(t)
	socket, ok := strings.CutPrefix(d.Host, "unix://")
	if !ok {
		t.Skip("the daemon is not at a socket: " + d.Host)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can give the workspace to another user")
	}
	a := &action{t: t, docker: d, workspace: t.TempDir()}
	if err := os.Chown(a.workspace, runnerUser, runnerUser); err != nil {
		t.Fatal(err)
	}
	job := deploy.NewName()
	network, err := d.Client.NetworkCreate(t.Context(), job, client.NetworkCreateOptions{Driver: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Client.NetworkRemove(context.Background(), network.ID, client.NetworkRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	line := shortRun("out/artifacts", append([]string{"--driver", "docker", "--image", d.Image, "--pull", "never", "--engine", "sim"}, args...)...)
	made, err := d.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config: &container.Config{
			Image: d.Image, Cmd: line, WorkingDir: "/github/workspace",
			Env: []string{"GITHUB_ACTIONS=true", "CI=true", "GITHUB_WORKSPACE=/github/workspace", "HOME=/github/home"},
		},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode(job),
			Binds:       []string{socket + ":/var/run/docker.sock", a.workspace + ":/github/workspace"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.id = made.ID
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(a.said())
		}
		if _, err := d.Client.ContainerRemove(context.Background(), a.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Error(err)
		}
	})
	a.wait = d.Client.ContainerWait(t.Context(), a.id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := d.Client.ContainerStart(t.Context(), a.id, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *action) dir() string { return filepath.Join(a.workspace, "out", "artifacts") }

// code waits for the end, and gives the exit status.
func (a *action) code(limit time.Duration) int64 {
	a.t.Helper()
	select {
	case end := <-a.wait.Result:
		return end.StatusCode
	case err := <-a.wait.Error:
		a.t.Fatal(err)
	case <-time.After(limit):
		a.t.Fatalf("it still runs after %v", limit)
	}
	return -1
}

func (a *action) said() string {
	logs, err := a.docker.Client.ContainerLogs(context.Background(), a.id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return err.Error()
	}
	defer logs.Close()
	var text bytes.Buffer
	_, _ = stdcopy.StdCopy(&text, &text, logs)
	return text.String()
}

// until waits until a file of the run holds a text.
func (a *action) until(file, text string) {
	a.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if b, _ := os.ReadFile(filepath.Join(a.dir(), file)); bytes.Contains(b, []byte(text)) {
			return
		}
	}
	a.t.Fatalf("%s never held %q", file, text)
}

// left demands that what it leaves is the artifacts, for the runner's user to read
// and remove, and nothing on the daemon.
func (a *action) left() {
	a.t.Helper()
	err := filepath.WalkDir(a.workspace, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != runnerUser || s.Gid != runnerUser {
			a.t.Errorf("%s belongs to %d:%d", name, s.Uid, s.Gid)
		}
		return nil
	})
	if err != nil {
		a.t.Error(err)
	}
	nothingLabelled(a.t, a.docker, docker.ContainerLabel+"="+a.id)
}

func TestInsideAnActionsContainer(t *testing.T) {
	a := startAction(t)
	if code := a.code(2 * time.Minute); code != exitDone {
		t.Fatalf("exit status %d", code)
	}
	d := driven{dir: a.dir(), said: a.said()}
	d.judge(t)
	d.identity(t, map[string]string{"engine_image": "^sha256:[0-9a-f]{64}$", "engine_args": `"sim",`})
	d.logged(t, "serving model")
	d.containersGone(t, a.docker)
	a.left()
}

// GitHub sends SIGINT, SIGTERM 7.5 s later, and kills 2.5 s after that
// (decisions.md 34).
func TestActionIsCancelled(t *testing.T) {
	a := startAction(t, "--benchmark-duration", "60")
	a.until("records.jsonl", profilingLine)
	send := func(signal string) {
		_, _ = a.docker.Client.ContainerKill(context.Background(), a.id, client.ContainerKillOptions{Signal: signal}) // it may be gone
	}
	send("SIGINT")
	term := time.AfterFunc(7500*time.Millisecond, func() { send("SIGTERM") })
	kill := time.AfterFunc(10*time.Second, func() { send("SIGKILL") })
	defer term.Stop()
	defer kill.Stop()
	if code := a.code(30 * time.Second); code != exitFailed {
		t.Errorf("exit status %d, want %d: it was ended before its work was done", code, exitFailed)
	}
	d := driven{dir: a.dir(), said: a.said()}
	if err := result.Verify(d.dir); err != nil {
		t.Errorf("the artifacts: %v", err)
	}
	doc, err := result.Read(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range doc.Validity.Findings {
		found = found || f.Code == validity.RunCancelled
	}
	if !found || doc.Outcome.CancelledBy != "user" {
		t.Errorf("ended by %q, findings %+v", doc.Outcome.CancelledBy, doc.Validity.Findings)
	}
	d.logged(t, "serving model")
	d.containersGone(t, a.docker)
	a.left()
}
