package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// family is what belongs to one engine. It remembers what it saw.
type family struct {
	name string
	// leader's session is evidence only as long as its id can't have been given
	// again: see members.
	leader proc
	known  map[int]string // id → start
}

func newFamily(name string, leader proc) *family {
	return &family{name: name, leader: leader, known: map[int]string{}}
}

// members are the living processes of the family: those seen before, those of the
// leader's session while that leader, or its zombie, is there, those with the
// mark, and all children of those. Those of them that ended and were left to us,
// as the first process of a container is, it reaps.
func (f *family) members() []proc {
	all := everyProcess()
	leads := f.leader.pid > 0 && look(f.leader.pid).start == f.leader.start && f.leader.start != ""
	ours := map[int]bool{}
	for _, p := range all {
		switch {
		case f.known[p.pid] == p.start:
		case leads && (p.session == f.leader.pid || p.pid == f.leader.pid):
		case f.marked(p):
		default:
			continue
		}
		ours[p.pid] = true
	}
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if !ours[p.pid] && ours[p.parent] {
				ours[p.pid], grew = true, true
			}
		}
	}
	var living []proc
	for _, p := range all {
		if !ours[p.pid] {
			continue
		}
		f.known[p.pid] = p.start
		switch {
		case !p.gone():
			living = append(living, p)
		case p.pid != f.leader.pid: // that one's end is waited for
			p.reap()
		}
	}
	return living
}

func (f *family) marked(p proc) bool {
	if p.gone() {
		return false
	}
	engine, _ := marks(p.pid)
	return engine == f.name
}

// end takes the family down: TERM, after grace KILL, until none is left. It
// returns at the end of ctx at the latest, with who is left.
func (f *family) end(ctx context.Context, grace time.Duration) (ended []proc, err error) {
	if end, ok := ctx.Deadline(); ok {
		grace = min(grace, time.Until(end)*3/4) // KILL needs time as well
	}
	seen := map[int]proc{}
	asked := map[int]bool{}
	patience := time.Now().Add(grace)
	for pause := 5 * time.Millisecond; ; pause = min(pause*2, 100*time.Millisecond) {
		living := f.members()
		for _, p := range living {
			seen[p.pid] = p
		}
		if len(living) == 0 {
			break
		}
		sig := unix.SIGTERM
		if time.Now().After(patience) || ctx.Err() != nil {
			sig = unix.SIGKILL
		}
		var denied []error
		for _, p := range living {
			if sig == unix.SIGTERM && asked[p.pid] {
				continue
			}
			asked[p.pid] = true
			if err := p.signal(sig); err != nil {
				denied = append(denied, fmt.Errorf("process %v: %w", p, err))
			}
		}
		if ctx.Err() != nil || errors.Is(errors.Join(denied...), os.ErrPermission) && sig == unix.SIGKILL {
			return nil, f.left(denied)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	for _, p := range seen {
		p.reap()
		ended = append(ended, p)
	}
	return ended, nil
}

// left says who is still there after all.
func (f *family) left(denied []error) error {
	time.Sleep(10 * time.Millisecond) // the last KILL takes a moment
	var still []string
	for _, p := range f.members() {
		still = append(still, fmt.Sprintf("%v in state %c", p, p.state))
	}
	if len(still) == 0 {
		return nil
	}
	return errors.Join(append([]error{fmt.Errorf("still running: %s", strings.Join(still, ", "))}, denied...)...)
}
