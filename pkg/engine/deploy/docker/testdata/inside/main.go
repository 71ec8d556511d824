// Command inside uses the docker driver from inside a container that holds nothing
// but the daemon's socket, as a GitHub action does. Its arguments are the engine's
// image, its network, and a file of ours that the engine is given.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/docker"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(ctx context.Context, image, network, file string) (err error) {
	if err := os.WriteFile(file, []byte("ours"), 0o644); err != nil {
		return err
	}
	config := docker.Config{
		Image: image, Pull: docker.PullNever, Network: network, Command: []string{"serve", "{port}"},
		Mounts: []string{file + ":/given:ro"},
	}
	d, err := docker.New(config)
	if err != nil {
		return err
	}
	swept, err := d.Sweep(ctx)
	fmt.Println("swept", swept, err)

	config.Mounts = []string{"/nowhere:/given"}
	stray, err := docker.New(config)
	if err != nil {
		return err
	}
	if _, err := stray.Start(ctx, deploy.NewName(), os.Stdout); err == nil || !strings.Contains(err.Error(), "lies in no mount") {
		return fmt.Errorf("a mount of a path that the host can't know: %w", err)
	}

	e, err := d.Start(ctx, deploy.NewName(), os.Stdout)
	if err != nil {
		return err
	}
	defer func() {
		down, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if failed := e.Stop(down, 5*time.Second); failed != nil {
			err = failed
		}
		fmt.Println("stopped:", e.Err())
	}()
	fmt.Println("at", e.URL())
	for ctx.Err() == nil {
		res, failed := http.Get(e.URL())
		if err = failed; err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		text, err := io.ReadAll(res.Body)
		fmt.Printf("answer %s %v\n", text, err)
		return res.Body.Close()
	}
	return err
}
