package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
)

func TestMain(m *testing.M) { os.Exit(dockertest.Wrap(m).Run()) }

const testdata = "github.com/org/agentx-action/pkg/engine/deploy/docker/testdata/"

// bench is a daemon with the image of testdata/engine.
type bench struct {
	dockertest.Docker
	image string
}

func newBench(t *testing.T) bench {
	t.Helper()
	d := dockertest.Get(t)
	return bench{d, d.Build(t, testdata+"engine")}
}

// driver is one that runs the image, unless the configuration names another.
func (b bench) driver(t *testing.T, c Config) *Driver {
	t.Helper()
	if c.Image == "" {
		c.Image, c.Pull = b.image, PullNever
	}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	return &Driver{config: c, client: b.Client}
}

// start starts an engine and stops it at the end of the test.
func (b bench) start(t *testing.T, c Config) (deploy.Engine, *log) {
	t.Helper()
	var out log
	name := deploy.NewName()
	e, err := b.driver(t, c).Start(t.Context(), name, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := e.Stop(ctx, 0); err != nil {
			t.Error(err)
		}
		b.nothingLeft(t, name)
	})
	return e, &out
}

// nothingLeft fails the test when anything carries a name.
func (b bench) nothingLeft(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ours := client.Filters{}.Add("label", deploy.Label+"="+name)
	containers, err := b.Client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil || len(containers.Items) > 0 {
		t.Errorf("containers left: %+v %v", containers.Items, err)
	}
	networks, err := b.Client.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	if err != nil || len(networks.Items) > 0 {
		t.Errorf("networks left: %+v %v", networks.Items, err)
	}
}

// fails starts an engine that must not start, and gives the error.
func (b bench) fails(t *testing.T, d *Driver, want ...string) {
	t.Helper()
	name := deploy.NewName()
	e, err := d.Start(t.Context(), name, io.Discard)
	if err == nil {
		_ = e.Stop(context.Background(), 0)
		t.Fatal("it started")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in the error: %v", w, err)
		}
	}
	b.nothingLeft(t, name)
}

// answer is what a page says, as soon as it answers.
func answer(t *testing.T, url string) string {
	t.Helper()
	for range 200 {
		res, err := http.Get(url)
		if err == nil {
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not answer", url)
	return ""
}

// wait waits for the end of an engine.
func wait(t *testing.T, e deploy.Engine) error {
	t.Helper()
	select {
	case <-e.Exited():
		return e.Err()
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
		return nil
	}
}

// log is the output of an engine.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
