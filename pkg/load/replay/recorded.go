package replay

import (
	"time"

	"github.com/org/agentx-action/pkg/workload/tree"
)

// recordedTime is how long a tree takes from turn 0 when every request takes its
// recorded time and delays, spawns, joins and gates hold as in a replay
// (decisions.md 28). delay gives a turn's delay, and childDelay that of a
// branch's stream, in seconds.
func recordedTime(t *tree.Tree, delay func(*tree.Turn) float64, childDelay func(*tree.Branch, *tree.Stream) float64) time.Duration {
	p := &rehearsal{t: t, delay: delay, childDelay: childDelay, next: make([]int, len(t.Streams)), readyS: make([]float64, len(t.Streams)), open: make([]bool, len(t.Streams)), endS: map[*tree.Turn]float64{}}
	p.open[0] = true
	for moved := true; moved; {
		moved = false
		for _, s := range t.Streams {
			for p.open[s.Index] && p.next[s.Index] < len(s.Turns) && p.play(s.Turns[p.next[s.Index]]) {
				moved = true
			}
		}
	}
	return time.Duration(p.lastS * 1e9)
}

type rehearsal struct {
	t          *tree.Tree
	delay      func(*tree.Turn) float64
	childDelay func(*tree.Branch, *tree.Stream) float64
	next       []int
	readyS     []float64
	open       []bool
	endS       map[*tree.Turn]float64
	lastS      float64
}

// play plays a turn if all it waits for has been played.
func (p *rehearsal) play(t *tree.Turn) bool {
	startS := p.readyS[t.Stream.Index]
	for _, g := range t.Gates {
		end, over := p.endS[g]
		if !over {
			return false
		}
		startS = max(startS, end)
	}
	for _, b := range t.Joins {
		for _, s := range b.Streams {
			end, over := p.endS[s.Turns[len(s.Turns)-1]]
			if !over {
				return false
			}
			startS = max(startS, end)
		}
	}
	endS := startS + max(0, t.EndS-t.StartS)
	p.endS[t] = endS
	p.lastS = max(p.lastS, endS)
	p.next[t.Stream.Index]++
	if !t.Last() {
		p.readyS[t.Stream.Index] = endS + p.delay(t.Stream.Turns[t.Index+1])
	}
	p.spawn(t.SpawnOnIssue, startS)
	p.spawn(t.SpawnOnReturn, endS)
	return true
}

func (p *rehearsal) spawn(branches []*tree.Branch, atS float64) {
	for _, b := range branches {
		for _, s := range b.Streams {
			p.open[s.Index] = true
			p.readyS[s.Index] = atS + p.childDelay(b, s)
		}
	}
}
