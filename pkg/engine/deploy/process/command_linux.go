package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func (d *Driver) command(port int, name, owner, tmp string) (*exec.Cmd, error) {
	args := allWithPort(d.Command, port)
	env := envWithPort(d.Env, port)
	for _, v := range env {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.ContainsRune(v.Value, 0) {
			return nil, fmt.Errorf("environment %q: no such name or value is possible", v.Name)
		}
	}
	path, err := find(args[0], pathOf(env))
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(d.Dir); d.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("working directory %s: no such folder", d.Dir)
	}
	return &exec.Cmd{
		Path: path, Args: args, Dir: d.Dir,
		Env: environment(os.Environ(), tmpEnv(env, tmp), name, owner),
		SysProcAttr: &unix.SysProcAttr{
			Setsid:    true, // a group of its own, and no terminal
			Pdeathsig: unix.SIGTERM,
		},
	}, nil
}

// find looks for a command as a shell would.
func find(command, path string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil // relative to Dir; starting it will tell
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, command)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %q is not in PATH: install the engine, activate its environment, or give the full path (PATH is %s)", command, path)
}

// how a command ended, in words.
func how(err error, state *os.ProcessState) error {
	if state == nil {
		return err
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		return errors.New(state.String())
	case status.Signaled() && status.Signal() == unix.SIGKILL:
		return errors.New("killed by signal 9: by somebody, or by the kernel because memory ran out (dmesg tells)")
	case status.Signaled():
		return fmt.Errorf("killed by signal %d (%v)", int(status.Signal()), status.Signal())
	}
	return fmt.Errorf("exit status %d", status.ExitStatus())
}
