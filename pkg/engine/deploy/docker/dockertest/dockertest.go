package dockertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Variable says, where it isn't empty, why no daemon can be had here; tests that
// need one are then skipped, with CI set too.
const Variable = "AGENTX_TEST_NO_DOCKER"

// AgentX is the package of the program.
const AgentX = "github.com/org/agentx-action/cmd/agentx"

// Docker is a daemon that answers.
type Docker struct {
	// Client of the daemon.
	Client *client.Client
	// Host is its address, as DOCKER_HOST takes it.
	Host string
	// Image of the agentx binary, FROM scratch, with it as entry point.
	Image string
}

// M is what testing.M does.
type M interface{ Run() int }

// Wrap gives an M that takes away, after the tests, what they were given here.
func Wrap(m M) M { return wrapped{m} }

type wrapped struct{ M }

func (w wrapped) Run() int {
	one.wrapped = true
	code := w.M.Run()
	return max(code, one.close())
}

// one is what the tests of this process share.
var one shared

type shared struct {
	wrapped bool

	start  sync.Once
	docker Docker
	err    error

	holding sync.Mutex // guards the next two
	holders int        // tests that were given the daemon and run
	unlock  func() error

	mu    sync.Mutex     // guards the rest
	undo  []func() error // run from the last to the first
	built map[string]string
}

// Get is a daemon with the program's image on it, which no test of another package
// uses until this one has ended: sweeping takes whatever has no owner, and tests
// make such things. It skips the test, or fails it with CI set, where no daemon can
// be had.
func Get(tb testing.TB) Docker {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts containers: not with -short")
	}
	if why := os.Getenv(Variable); why != "" {
		tb.Skip("no Docker daemon: " + why)
	}
	if !one.wrapped {
		tb.Fatal("TestMain must run the tests through dockertest.Wrap")
	}
	one.start.Do(func() { one.docker, one.err = one.find() })
	if one.err != nil {
		if os.Getenv("CI") == "" {
			tb.Skip("no Docker daemon: ", one.err)
		}
		tb.Fatal("no Docker daemon: ", one.err)
	}
	d := one.docker
	d.Image = d.Build(tb, AgentX)
	if err := one.hold(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := one.letGo(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// hold keeps tests of other packages off the daemon.
func (s *shared) hold() (err error) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.holders == 0 {
		name := fmt.Sprintf("agentx-docker-test-%d.lock", os.Getuid())
		if s.unlock, err = lock(filepath.Join(os.TempDir(), name)); err != nil {
			return err
		}
	}
	s.holders++
	return nil
}

func (s *shared) letGo() error {
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.holders--; s.holders > 0 {
		return nil
	}
	return s.unlock()
}

// find takes a daemon that is there, or starts one.
func (s *shared) find() (Docker, error) {
	d, err := connect(os.Getenv("DOCKER_HOST"))
	if err != nil && os.Getenv("DOCKER_HOST") != "" {
		return d, err // a daemon that was named is wanted, no other
	}
	if err != nil {
		host, stop, failed := startDaemon()
		if failed != nil {
			return d, errors.Join(err, failed)
		}
		s.after(stop)
		if d, err = connect(host); err != nil {
			return d, err
		}
	}
	s.after(d.Client.Close)
	return d, removeLeftImages(d.Client)
}

// connect opens a client and waits for an answer; "" is the default socket.
func connect(host string) (Docker, error) {
	opts := []client.Opt{client.FromEnv}
	if host != "" {
		opts = append(opts, client.WithHost(host))
	}
	c, err := client.New(opts...)
	if err != nil {
		return Docker{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		_ = c.Close()
		return Docker{}, err
	}
	return Docker{Client: c, Host: c.DaemonHost()}, nil
}

func (s *shared) after(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undo = append(s.undo, f)
}

// close takes everything away and gives the exit code.
func (s *shared) close() (code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.undo) - 1; i >= 0; i-- {
		if err := s.undo[i](); err != nil {
			fmt.Fprintln(os.Stderr, "dockertest:", err)
			code = 1
		}
	}
	s.undo = nil
	return code
}
