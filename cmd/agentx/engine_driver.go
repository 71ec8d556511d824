package main

import (
	"fmt"
	"io"
	"os"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/compose"
	"github.com/org/agentx-action/pkg/engine/deploy/docker"
	"github.com/org/agentx-action/pkg/engine/deploy/preset"
	"github.com/org/agentx-action/pkg/engine/deploy/process"
	"github.com/org/agentx-action/pkg/engine/gpu"
	"github.com/org/agentx-action/pkg/run"
)

// deployment turns the plan into what a run brings up. The drivers url and sim
// leave it to the run.
func (p enginePlan) deployment(c *console, fresh string) (run.Deploy, error) {
	d := run.Deploy{
		Plan:  deploy.Plan{Load: p.Load, Answer: p.Answer, Grace: p.Grace, NoMetrics: p.NoMetrics},
		Fresh: run.Fresh(fresh), Hurry: os.Getenv("GITHUB_ACTIONS") == "true", Will: c.will.leave,
	}
	if gpu.Available() {
		d.Plan.GPUs = gpu.Host{} // it sees all, and who is on them
	}
	if p.Engine == preset.Sim {
		d.Name = preset.Sim
	}
	switch p.Driver {
	case driverProcess:
		d.Others = []run.Sweeper{docker.Leftovers{}}
		d.Driver = &process.Driver{Command: p.Argv, Env: p.Env, Port: p.Port}
	case driverDocker:
		d.Others = []run.Sweeper{&process.Driver{}}
		driver, err := p.docker(c.err)
		if err != nil {
			return d, &run.UsageError{Err: err}
		}
		d.Driver = driver
		if d.Plan.GPUs == nil && p.GPUs != "" {
			d.Plan.GPUs = driver.SMI()
		}
	case driverCompose:
		d.Others = []run.Sweeper{&process.Driver{}}
		d.Driver = p.Compose.driver(p.Env)
	default: // url and sim are no business of ours, or have no GPU
		d.Plan.GPUs = nil
	}
	return d, nil
}

// present tells whether the files that the plan names are there.
func (p enginePlan) present() error {
	for _, name := range p.Compose.Files {
		if _, err := os.Stat(name); err != nil {
			return &run.UsageError{Err: fmt.Errorf("--compose-file: %w", err)}
		}
	}
	return nil
}

func (p enginePlan) docker(progress io.Writer) (*docker.Driver, error) {
	return docker.New(docker.Config{
		Image: p.Image, Pull: p.Pull, Entrypoint: p.Entrypoint, Command: p.Argv, Env: p.Env, GPUs: p.GPUs, Devices: p.Devices, Groups: p.Groups,
		ShmSize: p.ShmBytes, HostIPC: p.HostIPC, Ulimits: p.Ulimits, CapAdd: p.CapAdd, SecurityOpt: p.SecurityOpt, Privileged: p.Privileged,
		Mounts: p.Mounts, Network: p.Network, Port: p.Port, Progress: progress,
	})
}

func (c composePlan) driver(env []deploy.Var) deploy.Driver {
	d := &compose.Driver{Files: c.Files, EnvFiles: c.EnvFiles, Profiles: c.Profiles, Env: env, Endpoint: compose.Port{Service: c.Service.Service, Port: uint16(c.Service.Port)}}
	for _, m := range c.Metrics {
		d.Metrics = append(d.Metrics, compose.Port{Service: m.Service, Port: uint16(m.Port)})
	}
	return d
}
