package dockertest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where daemons of tests live: sockets have short names, and TMPDIR may be long.
const (
	daemonLock   = "/tmp/agentx-dockerd.lock"
	daemonFolder = "/tmp/agentx-dockerd-"
)

// startDaemon runs dockerd in a temporary folder. It waits for the daemon of
// another package's tests to end, and refuses beside any other: two daemons take
// the same bridges and firewall rules for theirs.
func startDaemon() (host string, stop func() error, err error) {
	if os.Getuid() != 0 {
		return "", nil, errors.New("dockerd is not started: this isn't root")
	}
	program, err := exec.LookPath("dockerd")
	if err != nil {
		program = "/usr/sbin/dockerd" // not in every PATH
		if _, err := os.Stat(program); err != nil {
			return "", nil, errors.New("dockerd is not installed")
		}
	}
	unlock, err := lock(daemonLock)
	if err != nil {
		return "", nil, err
	}
	if pid := otherDaemon(); pid != "" {
		_ = unlock()
		return "", nil, fmt.Errorf("dockerd is not started: one runs already (process %s); DOCKER_HOST may name it", pid)
	}
	d, err := runDaemon(program)
	if err != nil {
		_ = unlock()
		return "", nil, err
	}
	return d.host, func() error { return errors.Join(d.stop(), unlock()) }, nil
}

// otherDaemon is the process of a dockerd on our network; "" when there is none.
func otherDaemon() (pid string) {
	here, _ := os.Readlink("/proc/self/ns/net")
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		dir := filepath.Dir(name)
		command, _ := os.ReadFile(name)
		there, _ := os.Readlink(dir + "/ns/net")
		if string(command) == "dockerd\n" && there == here {
			return filepath.Base(dir)
		}
	}
	return ""
}

type daemon struct {
	folder, host string
	log          bytes.Buffer
	process      *exec.Cmd
	ended        chan struct{}
}

func runDaemon(program string) (*daemon, error) {
	// Under the lock nobody uses what an earlier one left.
	left, _ := filepath.Glob(daemonFolder + "*")
	for _, folder := range left {
		if err := removeFolder(folder); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(filepath.Split(daemonFolder))
	if err != nil {
		return nil, err
	}
	d := &daemon{folder: folder, host: "unix://" + folder + "/s", ended: make(chan struct{})}
	d.process = exec.Command(program, append(network(), "-H", d.host,
		"--data-root", folder+"/data", "--exec-root", folder+"/exec", "--pidfile", folder+"/pid")...)
	d.process.Stdout, d.process.Stderr = &d.log, &d.log
	// A test binary that is killed takes its daemon along. The signal is sent when
	// the thread ends that started it, so that thread waits here.
	d.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := d.process.Start()
		started <- err
		if err == nil {
			_ = d.process.Wait()
		}
		close(d.ended)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, removeFolder(folder))
	}
	for range 300 {
		if c, err := connect(d.host); err == nil {
			return d, c.Client.Close()
		}
		select {
		case <-d.ended:
			err := fmt.Errorf("dockerd ended at once: %s", lastLines(d.log.Bytes()))
			return nil, errors.Join(err, removeFolder(folder))
		case <-time.After(100 * time.Millisecond):
		}
	}
	stopped := d.stop() // then its log is written
	return nil, errors.Join(fmt.Errorf("dockerd does not answer after 30 s: %s", lastLines(d.log.Bytes())), stopped)
}

// network are the flags with which a daemon leaves the least behind: no bridge and
// no firewall rules, unless an earlier daemon left its own, which then lets nothing
// pass between containers.
func network() (flags []string) {
	if _, err := net.InterfaceByName("docker0"); err != nil {
		flags = append(flags, "--bridge=none")
	}
	rules, _ := exec.Command("iptables", "-S", "FORWARD").Output()
	if !strings.Contains(string(rules), "-P FORWARD DROP") {
		flags = append(flags, "--iptables=false")
	}
	return flags
}

func (d *daemon) stop() error {
	_ = d.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(30 * time.Second):
		_ = syscall.Kill(-d.process.Process.Pid, syscall.SIGKILL)
		<-d.ended
	}
	return removeFolder(d.folder)
}

// removeFolder removes a daemon's folder. It leaves mounts there, of network
// namespaces and of containers that outlived it.
func removeFolder(folder string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var mounted []string
	for line := range strings.Lines(string(text)) {
		if at := strings.Fields(line); len(at) > 4 && strings.HasPrefix(at[4], folder+"/") {
			mounted = append(mounted, at[4])
		}
	}
	for _, at := range slices.Backward(mounted) { // the innermost come last
		_ = unix.Unmount(at, unix.MNT_DETACH)
	}
	return os.RemoveAll(folder)
}

func lastLines(log []byte) []byte {
	const keep = 2000
	return bytes.TrimSpace(log[max(0, len(log)-keep):])
}
