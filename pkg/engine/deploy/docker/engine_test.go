package docker

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestTheProgramItselfAsAnEngine(t *testing.T) {
	b := newBench(t)
	e, out := b.start(t, Config{
		Image: b.Image, Pull: PullNever,
		Command: []string{"sim", "--host", "0.0.0.0", "--port", "{port}", "--api-key", "s3cret"},
		Env:     []deploy.Var{{Name: "KEY", Value: "s3cret", Secret: true}, {Name: "SEED", Value: "0"}},
	})
	if health := answer(t, e.URL()+"/health"); strings.Contains(health, "404") {
		t.Errorf("/health says %q", health)
	}
	id, err := b.Client.ImageInspect(t.Context(), b.Image)
	if err != nil {
		t.Fatal(err)
	}
	facts := e.Facts()
	if facts.Image != id.ID && !strings.HasPrefix(facts.Image, "agentx-test@sha256:") {
		t.Errorf("image %q, of %q", facts.Image, id.ID)
	}
	facts.Image = ""
	want := deploy.Facts{
		Driver: "docker",
		Args:   []string{"/agentx", "sim", "--host", "0.0.0.0", "--port", "{port}", "--api-key", "***"},
		Env:    map[string]string{"KEY": "***", "SEED": "0"},
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Error(diff)
	}

	if err := e.Stop(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get(e.URL()); err == nil {
		t.Error("it still answers")
	}
	if e.Err() == nil {
		t.Error("it doesn't say how it ended")
	}
	if err := e.Stop(t.Context(), time.Second); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestEndsByItself(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Command: []string{"exit", "7"}}, "exit status 7"},
		{Config{Command: []string{"exit", "0"}}, "exit status 0"},
		{Config{Command: []string{"eat"}, Memory: 64 << 20}, "out of memory: killed by the kernel (killed by signal 9)"},
	} {
		e, out := b.start(t, c.config)
		if err := wait(t, e); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s\n%s", c.config.Command, err, c.want, out)
		}
		if err := e.Stop(t.Context(), time.Minute); err != nil {
			t.Errorf("%q: stopping what ended: %v", c.config.Command, err)
		}
	}
}

func TestLogsAreWhole(t *testing.T) {
	const n = 5000
	b := newBench(t)
	e, out := b.start(t, Config{Command: []string{"lines", strconv.Itoa(n)}})
	if err := wait(t, e); err == nil || err.Error() != "exit status 3" {
		t.Errorf("ended with %v", err)
	}
	for _, stream := range []string{"out", "err"} {
		want := 0
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, stream) {
				continue
			}
			if line != fmt.Sprintln(stream, want) {
				t.Fatalf("line %q in place of %s %d", line, stream, want)
			}
			want++
		}
		if want != n {
			t.Errorf("%d lines of %s, want %d", want, stream, n)
		}
	}
}

func TestADiskThatIsFullStopsNoEngine(t *testing.T) {
	b := newBench(t)
	name := deploy.NewName()
	e, err := b.driver(t, Config{Command: []string{"lines", "100000"}}).Start(t.Context(), name, full{})
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(t, e); err == nil || err.Error() != "exit status 3" {
		t.Errorf("ended with %v", err)
	}
	if err := e.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	b.nothingLeft(t, name)
}

func TestStopTermThenKill(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		command string
		grace   time.Duration
		want    string
	}{
		{"serve", time.Minute, "exit status 0"},
		{"deaf", 100 * time.Millisecond, "killed by signal 9"},
	} {
		e, _ := b.start(t, Config{Command: []string{c.command, "{port}"}})
		answer(t, e.URL())
		if err := e.Stop(t.Context(), c.grace); err != nil {
			t.Errorf("%s: %v", c.command, err)
		}
		if err := wait(t, e); err == nil || err.Error() != c.want {
			t.Errorf("%s: ended with %v, want %s", c.command, err, c.want)
		}
	}
}

func TestStopInAHurryEndsAPatientOne(t *testing.T) {
	b := newBench(t)
	e, _ := b.start(t, Config{Command: []string{"deaf", "{port}"}})
	answer(t, e.URL())
	var group sync.WaitGroup
	for _, grace := range []time.Duration{time.Hour, 0} {
		group.Go(func() {
			if err := e.Stop(t.Context(), grace); err != nil {
				t.Errorf("grace %v: %v", grace, err)
			}
		})
	}
	group.Wait()
}

func TestTwoAtOnce(t *testing.T) {
	b := newBench(t)
	config := Config{Command: []string{"serve", "{port}"}}
	one, _ := b.start(t, config)
	other, _ := b.start(t, config)
	answer(t, one.URL())
	answer(t, other.URL())
	if swept, err := b.driver(t, config).Sweep(t.Context()); err != nil || len(swept) > 0 {
		t.Errorf("swept %q, %v", swept, err)
	}
	if err := one.Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	answer(t, other.URL())
	if err := other.Err(); err != nil {
		t.Errorf("the other ended: %v", err)
	}
}

func TestHostNetwork(t *testing.T) {
	b := newBench(t)
	e, _ := b.start(t, Config{Network: HostNetwork, Command: []string{"serve", "{port}"}})
	if got := answer(t, e.URL()); got != "hello" {
		t.Errorf("answer %q", got)
	}
	_, text, _ := net.SplitHostPort(strings.TrimPrefix(e.URL(), "http://"))
	port, _ := strconv.Atoi(text)
	b.fails(t, b.driver(t, Config{Network: HostNetwork, Port: port, Command: []string{"serve", "{port}"}}), "port "+text+" is taken")
}

func TestSurroundings(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	given := filepath.Join(dir, "given")
	if err := os.WriteFile(given, []byte("from the host"), 0o666); err != nil {
		t.Fatal(err)
	}
	volume := deploy.NewName()
	t.Cleanup(func() {
		if _, err := b.Client.VolumeRemove(context.Background(), volume, client.VolumeRemoveOptions{}); err != nil {
			t.Error(err) // it was to stay
		}
	})
	e, out := b.start(t, Config{
		Entrypoint: []string{"/engine", "say"}, Command: []string{"/given", "/kept/it", "/etc/hosts"},
		WorkDir: "/tmp", Env: []deploy.Var{{Name: "AT", Value: "p{port}"}}, Port: 1234,
		Mounts:     []string{given + ":/given:ro", volume + ":/kept"},
		ExtraHosts: []string{"far:192.0.2.1"},
		Devices:    []string{"/dev/null:/dev/kfd"}, Ulimits: map[string]int64{"nofile": 4321, "memlock": 1 << 16}, ShmSize: 1 << 20,
		CapAdd: []string{"SYS_NICE"}, SecurityOpt: []string{"seccomp=unconfined"}, HostIPC: true, Groups: []string{"44"},
	})
	if err := wait(t, e); err == nil || err.Error() != "exit status 0" {
		t.Errorf("ended with %v", err)
	}
	for _, want := range []string{
		"uid 0 dir /tmp\n", "AT=p1234\n", "192.0.2.1\tfar",
		"/given from the host <nil> open /given: read-only file system",
		"/kept/it  open /kept/it: no such file or directory <nil>\n", // then it was written
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	res, err := b.Client.ContainerInspect(t.Context(), e.(*engine).name, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]int64{}
	for _, l := range res.Container.HostConfig.Ulimits {
		limits[l.Name] = l.Soft
	}
	if diff := cmp.Diff(map[string]int64{"memlock": 1 << 16, "stack": 64 << 20, "nofile": 4321}, limits); diff != "" {
		t.Error(diff)
	}
}

func TestRunShort(t *testing.T) {
	b := newBench(t)
	d := b.driver(t, Config{})
	out, err := d.RunShort(t.Context(), "", []string{"/engine", "say"}, "")
	if err != nil || !strings.HasPrefix(out, "uid 0 dir /\n") {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := d.RunShort(t.Context(), b.image, []string{"/engine", "lines", "3"}, ""); err == nil || !strings.Contains(err.Error(), "exit status 3: err 0\nerr 1") {
		t.Errorf("got %v", err)
	}
	if _, err := d.RunShort(t.Context(), "", []string{"nvidia-smi"}, ""); err == nil || !strings.Contains(err.Error(), "nvidia-smi") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := d.RunShort(ctx, "", []string{"/engine", "deaf", "1"}, ""); err == nil {
		t.Error("it ended")
	}
	left, err := b.Client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("ancestor", b.image)})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("left: %+v, %v", left.Items, err)
	}
}
