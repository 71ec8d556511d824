package tree

import (
	"github.com/org/agentx-action/pkg/workload/trace"
)

// Tree is one trace as streams. Stream 0 is the root; all others hang off it.
type Tree struct {
	Trace    *trace.Trace
	Streams  []*Stream
	Branches []*Branch
	Dropped  []Drop

	// FirstS and LastS are the earliest and latest start of any turn, on the
	// trace's clock: the span that t* is drawn from (spec/replay.md §4.3).
	FirstS, LastS float64
	Turns         int // of all streams
}

// Root is the main agent's stream.
func (t *Tree) Root() *Stream { return t.Streams[0] }

// Kind says what a stream is. It changes labels and output caps, not scheduling.
type Kind uint8

// The kinds of streams (spec/replay.md §2.2, §2.5).
const (
	Root     Kind = iota
	Subagent      // a recorded subagent's main chain
	Aux           // a single auxiliary call
	Worker        // a member of a worker group
	FanOut        // any other chain found in a flat list
)

// Stream is an ordered list of turns with one growing context.
type Stream struct {
	Index  int
	ID     string
	Kind   Kind
	Family int             // scope of the ordering gates: 0 for root and flat chains, else the subagent's number from 1
	Agent  *trace.Subagent // the recorded subagent it belongs to, or nil
	Branch *Branch         // that spawns it; nil for the root
	Turns  []*Turn

	ToolTokens, SystemTokens int // what its first prompt begins with
}

// Turn is one request of a stream.
type Turn struct {
	Stream  *Stream
	Index   int // in its stream
	Request *trace.Request
	List    int // place in the list it was recorded in

	StartS, EndS float64 // recorded, on the trace's clock
	DelayS       float64 // end-to-start in the stream; 0 for its first turn (spec/replay.md §2.7)

	Joins         []*Branch // that must be done before this turn starts
	SpawnOnIssue  []*Branch // children that started while the recorded request was running
	SpawnOnReturn []*Branch
	Gates         []*Turn // of other streams, that must be over before this turn is sent (spec/replay.md §2.8)
	Hit           trace.Hit
}

// Last reports whether the turn ends its stream.
func (t *Turn) Last() bool { return t.Index == len(t.Stream.Turns)-1 }

// Branch is a group of streams spawned together from one root turn.
type Branch struct {
	Index   int
	ID      string
	StartS  float64
	Spawn   *Turn
	Join    *Turn // nil: a background branch, which only the tree's end waits for
	Streams []*Stream
}

// ChildDelayS is how long after the branch opens the stream sends its first turn
// (spec/replay.md §4.5).
func (b *Branch) ChildDelayS(s *Stream) float64 {
	from := b.StartS
	if b.onIssue() {
		from = b.Spawn.StartS
	}
	return max(0, s.Turns[0].StartS-from)
}

// onIssue reports whether the branch opens when its spawn turn is issued and not
// when it returns.
func (b *Branch) onIssue() bool { return b.StartS < b.Spawn.EndS }

// Drop is something of the trace that is not played.
type Drop struct {
	What     string // the subagent's id; for gates, the id of the stream that waited
	Requests int    // recorded ones that are left out; 0 for gates
	Reason   string
}
