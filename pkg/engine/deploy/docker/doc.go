// Package docker runs an engine in a container, through the Docker Engine API.
//
// In goes a [Config]: an image and how it is started. Out comes a [Driver] for
// package deploy. Each engine has its own name, its own labelled bridge network and
// nothing of anybody else; what it made is removed with it, and what an earlier run
// left is found by its labels.
//
// Where this process runs in a container itself, as a GitHub action does, it joins
// the engine's network and reaches it by name, and mounts are translated to paths
// of the host. Elsewhere the engine's port is published on 127.0.0.1. The daemon
// must run on this machine: another one's ports, paths and processes can't be seen
// from here.
//
// Refused: an image that is not there and may not be pulled, GPUs that the daemon
// can't give, a mount from a path that the host can't know, a host port that is
// taken. The error says what to do.
//
// Named volumes are caches of the user's and stay; anonymous ones go with the
// container.
//
// Source of the rules: spec/decisions.md 32 to 34, spec/inferencex.md §1.5,
// spec/pitfalls.md "Runner".
package docker
