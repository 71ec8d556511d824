package replay

import (
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// applyCaps shortens idle time that is over its cap: of the whole system by
// moving all trees earlier by the same amount, of one tree by moving that one
// (spec/replay.md §4.7, §4.8). Neither can reorder the turns of a tree.
func (r *run) applyCaps(now record.Stamp) {
	if r.phase != profiling {
		return
	}
	if limit := r.cfg.TreeIdleCap; limit > 0 {
		for _, l := range r.lanes { // not the agenda: a jump reorders that
			if p := l.play; p != nil && p.inFlight == 0 && len(p.timers) > 0 {
				r.capTree(p, max(p.idleSince.Add(limit), p.capFloor), now)
			}
		}
	}
	p := r.agenda.next()
	if limit := r.cfg.SystemIdleCap; limit > 0 && r.inFlight == 0 && p != nil {
		at := max(r.idleSince.Add(limit), r.capFloor)
		if jump := time.Duration(r.agenda.due(p) - at); at <= now && jump > 0 {
			r.agenda.skip += jump
			r.out.Skips.SystemJumps++
			r.out.Skips.System += jump
		}
	}
}

// capTree moves a tree's next timer to at, when that is over and the timer is later.
func (r *run) capTree(p *play, at, now record.Stamp) {
	jump := time.Duration(r.agenda.due(p) - at)
	if at > now || jump <= 0 {
		return
	}
	p.skip += jump
	r.out.Skips.TreeJumps++
	r.out.Skips.Tree += jump
	r.agenda.update(p)
}

// wake is when the scheduler must look again, answers apart.
func (r *run) wake(deadline record.Stamp) record.Stamp {
	at := r.health.Next()
	if deadline.Seen() {
		at = min(at, deadline)
	}
	p := r.agenda.next()
	if p == nil && r.inFlight > 0 && r.patience > 0 {
		at = min(at, r.lastSend.Add(r.patience))
	}
	if p == nil || r.phase == draining {
		return at
	}
	at = min(at, r.agenda.due(p))
	if r.phase != profiling {
		return at
	}
	if limit := r.cfg.SystemIdleCap; limit > 0 && r.inFlight == 0 {
		at = min(at, max(r.idleSince.Add(limit), r.capFloor))
	}
	if limit := r.cfg.TreeIdleCap; limit > 0 {
		for _, p := range r.agenda.plays {
			if p.inFlight == 0 {
				at = min(at, max(p.idleSince.Add(limit), p.capFloor))
			}
		}
	}
	return at
}
