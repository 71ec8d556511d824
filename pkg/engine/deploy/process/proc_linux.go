package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// proc is one process, as /proc tells. Its id with its start names it for good.
type proc struct {
	pid, parent, session int
	state                byte
	start                string // in ticks since boot
	comm                 string
}

func (p proc) String() string { return fmt.Sprintf("%d (%s)", p.pid, p.comm) }

// gone tells whether it has ended; a zombie holds nothing any more.
func (p proc) gone() bool { return p.state == 'Z' || p.state == 'X' || p.state == 0 }

// look reads one process; it is gone when there is none.
func look(pid int) proc {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{pid: pid}
	}
	return parseStat(pid, string(text))
}

func parseStat(pid int, stat string) proc {
	p := proc{pid: pid}
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')') // a name may hold anything
	if open < 0 || end < open {
		return p
	}
	fields := strings.Fields(stat[end+1:])
	const state, parent, session, start = 0, 1, 3, 19 // fields 3, 4, 6 and 22 of proc(5)
	if len(fields) <= start {
		return p
	}
	p.comm, p.state, p.start = stat[open+1:end], fields[state][0], fields[start]
	p.parent, _ = strconv.Atoi(fields[parent])
	p.session, _ = strconv.Atoi(fields[session])
	return p
}

// everyProcess that /proc shows, but this one and the first.
func everyProcess() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 1 || pid == os.Getpid() {
			continue
		}
		if p := look(pid); p.state != 0 {
			all = append(all, p)
		}
	}
	return all
}

// maxEnviron bounds what is read of an environment; Linux allows 6 MiB.
const maxEnviron = 8 << 20

// marks reads which engine a process belongs to, and whose that is; empty where
// it isn't marked or can't be read.
func marks(pid int) (engine, owner string) {
	found := variables(pid, markEngine, markOwner)
	return found[0], found[1]
}

// variables are those of a process's environment by these names; empty where it has
// none or can't be read.
func variables(pid int, names ...string) []string {
	found := make([]string, len(names))
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return found
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxEnviron))
	for pair := range bytes.SplitSeq(text, []byte{0}) {
		for i, name := range names {
			if v, ok := bytes.CutPrefix(pair, []byte(name+"=")); ok {
				found[i] = string(v)
			}
		}
	}
	return found
}

// signal reaches the process that was seen, and no other that has its id now.
func (p proc) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	} else if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if now := look(p.pid); now.start != p.start || now.gone() {
		return nil
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		err = unix.Kill(p.pid, sig) // a kernel without pidfd
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// reap collects a child of ours that ended.
func (p proc) reap() {
	if now := look(p.pid); now.start == p.start && now.state == 'Z' && now.parent == os.Getpid() {
		_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
	}
}

// portOpen tells whether somebody listens on a TCP port of this machine, in any
// of its addresses, and who, if that can be told.
func portOpen(port int) (open bool, who string) {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			const local, state, inode, listening = 1, 3, 9, "0A"
			if len(fields) <= inode || fields[state] != listening {
				continue
			}
			_, hex, _ := strings.Cut(fields[local], ":")
			if n, err := strconv.ParseInt(hex, 16, 32); err == nil && int(n) == port {
				inodes["socket:["+fields[inode]+"]"] = true
			}
		}
	}
	if len(inodes) == 0 {
		return false, ""
	}
	return true, holder(inodes, append(everyProcess(), look(os.Getpid())))
}

// holder is who among all has one of these open.
func holder(inodes map[string]bool, all []proc) string {
	for _, p := range all {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && inodes[to] {
				return "process " + p.String()
			}
		}
	}
	return "a process of another user or container"
}
