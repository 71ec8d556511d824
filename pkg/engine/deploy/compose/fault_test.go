package compose

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
	dockerdriver "github.com/org/agentx-action/pkg/engine/deploy/docker"
	"github.com/org/agentx-action/pkg/engine/deploy/docker/dockertest"
)

// single is a project of one service.
func single(d dockertest.Docker, file, service string) *Driver {
	return &Driver{
		Files: []string{filepath.Join("testdata", file)}, Endpoint: Port{service, 8000},
		Env: []deploy.Var{{Name: "ENGINE", Value: d.Image}, {Name: "PORT", Value: "0"}},
	}
}

func TestRefusals(t *testing.T) {
	docker := withCompose(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct {
		name   string
		driver *Driver
		says   []string
	}{
		{"no file", &Driver{}, []string{"no file"}},
		{"file missing", single(docker, "none.yaml", "engine"), []string{"none.yaml"}},
		{"no endpoint", &Driver{Files: []string{"testdata/dies.yaml"}, Env: single(docker, "", "").Env}, []string{"service:port of prepare, router"}},
		{"no such service", single(docker, "dies.yaml", "engine"), []string{`no service "engine"`, "prepare, router"}},
		{"replicas", single(docker, "replicas.yaml", "engine"), []string{"engine:8000", "2 replicas", "put a router before them"}},
		{"image missing", single(docker, "missing.yaml", "engine"), []string{"docker compose up", "engine"}},
		{"prepare fails", single(docker, "dies.yaml", "router"), []string{"prepare", "exit"}},
		{"port taken", &Driver{
			Files: []string{"testdata/fixed.yaml"}, Endpoint: Port{"engine", 8000},
			Env: []deploy.Var{{Name: "ENGINE", Value: docker.Image}, {Name: "PORT", Value: port}},
		}, []string{port, "in use"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			name := deploy.NewName()
			var log written
			e, err := c.driver.Start(ctx, name, &log)
			if err == nil {
				stop(t, e)
				t.Fatal("it started")
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			nothingLeft(t, name)
			if c.name == "prepare fails" && !strings.Contains(log.String(), "prepare-1 | ") {
				t.Errorf("the log lacks what prepare said:\n%s", log.String())
			}
		})
	}
}

// TestCancelledStart ends the run while docker compose waits for a service.
func TestCancelledStart(t *testing.T) {
	docker := withCompose(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	name := deploy.NewName()
	go func() {
		defer cancel()
		for range 300 {
			l, err := docker.Client.ContainerList(ctx, client.ContainerListOptions{Filters: client.Filters{}.Add("label", deploy.Label+"="+name)})
			if err != nil || len(l.Items) > 0 {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	if _, err := single(docker, "waits.yaml", "router").Start(ctx, name, &written{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	nothingLeft(t, name)
}

func TestStubborn(t *testing.T) {
	docker := withCompose(t)
	e := start(t, single(docker, "stubborn.yaml", "engine"), &written{})
	await(t, e.URL())
	name := e.(*engine).name
	stop(t, e) // a second after the signal it is killed
	nothingLeft(t, name)
}

// TestStopInTime wants a Stop that can't finish to say what is left, and a later
// one to finish.
func TestStopInTime(t *testing.T) {
	docker := withCompose(t)
	e := start(t, single(docker, "stubborn.yaml", "engine"), &written{})
	await(t, e.URL())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := e.Stop(ctx, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "container "+e.(*engine).name+"-engine-1") {
		t.Errorf("the error is %v", err)
	}
	stop(t, e)
	nothingLeft(t, e.(*engine).name)
}

func TestSweep(t *testing.T) {
	docker := withCompose(t)
	gone := deploy.Self()
	gone.Started = "1" // an earlier process with our id
	far := deploy.Self()
	far.Namespace = "pid:[1]" // it can't be told from here
	made := map[string]deploy.Owner{}
	within := map[string]string{} // the owner's container, which is not there
	for _, owner := range []deploy.Owner{gone, deploy.Self(), far, far} {
		name := deploy.NewName()
		labels := map[string]string{deploy.Label: name, deploy.OwnerLabel: owner.String()}
		if len(made) == 3 {
			within[name] = strings.Repeat("0", 64)
			labels[dockerdriver.ContainerLabel] = within[name]
		}
		made[name] = owner
		if _, err := docker.Client.NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Labels: labels}); err != nil {
			t.Fatal(err)
		}
		if _, err := docker.Client.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: name, Labels: labels}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = docker.Client.NetworkRemove(context.Background(), name, client.NetworkRemoveOptions{})
			_, _ = docker.Client.VolumeRemove(context.Background(), name, client.VolumeRemoveOptions{})
		})
	}
	took, err := (&Driver{}).Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, owner := range made {
		swept := strings.Contains(strings.Join(took, "\n"), "network "+name)
		_, err := docker.Client.NetworkInspect(t.Context(), name, client.NetworkInspectOptions{})
		_, err2 := docker.Client.VolumeInspect(t.Context(), name, client.VolumeInspectOptions{})
		if want := owner == gone || within[name] != ""; swept != want || (err != nil) != want || (err2 != nil) != want {
			t.Errorf("of owner %s: swept %v, network %v, volume %v", owner, swept, err, err2)
		}
	}
}

// ownerVariable makes the test program start a project, say its name and wait to be
// killed.
const ownerVariable = "AGENTX_TEST_OWNER_OF"

func own(image string) int {
	name := deploy.NewName()
	d := single(dockertest.Docker{Image: image}, "stubborn.yaml", "engine")
	if _, err := d.Start(context.Background(), name, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(name)
	select {}
}

// TestSweepProject kills an owner whose project runs; the next run takes it away,
// and not before.
func TestSweepProject(t *testing.T) {
	docker := withCompose(t)
	owner := exec.Command(os.Args[0])
	owner.Env, owner.Stderr = append(os.Environ(), ownerVariable+"="+docker.Image), os.Stderr
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	name, err := bufio.NewReader(out).ReadString('\n')
	name = strings.TrimSpace(name)
	sweep := func() string {
		took, err := (&Driver{}).Sweep(t.Context())
		if err != nil {
			t.Error(err)
		}
		return strings.Join(took, " ")
	}
	if took := sweep(); err != nil || strings.Contains(took, name) {
		t.Errorf("swept what is in use: %q, %v", took, err)
	}
	_ = owner.Process.Kill()
	_ = owner.Wait()
	if took := sweep(); !strings.Contains(took, "container "+name+"-engine-1") || !strings.Contains(took, "network "+name) {
		t.Errorf("swept only %q", took)
	}
	nothingLeft(t, name)
}

func TestWithoutCompose(t *testing.T) {
	t.Run("nothing", func(t *testing.T) {
		t.Setenv("PATH", standalone(t, ""))
		_, err := find(t.Context())
		if err == nil || !strings.Contains(err.Error(), "install Docker's compose plugin") || !strings.Contains(err.Error(), "docker-compose is not on the PATH") {
			t.Error(err)
		}
	})
	t.Run("version 1", func(t *testing.T) {
		old := filepath.Join(t.TempDir(), "old")
		if err := os.WriteFile(old, []byte("#!/bin/sh\necho 1.29.2\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", standalone(t, old))
		_, err := find(t.Context())
		if err == nil || !strings.Contains(err.Error(), "docker-compose is 1.29.2") {
			t.Error(err)
		}
	})
	t.Run("no plugin", func(t *testing.T) {
		docker := withCompose(t)
		program := installed(t)
		if program == "" {
			t.Skip("the program of docker compose is not found")
		}
		t.Setenv("PATH", standalone(t, program))
		e := start(t, single(docker, "stubborn.yaml", "engine"), &written{})
		await(t, e.URL())
		stop(t, e)
	})
}
