package tree

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// MaxBlockSize bounds a trace's block size, in tokens: a block's text is one
// slice of the word text. Formats in use have 16 to 512.
const MaxBlockSize = 1 << 16

// New builds the tree of a trace. Its errors are of type *[trace.Error].
func New(t *trace.Trace) (*Tree, error) {
	b := &build{tree: &Tree{Trace: t}, left: maxCompared}
	if t.BlockSize < 1 || t.BlockSize > MaxBlockSize {
		return nil, b.refuse("block_size", fmt.Sprintf("%d tokens; a block has 1 to %d", t.BlockSize, MaxBlockSize), "")
	}
	if err := b.flat(); err != nil {
		return nil, err
	}
	for list, e := range t.Entries {
		if e.Subagent != nil && len(e.Subagent.Requests) > 0 {
			if err := b.subagent(list, e.Subagent); err != nil {
				return nil, err
			}
		}
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	return b.tree, nil
}

type build struct {
	tree   *Tree
	family int
	open   map[branchKey]*Branch // recorded subagents that share spawn and join
	behind []int                 // for each root turn, the least list index from it on
	left   int                   // comparisons of requests with chains
}

func (b *build) refuse(where, reason, remedy string) error {
	t := b.tree.Trace
	return &trace.Error{File: t.File, Trace: t.ID, Where: where, Reason: reason, Remedy: remedy}
}

type branchKey struct{ spawn, join *Turn }

// flat builds the root and the chains found in the main list.
func (b *build) flat() error {
	t := b.tree.Trace
	var items []item
	for list, e := range t.Entries {
		if e.Request != nil {
			items = append(items, b.item(e.Request, list))
		}
	}
	if len(items) == 0 {
		return b.refuse("requests", "no main request: nothing could spawn the subagents", "")
	}
	main, workers, preamble, err := b.detect(t.ID, items)
	if err != nil {
		return err
	}
	root := b.stream(t.ID, Root, main, nil, 0)
	b.behind = make([]int, len(root.Turns))
	least := math.MaxInt
	for i := len(root.Turns) - 1; i >= 0; i-- {
		least = min(least, root.Turns[i].List)
		b.behind[i] = least
	}
	if err := b.system(root, preamble, t.ToolTokens, t.SystemTokens); err != nil {
		return err
	}
	names := labels(main, workers, preamble)
	for n, c := range workers {
		s := b.stream(t.ID+"::"+names[n].suffix, names[n].kind, c, nil, 0)
		b.inherit(s, main, preamble, t.ToolTokens, t.SystemTokens)
		spawn := b.spawnTurn(c.items[0].list)
		if spawn == nil {
			spawn = root.Turns[0]
		}
		br := b.branch(fmt.Sprintf("%s:flatspawn:%d", t.ID, n), spawn, b.joinTurn(spawn, c.endS()), c.items[0].StartS)
		br.add(s)
	}
	return nil
}

// subagent builds the streams of one recorded subagent.
func (b *build) subagent(list int, sub *trace.Subagent) error {
	t := b.tree.Trace
	spawn := b.spawnTurn(list)
	if spawn == nil {
		b.tree.Dropped = append(b.tree.Dropped, Drop{What: sub.AgentID, Requests: len(sub.Requests), Reason: "no main request stands before it that could have spawned it"})
		return nil
	}
	var join *Turn
	if !sub.Background {
		join = b.joinTurn(spawn, sub.EndS)
	}
	key := branchKey{spawn, join}
	br := b.open[key]
	if br == nil {
		br = b.branch(t.ID+":spawn:"+sub.AgentID, spawn, join, sub.StartS)
		if b.open == nil {
			b.open = map[branchKey]*Branch{}
		}
		b.open[key] = br
	}
	br.StartS = min(br.StartS, sub.StartS)

	var items []item
	for i, r := range sub.Requests {
		items = append(items, b.item(r, i))
	}
	b.family++
	id := t.ID + "::sa:" + sub.AgentID
	main, workers, preamble, err := b.detect(id, items)
	if err != nil {
		return err
	}
	s := b.stream(id, Subagent, main, sub, b.family)
	if err := b.system(s, preamble, sub.ToolTokens, sub.SystemTokens); err != nil {
		return err
	}
	br.add(s)
	for n, l := range labels(main, workers, preamble) {
		s := b.stream(id+":"+l.suffix, l.kind, workers[n], sub, b.family)
		b.inherit(s, main, preamble, sub.ToolTokens, sub.SystemTokens)
		br.add(s)
	}
	return nil
}

func (b *build) item(r *trace.Request, list int) item {
	return item{Request: r, list: list, path: b.tree.Trace.Blocks.Prefix(r.Path, r.Whole)}
}

func (b *build) stream(id string, kind Kind, c *chain, agent *trace.Subagent, family int) *Stream {
	s := &Stream{Index: len(b.tree.Streams), ID: id, Kind: kind, Family: family, Agent: agent}
	for i, it := range c.items {
		turn := &Turn{Stream: s, Index: i, Request: it.Request, List: it.list, StartS: it.StartS, EndS: it.EndS()}
		if i > 0 {
			turn.DelayS = max(0, it.StartS-s.Turns[i-1].EndS)
		}
		s.Turns = append(s.Turns, turn)
	}
	b.tree.Streams = append(b.tree.Streams, s)
	b.tree.Turns += len(s.Turns)
	return s
}

// system sets what the stream's first prompt begins with (spec/replay.md §3.4).
// A one-off call before the session may be too short for counts that belong to
// the session: it then has no system message.
func (b *build) system(s *Stream, preamble *item, tool, system int) error {
	r := s.Turns[0].Request
	if need := b.declared(tool, system); need > int(r.Path.Len) && r.Path.Len > 0 {
		if preamble != nil && preamble.Request == r {
			return nil
		}
		return b.refuse(s.ID,
			fmt.Sprintf("tool_tokens %d and system_tokens %d need %d blocks, but the first prompt has %d", tool, system, need, r.Path.Len),
			"the counts must belong to the first request")
	}
	s.ToolTokens, s.SystemTokens = tool, system
	return nil
}

// declared is the number of blocks that tool and system tokens need.
func (b *build) declared(tool, system int) int {
	const far = 1 << 40 // beyond any prompt, and no sum overflows
	size := b.tree.Trace.BlockSize
	return (min(tool, far) + min(system, far) + size - 1) / size
}

// inherit gives a detected chain its level's counts when it begins with the same
// blocks (spec/replay.md §2.9).
func (b *build) inherit(s *Stream, main *chain, preamble *item, tool, system int) {
	first := main.items[0]
	if preamble != nil && first.list == preamble.list && len(main.items) > 1 {
		first = main.items[1]
	}
	own := b.item(s.Turns[0].Request, 0)
	if b.tree.Trace.Blocks.CommonPrefix(own.path, first.path) >= b.declared(tool, system) {
		s.ToolTokens, s.SystemTokens = tool, system
	}
}

// spawnTurn is the last root turn that stands before list, or nil.
func (b *build) spawnTurn(list int) *Turn {
	n, _ := slices.BinarySearch(b.behind, list)
	if n == 0 {
		return nil
	}
	return b.tree.Root().Turns[n-1]
}

// joinTurn is the first root turn behind the spawn turn that starts when the
// branch is over, or nil. It stands behind the branch in the list too: the spawn
// turn is the last that does not.
func (b *build) joinTurn(spawn *Turn, endS float64) *Turn {
	later := b.tree.Root().Turns[spawn.Index+1:]
	n, _ := slices.BinarySearchFunc(later, endS, func(t *Turn, endS float64) int {
		return cmp.Compare(t.StartS+b.tree.Trace.ResolutionS, endS)
	})
	if n == len(later) {
		return nil
	}
	return later[n]
}

func (b *build) branch(id string, spawn, join *Turn, startS float64) *Branch {
	br := &Branch{Index: len(b.tree.Branches), ID: id, Spawn: spawn, Join: join, StartS: startS}
	b.tree.Branches = append(b.tree.Branches, br)
	return br
}

func (br *Branch) add(s *Stream) {
	s.Branch = br
	br.Streams = append(br.Streams, s)
}

// finish hangs the branches on their turns and derives the rest.
func (b *build) finish() error {
	t := b.tree
	for _, br := range t.Branches {
		if br.onIssue() {
			br.Spawn.SpawnOnIssue = append(br.Spawn.SpawnOnIssue, br)
		} else {
			br.Spawn.SpawnOnReturn = append(br.Spawn.SpawnOnReturn, br)
		}
		if br.Join != nil {
			br.Join.Joins = append(br.Join.Joins, br)
		}
	}
	hits := t.Trace.Hits()
	t.FirstS, t.LastS = math.Inf(1), math.Inf(-1)
	for _, s := range t.Streams {
		for _, turn := range s.Turns {
			turn.Hit = hits[turn.Request]
			t.FirstS, t.LastS = min(t.FirstS, turn.StartS), max(t.LastS, turn.StartS)
		}
	}
	if err := t.gate(); err != nil {
		return err
	}
	t.breakCycles()
	return nil
}
