package replay

import (
	"sync"

	"github.com/org/agentx-action/pkg/workload/prompt"
	"github.com/org/agentx-action/pkg/workload/trace"
	"github.com/org/agentx-action/pkg/workload/tree"
)

// script is a trace made ready to play: its tree and the layout of its prompts.
type script struct {
	trace *trace.Trace
	tree  *tree.Tree
	plans []*prompt.Plan // by stream
}

// shelf makes scripts when they are first needed, and ahead of that in the
// background, so that no lane waits for one.
type shelf struct {
	traces []*trace.Trace
	slots  []slot
}

type slot struct {
	once   sync.Once
	script *script
	err    error
}

func newShelf(traces []*trace.Trace) *shelf {
	return &shelf{traces: traces, slots: make([]slot, len(traces))}
}

func (s *shelf) take(i int) (*script, error) {
	sl := &s.slots[i]
	sl.once.Do(func() {
		t, err := tree.New(s.traces[i])
		if err != nil {
			sl.err = err
			return
		}
		sc := &script{trace: s.traces[i], tree: t}
		for _, st := range t.Streams {
			sc.plans = append(sc.plans, prompt.NewPlan(s.traces[i], st))
		}
		sl.script = sc
	})
	return sl.script, sl.err
}

func (s *shelf) prepare(i int) { go func() { _, _ = s.take(i) }() }
