//go:build unix

package compose

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group, all of which is killed when its context
// ends: the docker command runs its plugin as a child.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
