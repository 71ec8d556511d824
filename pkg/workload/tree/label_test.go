package tree

import (
	"testing"

	"github.com/org/agentx-action/pkg/workload/trace"
)

// one is a chain of requests of one model, each (start, end, in, out).
func one(model string, requests ...[4]float64) *chain {
	c := &chain{last: -1, parent: -1}
	for i, r := range requests {
		c.items = append(c.items, item{list: i, Request: &trace.Request{
			StartS: r[0], APITimeS: trace.Some(r[1] - r[0]), Model: model, In: int(r[2]), Out: int(r[3])}})
	}
	return c
}

func TestAuxLimits(t *testing.T) {
	const peak = 300_000 // a tenth is above the floor of 16,384
	for _, c := range []struct {
		name  string
		chain *chain
		peak  int
		want  bool
	}{
		{"another model", one("x", [4]float64{0, 1, 200_000, 20_000}), peak, true},
		{"just below a tenth of the peak", one("m", [4]float64{0, 1, 29_999, 20_000}), peak, true},
		{"a tenth of the peak", one("m", [4]float64{0, 1, 30_000, 20_000}), peak, false},
		{"the tenth is rounded down", one("m", [4]float64{0, 1, 30_000, 20_000}), peak + 9, false},
		{"just below the floor", one("m", [4]float64{0, 1, 16_383, 16_000}), 1000, true},
		{"the floor", one("m", [4]float64{0, 1, 16_384, 16_000}), 1000, false},
		{"two requests, small and on another model", one("x", [4]float64{0, 1, 10, 1}, [4]float64{1, 2, 10, 1}), peak, false},
		{"a reduction", one("m", [4]float64{0, 1, 79_981, 3999}), 1000, true},
		{"no reduction at 20 to 1", one("m", [4]float64{0, 1, 79_980, 3999}), 1000, false},
		{"no reduction with 4,000 tokens out", one("m", [4]float64{0, 1, 200_000, 4000}), 1000, false},
		{"no reduction without output", one("m", [4]float64{0, 1, 200_000, 0}), 1000, false},
		{"no reduction in two requests", one("m", [4]float64{0, 1, 200_000, 1}, [4]float64{1, 2, 200_000, 1}), 1000, false},
	} {
		if got := isAux(c.chain, c.peak, "m"); got != c.want {
			t.Errorf("%s: aux %v; want %v", c.name, got, c.want)
		}
	}
}

// Five forks of request 1 that are long enough to be no aux, by their spans.
func TestWorkerGroups(t *testing.T) {
	span := func(source int, depth int, startS, endS float64) *chain {
		c := one("m", [4]float64{startS, startS, 50_000, 5000}, [4]float64{startS, endS, 50_000, 5000})
		c.parent, c.source, c.depth = 0, source, depth
		return c
	}
	for _, c := range []struct {
		name    string
		workers []*chain
		want    []string
	}{
		{"three side by side", []*chain{span(1, 5, 0, 10), span(1, 5, 1, 10), span(1, 5, 2, 10)}, []string{"wg:000_000", "wg:000_001", "wg:000_002"}},
		{"two are none", []*chain{span(1, 5, 0, 10), span(1, 5, 1, 10)}, []string{"fa:000", "fa:001"}},
		{"a chain of overlaps is one", []*chain{span(1, 5, 0, 10), span(1, 5, 9, 20), span(1, 5, 19, 30)}, []string{"wg:000_000", "wg:000_001", "wg:000_002"}},
		{"a touch is no overlap", []*chain{span(1, 5, 0, 10), span(1, 5, 1, 10), span(1, 5, 10, 20)}, []string{"fa:000", "fa:001", "fa:002"}},
		{"a long one holds short ones together", []*chain{span(1, 5, 0, 30), span(1, 5, 1, 2), span(1, 5, 10, 11)}, []string{"wg:000_000", "wg:000_001", "wg:000_002"}},
		{"what lasts no time overlaps what lasts", []*chain{span(1, 5, 0, 10), span(1, 5, 5, 5), span(1, 5, 6, 10)}, []string{"wg:000_000", "wg:000_001", "wg:000_002"}},
		{"but not what starts with it", []*chain{span(1, 5, 0, 10), span(1, 5, 0, 10), span(1, 5, 0, 0)}, []string{"fa:000", "fa:001", "fa:002"}},
		{"forks of other requests don't count", []*chain{span(1, 5, 0, 10), span(2, 5, 1, 10), span(1, 5, 2, 10), span(2, 5, 3, 10), span(2, 5, 4, 10)},
			[]string{"fa:000", "wg:000_000", "fa:002", "wg:000_001", "wg:000_002"}},
		{"forks without depth don't count", []*chain{span(1, 0, 0, 10), span(1, 0, 1, 10), span(1, 0, 2, 10)}, []string{"fa:000", "fa:001", "fa:002"}},
		{"groups are numbered by their start", []*chain{
			span(2, 5, 0, 10), span(1, 5, 1, 10), span(1, 5, 1, 10), span(1, 5, 1, 10), span(2, 5, 2, 10), span(2, 5, 3, 10),
			span(1, 5, 20, 30), span(1, 5, 21, 30), span(1, 5, 22, 30)},
			[]string{"wg:000_000", "wg:001_000", "wg:001_001", "wg:001_002", "wg:000_001", "wg:000_002", "wg:002_000", "wg:002_001", "wg:002_002"}},
	} {
		for n, l := range labels(one("m", [4]float64{0, 1, 1000, 1}), c.workers, nil) {
			if l.suffix != c.want[n] {
				t.Errorf("%s: worker %d is %s; want %s", c.name, n, l.suffix, c.want[n])
			}
		}
	}
}

// A single call on another model is no member of the group it runs beside, and a
// main chain's own model and size do not come from its preamble.
func TestKindsAndIDs(t *testing.T) {
	tree := mustTree(t, session(t, padded(`
		0.5 1-400
		2   1-3,910 model=x
		2.1 1-3,920 in=20032 out=2000 api=9
		2.2 1-3,930 in=20032 out=2000 api=9
		2.3 1-3,940 in=20032 out=2000 api=9
		2.4 950 in=20032 out=2000 api=9
		sub a 3 50
		> 4 960-964
		> 6 960-965
		> 6.1 960-962,970 model=x
		> 6.2 960-961,980 in=20032 out=2000
		30 1-401`)))
	want := []struct {
		id   string
		kind Kind
	}{
		{"T", Root}, {"T::aux:000", Aux}, {"T::wg:000_000", Worker}, {"T::wg:000_001", Worker}, {"T::wg:000_002", Worker}, {"T::fa:004", FanOut},
		{"T::sa:a", Subagent}, {"T::sa:a:aux:000", Aux}, {"T::sa:a:fa:001", FanOut},
	}
	if len(tree.Streams) != len(want) {
		t.Fatalf("streams %s", streams(tree))
	}
	for i, w := range want {
		if s := tree.Streams[i]; s.ID != w.id || s.Kind != w.kind {
			t.Errorf("stream %d is %s of kind %d; want %s of kind %d", i, s.ID, s.Kind, w.id, w.kind)
		}
	}
	for _, s := range tree.Streams[:6] {
		if s.Family != 0 || s.Agent != nil {
			t.Errorf("%s: family %d, agent %v; want the root's", s.ID, s.Family, s.Agent)
		}
	}
	for _, s := range tree.Streams[6:] {
		if s.Family != 1 || s.Agent == nil || s.Agent.AgentID != "a" {
			t.Errorf("%s: family %d, agent %v; want the subagent's", s.ID, s.Family, s.Agent)
		}
	}
}

// Forks that were first seen from the end of a context belong to its
// continuation, once that is found, and are one group with the continuation's own.
func TestForksMoveWithASeam(t *testing.T) {
	tree := mustTree(t, session(t, padded(`
		0.5 1-400
		10  1-50,500 in=20032 out=2000 api=5
		11  1-40,600 in=20032 out=2000 api=9
		12  1-40,700 in=20032 out=2000 api=9
		13  1-50,500,800 in=20032 out=2000 api=9`)))
	if got, want := streams(tree), "[0-1] wg:000_000[2] wg:000_001[3] wg:000_002[4]"; got != want {
		t.Errorf("streams %s; want %s", got, want)
	}
}
