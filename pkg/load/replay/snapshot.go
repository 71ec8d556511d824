package replay

import (
	"slices"

	"github.com/org/agentx-action/pkg/load/numpy"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// enter starts a lane's first tree in the middle of its trace (spec/replay.md §4.3).
func (r *run) enter(l int) error {
	sc, err := r.draw(l)
	if err != nil {
		return err
	}
	p := r.newPlay(l, sc)
	t := sc.tree
	if r.cfg.StartMaxRatio > 0 {
		p.originS = numpy.TStar(r.cfg.Seed, sc.trace.ID, l, t.FirstS, t.LastS, r.cfg.StartMinRatio, r.cfg.StartMaxRatio)
	}
	if p.snapshot(p.originS) == 0 {
		p.split(r.cfg.StartMinRatio)
	}
	if !p.atStart() {
		p.report.EnteredAtS = p.originS
	}
	return nil
}

// snapshot sets every stream to its first turn at or after tS, as if all before
// had been played, and returns how many streams have turns to go.
func (p *play) snapshot(tS float64) (live int) {
	p.originS = tS
	for _, s := range p.streams {
		s.next = slices.IndexFunc(s.Turns, func(t *tree.Turn) bool { return t.StartS >= tS })
		if s.next < 0 {
			s.next = len(s.Turns)
		}
	}
	root := p.streams[0]
	for i, s := range p.streams {
		switch b := s.Branch; {
		case s.next == len(s.Turns):
			s.state = finished
		case i == 0 || b.StartS <= tS || tS >= b.Spawn.StartS && root.next > b.Spawn.Index:
			p.open(s)
			live++
		default:
			s.state, s.next = unspawned, 0
		}
	}
	return live
}

// split enters a tree that t* leaves without a playable turn by turn index instead.
func (p *play) split(ratio float64) {
	turns := p.streams[0].Turns
	k := max(0, min(int(ratio*float64(len(turns))), len(turns)-2))
	p.snapshot(turns[k].StartS)
}
