package main

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// plain words need no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellQuote writes words as a shell takes them.
func shellQuote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if !plainWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}

// commandLine is what starts the engine, for a person to read and to type; "" when
// nothing is started by one. Secrets are names of variables.
func (p enginePlan) commandLine() string {
	switch p.Driver {
	case driverProcess:
		return p.processLine()
	case driverDocker:
		return p.dockerLine()
	case driverCompose:
		words := []string{"docker", "compose"}
		for _, f := range p.Compose.Files {
			words = append(words, "-f", f)
		}
		for _, f := range p.Compose.EnvFiles {
			words = append(words, "--env-file", f)
		}
		for _, f := range p.Compose.Profiles {
			words = append(words, "--profile", f)
		}
		return p.withSecrets(shellQuote(append(words, "up")))
	}
	return ""
}

func (p enginePlan) processLine() string {
	return p.withSecrets(shellQuote(deploy.MaskFlags(p.Argv)))
}

// withSecrets puts the environment before a command.
func (p enginePlan) withSecrets(line string) string {
	var words []string
	for _, v := range p.Env {
		if v.Secret {
			words = append(words, v.Name+`="$`+v.Name+`"`)
			continue
		}
		words = append(words, v.Name+"="+shellQuote([]string{v.Value}))
	}
	return strings.Join(append(words, line), " ")
}

func (p enginePlan) dockerLine() string {
	words := []string{"docker", "run", "--rm", "--pull", p.Pull}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	if strings.Contains(p.GPUs, ",") {
		add("--gpus", `"`+p.GPUs+`"`) // the flag itself is read as comma-separated values
	} else {
		add("--gpus", p.GPUs)
	}
	for _, d := range p.Devices {
		add("--device", d)
	}
	for _, g := range p.Groups {
		add("--group-add", g)
	}
	if p.HostIPC {
		add("--ipc", "host")
	} else {
		add("--shm-size", strconv.FormatInt(p.ShmBytes, 10))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Ulimits)) {
		add("--ulimit", name+"="+strconv.FormatInt(p.Ulimits[name], 10))
	}
	for _, c := range p.CapAdd {
		add("--cap-add", c)
	}
	for _, o := range p.SecurityOpt {
		add("--security-opt", o)
	}
	if p.Privileged {
		words = append(words, "--privileged")
	}
	for _, m := range p.Mounts {
		add("-v", m)
	}
	for _, v := range p.Env {
		if v.Secret {
			add("-e", v.Name)
			continue
		}
		add("-e", v.Name+"="+v.Value)
	}
	add("--network", p.Network)
	if p.Network != "host" {
		add("-p", "127.0.0.1:"+strconv.Itoa(p.Port)+":"+strconv.Itoa(p.Port))
	}
	var follow []string
	if len(p.Entrypoint) > 0 {
		add("--entrypoint", p.Entrypoint[0])
		follow = p.Entrypoint[1:]
	}
	words = append(words, p.Image)
	words = append(words, follow...)
	return shellQuote(append(words, deploy.MaskFlags(p.Argv)...))
}
