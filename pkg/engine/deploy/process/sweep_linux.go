package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// sweepGrace is how long a leftover has between TERM and KILL.
const sweepGrace = 2 * time.Second

// Sweep ends the engines whose owner is gone: those of the state folder, and
// those that only their mark tells of, because they were started with another
// state folder. Where the owner can't be judged from here, nothing is touched.
func (d *Driver) Sweep(ctx context.Context) ([]string, error) {
	dir, err := d.stateDir()
	if err != nil {
		return nil, err
	}
	left := map[string]state{}
	for _, p := range everyProcess() {
		if name, owner := marks(p.pid); nameOfOurs.MatchString(name) && orphaned(owner) {
			left[name] = state{Name: name, Owner: owner, Tmp: cmp.Or(left[name].Tmp, ownTmp(variables(p.pid, "TMPDIR")[0]))}
		}
	}
	for _, s := range states(dir) {
		if orphaned(s.Owner) {
			left[s.Name] = s
		}
	}
	var taken []string
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(left)) {
		line, err := left[name].sweep(ctx, dir)
		if err != nil {
			failed = append(failed, fmt.Errorf("engine %s: %w", name, err))
		} else {
			taken = append(taken, line)
		}
	}
	return taken, errors.Join(failed...)
}

// orphaned tells whether an owner is known to be gone.
func orphaned(owner string) bool {
	o, err := deploy.ParseOwner(owner)
	if err != nil {
		return false
	}
	alive, known := o.Alive()
	return known && !alive
}

func (s state) sweep(ctx context.Context, dir string) (string, error) {
	leader := proc{pid: s.PID, start: s.Start}
	owner, err := deploy.ParseOwner(s.Owner)
	if err != nil {
		return "", err
	}
	if owner.Boot != deploy.Self().Boot {
		leader = proc{} // its ids mean nothing any more
	}
	ended, err := newFamily(s.Name, leader).end(ctx, sweepGrace)
	if err != nil {
		return "", err
	}
	if err := removeTmp(s.Tmp); err != nil {
		return "", fmt.Errorf("its temporary folder can't be removed: %w", err)
	}
	if err := os.Remove(fileName(dir, s.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if len(ended) == 0 {
		return fmt.Sprintf("engine %s of a run that is gone: nothing was left of it", s.Name), nil
	}
	var who []string
	for _, p := range ended {
		who = append(who, p.String())
	}
	slices.Sort(who)
	return fmt.Sprintf("engine %s of a run that is gone: ended %s", s.Name, strings.Join(who, ", ")), nil
}
