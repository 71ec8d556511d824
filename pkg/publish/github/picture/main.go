// Command picture prints the comment of a run as Markdown, for the picture in the
// README, or makes a screenshot of it small: .ci/comment-picture does both.
//
//	go run ./pkg/publish/github/picture FOLDER COMPARISON
//	go run ./pkg/publish/github/picture SCREENSHOT
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/publish/github"
)

func main() {
	var err error
	switch len(os.Args) {
	case 2:
		err = shrink(os.Args[1])
	case 3:
		err = show(os.Args[1], os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: picture FOLDER COMPARISON, or picture SCREENSHOT")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func show(folder, comparison string) error {
	var c github.Content
	if err := read(filepath.Join(folder, "result.json"), &c.Head); err != nil {
		return err
	}
	if err := read(comparison, &c.Comparison); err != nil {
		return err
	}
	c.Provenance = github.Provenance{
		SHA: "4f2c1d9e8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e", BaseSHA: "0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e",
		Runner: "embedded engine, no GPU", RunURL: "https://github.com/org/engine/actions/runs/1/attempts/1",
	}
	plan, err := github.Plan(github.Options{Repository: "org/engine", Workflow: "benchmark", Cell: "demo"}, c)
	if err != nil {
		return err
	}
	_, err = fmt.Print(plan.Body)
	return err
}

func read[T any](path string, into **T) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	*into = new(T)
	if err := json.Unmarshal(data, *into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
