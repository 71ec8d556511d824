package replay

import "github.com/org/agentx-action/pkg/result/record"

// fire sends every turn whose time has come.
func (r *run) fire(now, deadline record.Stamp) {
	if r.phase == draining {
		return
	}
	for {
		r.applyCaps(now)
		p := r.agenda.next()
		if p == nil {
			return
		}
		due := r.agenda.due(p)
		if due > now || deadline.Seen() && due >= deadline {
			return
		}
		r.ripe(p, r.agenda.pop(p), due, now)
	}
}

// ripe sends a turn that is due, or holds it until gates and children let it go.
func (r *run) ripe(p *play, s *stream, due, now record.Stamp) {
	s.due = due
	if r.phase == primers {
		r.issue(p, s, due, record.KindPrimer)
		return
	}
	if p.free(s.turn()) {
		r.dispatch(p, s, due)
		return
	}
	s.state = waiting
	p.held = append(p.held, s)
	p.capFloor, r.capFloor = now, now
	p.seeJoin(s, due)
}

// dispatch sends a turn that nothing holds any more since ready.
func (r *run) dispatch(p *play, s *stream, ready record.Stamp) {
	switch lane := r.lanes[p.lane]; {
	case r.phase == profiling:
		r.issue(p, s, ready, record.KindTurn)
	case r.phase == pressure && (r.cfg.WarmupPerLane == 0 || lane.used < r.cfg.WarmupPerLane):
		lane.used++
		r.issue(p, s, ready, record.KindPressure)
	default: // the next step goes on with it
		s.idle()
		return
	}
	for _, b := range s.turn().SpawnOnIssue {
		r.spawn(p, b, ready)
	}
}

// release sends the held turns that may go now.
func (r *run) release(p *play, at record.Stamp) {
	held := p.held
	p.held = p.held[:0]
	for _, s := range held {
		switch ready := max(at, s.due); {
		case p.free(s.turn()):
			r.dispatch(p, s, ready)
		default:
			p.seeJoin(s, ready)
			p.held = append(p.held, s)
		}
	}
}
