package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/compose"
	"github.com/org/agentx-action/pkg/engine/deploy/docker"
	"github.com/org/agentx-action/pkg/engine/deploy/process"
	"github.com/org/agentx-action/pkg/run"
)

// deployment turns the plan into what a run brings up. The drivers url and sim
// leave it to the run.
func (p enginePlan) deployment(c *console, fresh string) (run.Deploy, error) {
	d := run.Deploy{
		Plan:  deploy.Plan{Load: p.Load, Answer: p.Answer, Grace: p.Grace, NoMetrics: p.NoMetrics},
		Fresh: run.Fresh(fresh), Hurry: os.Getenv("GITHUB_ACTIONS") == "true", Will: c.will.leave,
	}
	var err error
	switch p.Driver {
	case driverProcess:
		d.Driver = &process.Driver{Command: p.Argv, Env: p.Env, Port: p.Port}
	case driverDocker:
		d.Driver, err = p.docker(c.err)
	case driverCompose:
		d.Driver, err = p.Compose.driver(p.Env)
	}
	if err != nil {
		err = &run.UsageError{Err: err}
	}
	return d, err
}

func (p enginePlan) docker(progress io.Writer) (deploy.Driver, error) {
	cfg := docker.Config{
		Image: p.Image, Pull: p.Pull, Entrypoint: p.Entrypoint, Command: p.Argv, Env: p.Env, GPUs: p.GPUs, Devices: p.Devices,
		ShmSize: p.ShmBytes, Network: p.Network, Port: p.Port, Ulimits: map[string]int64{}, Progress: progress,
	}
	for _, m := range p.Mounts {
		text := m.Source + ":" + m.Target
		if m.ReadOnly {
			text += ":ro"
		}
		cfg.Mounts = append(cfg.Mounts, text)
	}
	for _, u := range p.Ulimits {
		cfg.Ulimits[u.Name] = u.Hard
	}
	return docker.New(cfg)
}

func (c composePlan) driver(env []deploy.Var) (deploy.Driver, error) {
	d := &compose.Driver{Files: c.Files, Env: env, Endpoint: compose.Port{Service: c.Service.Service, Port: uint16(c.Service.Port)}}
	for _, m := range c.Metrics {
		if m.Path != "/metrics" && strings.Trim(m.Path, "/") != "" {
			return nil, fmt.Errorf("--compose-metrics %s:%d%s: a page at another path than /metrics is not read", m.Service, m.Port, m.Path)
		}
		d.Metrics = append(d.Metrics, compose.Port{Service: m.Service, Port: uint16(m.Port)})
	}
	return d, nil
}
