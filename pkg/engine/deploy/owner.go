package deploy

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// NewName is a name that nobody else has, for what one run starts: agentx-4f1c09ab.
func NewName() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "agentx-" + hex.EncodeToString(b[:])
}

// Label marks containers, networks and volumes of ours; its value is the name of
// the engine they belong to. OwnerLabel tells whose they are, as [Owner] writes it.
const (
	Label      = "org.agentx.engine"
	OwnerLabel = "org.agentx.owner"
)

// Owner is the process that started something. It tells a leftover from what
// another run is using right now.
type Owner struct {
	Boot      string // of the machine
	Namespace string // of process ids, as /proc/self/ns/pid names it
	PID       int
	Started   string // in ticks since boot: a process id is used again, this is not
}

// Self is this process.
func Self() Owner {
	o := Owner{PID: os.Getpid(), Boot: read("/proc/sys/kernel/random/boot_id")}
	o.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	o.Started = started(o.PID)
	return o
}

// String writes the owner as one word.
func (o Owner) String() string {
	return strings.Join([]string{o.Boot, o.Namespace, strconv.Itoa(o.PID), o.Started}, "/")
}

// ParseOwner reads what String wrote.
func ParseOwner(s string) (Owner, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return Owner{}, fmt.Errorf("owner %q: want boot/namespace/pid/start", s)
	}
	pid, err := strconv.Atoi(parts[2])
	if err != nil || pid <= 0 {
		return Owner{}, errors.New("owner " + strconv.Quote(s) + ": no process id")
	}
	return Owner{parts[0], parts[1], pid, parts[3]}, nil
}

// Alive tells whether the owner still runs. known is false where it can't be told
// from here: the owner lives in another container's process ids.
func (o Owner) Alive() (alive, known bool) {
	self := Self()
	switch {
	case o.Boot == "" || o.Boot != self.Boot:
		return false, o.Boot != "" // the machine was started anew
	case o.Namespace != self.Namespace || o.Namespace == "":
		return true, false
	}
	return o.Started != "" && started(o.PID) == o.Started, true
}

// started is when a process began; "" when there is none.
func started(pid int) string {
	stat := read(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:]) // the name before it may hold anything
	const state, start = 0, 19                                      // after the name: fields 3 and 22 of proc(5)
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return fields[start]
}

func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
