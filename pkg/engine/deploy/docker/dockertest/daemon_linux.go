package dockertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
// another package's tests to end; two would share containerd's state and the names
// of bridges.
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
	lock, err := os.OpenFile(daemonLock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		_ = lock.Close()
		return "", nil, err
	}
	d, err := runDaemon(program)
	if err != nil {
		_ = lock.Close()
		return "", nil, err
	}
	return d.host, func() error {
		defer lock.Close()
		return d.stop()
	}, nil
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
		_ = os.RemoveAll(folder)
	}
	folder, err := os.MkdirTemp(filepath.Split(daemonFolder))
	if err != nil {
		return nil, err
	}
	d := &daemon{folder: folder, host: "unix://" + folder + "/s", ended: make(chan struct{})}
	d.process = exec.Command(program, "-H", d.host,
		"--data-root", folder+"/data", "--exec-root", folder+"/exec", "--pidfile", folder+"/pid",
		"--iptables=false", "--ip6tables=false")
	if _, err := os.Stat("/sys/class/net/docker0"); err != nil {
		// Else a bridge would be left here. Where there is one it is another
		// daemon's, and this flag would remove it.
		d.process.Args = append(d.process.Args, "--bridge=none")
	}
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
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	for range 300 {
		if c, err := connect(d.host); err == nil {
			return d, c.Client.Close()
		}
		select {
		case <-d.ended:
			err := fmt.Errorf("dockerd ended at once: %s", lastLines(d.log.Bytes()))
			return nil, errors.Join(err, os.RemoveAll(folder))
		case <-time.After(100 * time.Millisecond):
		}
	}
	_ = d.stop()
	return nil, fmt.Errorf("dockerd does not answer after 30 s: %s", lastLines(d.log.Bytes()))
}

func (d *daemon) stop() error {
	_ = d.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(30 * time.Second):
		_ = syscall.Kill(-d.process.Process.Pid, syscall.SIGKILL)
		<-d.ended
	}
	return os.RemoveAll(d.folder)
}

func lastLines(log []byte) []byte {
	const keep = 2000
	return bytes.TrimSpace(log[max(0, len(log)-keep):])
}
