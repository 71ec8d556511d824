package compose

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
)

const router = "github.com/org/agentx-action/pkg/engine/deploy/compose/testdata/router"

// written is a log that can be read while it is written.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

const (
	key   = "key-that-nobody-may-see"
	token = "hf_written_in_the_file"
)

// replicas is the project of two replicas behind a router.
func replicas(t *testing.T, d dockertest.Docker) *Driver {
	t.Helper()
	kept := deploy.NewName() + "-kept"
	t.Cleanup(func() { _, _ = d.Client.VolumeRemove(context.Background(), kept, client.VolumeRemoveOptions{}) })
	return &Driver{
		Files: []string{"testdata/compose.yaml"},
		Env: []deploy.Var{
			{Name: "ENGINE", Value: d.Image}, {Name: "ROUTER", Value: d.Build(t, router)},
			{Name: "KEPT", Value: kept}, {Name: "KEY", Value: key, Secret: true},
		},
		Endpoint: Port{"router", 8000}, Metrics: []Port{{"engine", 8000}},
	}
}

func start(t *testing.T, d *Driver, logs io.Writer) deploy.Engine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := d.Start(ctx, deploy.NewName(), logs)
	if err != nil {
		t.Fatalf("%v\n%s", err, logs)
	}
	t.Cleanup(func() { stop(t, e) })
	return e
}

func stop(t *testing.T, e deploy.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Stop(ctx, time.Second); err != nil {
		t.Error(err)
	}
}

// nothingLeft wants nothing of ours on the daemon.
func nothingLeft(t *testing.T, name string) {
	t.Helper()
	d, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	l, err := d.list(t.Context(), deploy.Label+"="+name)
	if err != nil || !l.empty() {
		t.Errorf("left of %s: %q, %v", name, l.names(), err)
	}
	// Nor what docker compose made without our mark.
	l, err = d.list(t.Context(), "com.docker.compose.project="+name)
	for _, v := range l.volumes {
		if !strings.HasSuffix(v.name, "-kept") {
			t.Errorf("left of %s: volume %s", name, v.name)
		}
	}
	if err != nil || len(l.containers)+len(l.networks) > 0 {
		t.Errorf("left of %s: %q, %v", name, l.names(), err)
	}
}

// patient does not wait for ever for what hangs.
var patient = &http.Client{Timeout: 10 * time.Second}

// ask sends a completion, and says how it went.
func ask(t *testing.T, base, session string) error {
	t.Helper()
	body := `{"model":"sim","max_tokens":2,"messages":[{"role":"user","content":"hello"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-Session-ID", session)
	res, err := patient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return err
}

// await asks until there is an answer: Start does not wait for that.
func await(t *testing.T, base string) {
	t.Helper()
	var err error
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if err = ask(t, base, ""); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func TestReplicasBehindRouter(t *testing.T) {
	docker := withCompose(t)
	d := replicas(t, docker)
	var log written
	e := start(t, d, &log)
	name := e.(*engine).name
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	await(t, e.URL())

	pages := e.MetricsURLs()
	if len(pages) != 2 || pages[0] == pages[1] {
		t.Fatalf("metrics pages %q", pages)
	}
	for _, page := range pages {
		await(t, strings.TrimSuffix(page, "/metrics"))
	}
	served := func() (n [2]int) {
		for i, page := range pages {
			n[i] = requests(t, page)
		}
		return n
	}
	before := served()
	for range 6 {
		if err := ask(t, e.URL(), "one session"); err != nil {
			t.Fatal(err)
		}
	}
	after := served()
	if a, b := after[0]-before[0], after[1]-before[1]; a+b != 6 || a != 0 && b != 0 {
		t.Errorf("of one session %d requests went to one replica and %d to the other", a, b)
	}
	checkFacts(t, e.Facts(), docker)

	stop(t, e)
	stop(t, e) // again is no error
	<-e.Exited()
	nothingLeft(t, name)
	for _, page := range append(pages, e.URL()) {
		u, _ := url.Parse(page)
		if c, err := net.DialTimeout("tcp", u.Host, time.Second); err == nil {
			_ = c.Close()
			t.Errorf("%s still answers", u.Host)
		}
	}
	checkLog(t, log.String())
	kept := d.Env[2].Value
	if _, err := docker.Client.VolumeInspect(t.Context(), kept, client.VolumeInspectOptions{}); err != nil {
		t.Errorf("the volume with a name of its own is gone: %v", err)
	}
}

// requests is how many the engine of a page has finished.
func requests(t *testing.T, page string) int {
	t.Helper()
	res, err := patient.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "vllm:request_success_total{") && strings.Contains(line, `"length"`) {
			fields := strings.Fields(line)
			if _, err := fmt.Sscan(fields[len(fields)-1], &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 0 {
		t.Fatalf("%s has no count of requests:\n%s", page, text)
	}
	return n
}

func checkFacts(t *testing.T, f deploy.Facts, docker dockertest.Docker) {
	t.Helper()
	image, err := docker.Client.ImageInspect(t.Context(), docker.Image)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.Image, "engine="+image.ID+" prepare="+image.ID+" router=sha256:") {
		t.Errorf("image %q", f.Image)
	}
	f.Image, f.Env["ROUTER"], f.Env["KEPT"] = "", "", ""
	want := deploy.Facts{
		Driver: "compose", Replicas: 2,
		Args: []string{
			"engine×2: /agentx sim --host 0.0.0.0 --port 8000 --api-key ***", "prepare: /agentx --help",
			"router: /router --backends engine:8000",
		},
		Env: map[string]string{
			"ENGINE": docker.Image, "ROUTER": "", "KEPT": "", "KEY": "***",
			"engine.PLAIN": "none", "engine.HF_TOKEN": "***",
		},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

func checkLog(t *testing.T, log string) {
	t.Helper()
	for _, want := range []string{"compose | ", "engine-1 | serving model", "engine-2 | serving model", "router-1 | ", "routing to 2 servers"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	for _, secret := range []string{key, token} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

func TestServiceDies(t *testing.T) {
	docker := withCompose(t)
	var log written
	e := start(t, replicas(t, docker), &log)
	await(t, e.URL())
	select {
	case <-e.Exited():
		t.Fatal("it ended: ", e.Err())
	default:
	}
	name := e.(*engine).name
	if _, err := docker.Client.ContainerKill(t.Context(), name+"-engine-2", client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-e.Exited():
	case <-time.After(20 * time.Second):
		t.Fatal("nobody noticed")
	}
	if err := e.Err(); err == nil || err.Error() != "service engine ("+name+"-engine-2) ended with exit status 137" {
		t.Error(err)
	}
	stop(t, e)
	nothingLeft(t, name)
}

func TestTwoAtOnce(t *testing.T) {
	docker := withCompose(t)
	one, two := start(t, replicas(t, docker), &written{}), start(t, replicas(t, docker), &written{})
	await(t, one.URL())
	await(t, two.URL())
	stop(t, one)
	if err := ask(t, two.URL(), ""); err != nil {
		t.Error(err)
	}
	select {
	case <-two.Exited():
		t.Error("the other one ended: ", two.Err())
	default:
	}
}

func TestHostNetwork(t *testing.T) {
	docker := withCompose(t)
	port := freePort(t)
	d := &Driver{
		Files: []string{"testdata/host.yaml"}, Endpoint: Port{"engine", port},
		Env: []deploy.Var{{Name: "ENGINE", Value: docker.Image}, {Name: "PORT", Value: fmt.Sprint(port)}},
	}
	e := start(t, d, &written{})
	await(t, e.URL())
	if len(e.MetricsURLs()) != 0 || e.Facts().Replicas != 0 {
		t.Errorf("metrics pages %q, %d replicas", e.MetricsURLs(), e.Facts().Replicas)
	}
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}
