package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/validity"
)

// The same run over every driver.
const routerOfTests = "github.com/org/agentx-action/pkg/engine/deploy/compose/testdata/router"

// shortRun is what is asked of every driver.
func shortRun(dir string, more ...string) []string {
	return append([]string{"run", "--model", "sim", "--no-fixed", "--concurrency", "2", "--benchmark-duration", "2",
		"--stats-interval", "0", "--output-artifact-dir", dir}, more...)
}

// driven is a run that is over.
type driven struct {
	dir, said string
	doc       *result.Document
}

func driveRun(t *testing.T, env []string, args ...string) driven {
	t.Helper()
	program, err := exec.LookPath("agentx")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	d := driven{dir: filepath.Join(home, "artifacts")}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, program, shortRun(d.dir, args...)...)
	run.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, env...)
	out, err := run.CombinedOutput()
	d.said = string(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.judge(t)
	return d
}

// judge demands that the artifacts are whole, and that nothing in them speaks
// against the engine: this machine may well be too busy for the client.
func (d *driven) judge(t *testing.T) {
	t.Helper()
	if problems, err := result.Check(d.dir); err != nil || len(problems) > 0 {
		t.Errorf("the artifacts: %v, %v", problems, err)
	}
	var err error
	if d.doc, err = result.Read(d.dir); err != nil {
		t.Fatalf("%v\n%s", err, d.said)
	}
	defer func() {
		if t.Failed() {
			records, _ := os.ReadFile(filepath.Join(d.dir, result.FileRecords))
			log, _ := os.ReadFile(filepath.Join(d.dir, result.FileEngineLog))
			t.Logf("%s\nrecords:\n%.4000s\nlog:\n%.4000s", d.said, records, log)
		}
	}()
	for _, f := range d.doc.Validity.Findings {
		switch f.Code {
		case validity.CacheNotCold, validity.CacheStartUnknown, validity.EngineCountersDiffer, validity.EngineCountersUnknown,
			validity.ReplicasUnrouted, validity.ForeignGPUUsers, validity.ErrorRate, validity.NothingMeasured:
			t.Errorf("%s: %s", f.Code, f.Text)
		}
	}
	if d.doc.Requests.Profiling.OK == 0 {
		t.Error("nothing was measured")
	}
	if _, err := os.Stat(filepath.Join(d.dir, result.FileConfig)); err != nil {
		t.Error(err)
	}
}

// identity demands values of the identity; a pattern each, "" for a key that must
// be missing.
func (d *driven) identity(t *testing.T, want map[string]string) {
	t.Helper()
	for key, pattern := range want {
		got, ok := d.doc.Identity.Get(key)
		if ok != (pattern != "") || ok && !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s is %q, want %q", key, got, pattern)
		}
	}
}

// logged demands the engine's log, in the manifest.
func (d *driven) logged(t *testing.T, texts ...string) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(d.dir, result.FileEngineLog))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if !bytes.Contains(log, []byte(text)) {
			t.Errorf("the engine's log lacks %q:\n%.2000s", text, log)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(d.dir, result.FileManifest))
	if err != nil || !bytes.Contains(manifest, []byte(`"`+result.FileEngineLog+`"`)) {
		t.Errorf("the engine's log is not in the manifest: %v", err)
	}
}

// containersGone demands that nothing of the run's engine is on the daemon.
func (d *driven) containersGone(t *testing.T, docker dockertest.Docker) {
	t.Helper()
	name := regexp.MustCompile(`engine (agentx-[0-9a-f]+): ready`).FindStringSubmatch(d.said)
	if name == nil {
		t.Fatalf("no engine was brought up:\n%s", d.said)
	}
	for _, label := range []string{deploy.Label, "com.docker.compose.project"} {
		nothingLabelled(t, docker, label+"="+name[1])
	}
}

func nothingLabelled(t *testing.T, docker dockertest.Docker, label string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ours := client.Filters{}.Add("label", label)
	containers, err := docker.Client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil || len(containers.Items) > 0 {
		t.Errorf("containers are left: %+v, %v", containers.Items, err)
	}
	networks, err := docker.Client.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	if err != nil || len(networks.Items) > 0 {
		t.Errorf("networks are left: %+v, %v", networks.Items, err)
	}
	volumes, err := docker.Client.VolumeList(ctx, client.VolumeListOptions{Filters: ours})
	if err != nil || len(volumes.Items) > 0 {
		t.Errorf("volumes are left: %+v, %v", volumes.Items, err)
	}
}

func TestDriverSim(t *testing.T) {
	d := driveRun(t, nil)
	d.identity(t, map[string]string{"engine": "^sim$", "engine_args": "block_size", "engine_image": "", "replicas": ""})
}

func TestDriverProcess(t *testing.T) {
	mark := "AGENTX_TEST=" + t.Name()
	d := driveRun(t, nil, "--driver", "process", "--engine", "sim", "--engine-env", mark)
	d.identity(t, map[string]string{"engine_args": `sim.*--port.*\{port\}`, "engine_env.AGENTX_TEST": t.Name(), "engine_image": "", "replicas": ""})
	d.logged(t, "serving model")
	if d.doc.Engine.Driver != "process" {
		t.Errorf("driver %q", d.doc.Engine.Driver)
	}
	if left := withVariable(mark); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// withVariable are the processes that have a variable in their environment.
func withVariable(pair string) (pids []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && slices.Contains(strings.Split(string(text), "\x00"), pair) {
			pids = append(pids, name)
		}
	}
	return pids
}

func TestDriverURL(t *testing.T) {
	program, err := exec.LookPath("agentx")
	if err != nil {
		t.Fatal(err)
	}
	engine := exec.Command(program, "sim", "--port", "0")
	out, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = engine.Process.Kill()
		_ = engine.Wait()
	})
	var said bytes.Buffer
	at := regexp.MustCompile(`at (http://\S+)`)
	for buf := make([]byte, 4096); !at.Match(said.Bytes()); {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(buf[:n])
	}
	d := driveRun(t, nil, "--url", at.FindStringSubmatch(said.String())[1])
	d.identity(t, map[string]string{"engine_args": "", "engine_image": "", "replicas": ""})
	if _, err := os.Stat(filepath.Join(d.dir, result.FileEngineLog)); err == nil {
		t.Error("there is a log of an engine that is not ours")
	}
}

func TestDriverDocker(t *testing.T) {
	docker := dockertest.Get(t)
	d := driveRun(t, []string{"DOCKER_HOST=" + docker.Host}, "--driver", "docker", "--image", docker.Image, "--pull", "never", "--engine", "sim", "--engine-env", "A=1")
	d.identity(t, map[string]string{"engine_image": "^sha256:[0-9a-f]{64}$", "engine_args": `"sim",.*"--port","8000"`, "engine_env.A": "^1$", "replicas": ""})
	d.logged(t, "serving model")
	if d.doc.Engine.Driver != "docker" {
		t.Errorf("driver %q", d.doc.Engine.Driver)
	}
	d.containersGone(t, docker)
}

const replicasOfTests = `
services:
  engine:
    image: ${ENGINE}
    command: [sim, --host, 0.0.0.0, --port, "8000"]
    scale: 2
  router:
    image: ${ROUTER}
    command: [--backends, "engine:8000"]
`

func TestDriverCompose(t *testing.T) {
	docker := dockertest.Get(t)
	file := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(file, []byte(replicasOfTests), 0o644); err != nil {
		t.Fatal(err)
	}
	d := driveRun(t, append(composeOfTests(t), "DOCKER_HOST="+docker.Host), "--driver", "compose", "--compose-file", file,
		"--compose-service", "router:8000", "--compose-metrics", "engine:8000", "--x-session-id",
		"--engine-env", "ENGINE="+docker.Image, "--engine-env", "ROUTER="+docker.Build(t, routerOfTests))
	d.identity(t, map[string]string{
		"engine_image": "engine=sha256:[0-9a-f]{64} router=sha256:", "engine_args": "engine×2", "engine_env.ENGINE": "agentx-test", "replicas": "^2$",
		"session_routing": "X-Session-ID",
	})
	d.logged(t, "engine-1 | serving model", "engine-2 | serving model", "routing to 2 servers")
	if d.doc.Engine.Driver != "compose" {
		t.Errorf("driver %q", d.doc.Engine.Driver)
	}
	d.containersGone(t, docker)
}

// composeOfTests is the environment in which docker compose is found: as it is
// installed, else as "make compose" built it.
func composeOfTests(t *testing.T) (env []string) {
	t.Helper()
	home, _ := os.UserHomeDir()
	if exec.Command("docker", "compose", "version").Run() == nil {
		return []string{"DOCKER_CONFIG=" + filepath.Join(home, ".docker")}
	}
	built, _ := filepath.Glob("../../.bin/docker-compose-*")
	if len(built) == 0 {
		if os.Getenv("CI") == "" {
			t.Skip("no docker compose: run 'make compose'")
		}
		t.Fatal("no docker compose")
	}
	program, err := filepath.Abs(built[len(built)-1])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "docker-compose")); err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")}
}
