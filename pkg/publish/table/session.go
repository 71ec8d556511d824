package table

import (
	"fmt"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
)

// sessions shows the measures by tree and by turn. The fixed-length baseline
// has none.
func sessions(p *page, d *result.Document) {
	if d.Mode == result.ModeFixed {
		return
	}
	s := &d.Sessions
	p.section("Sessions")
	p.table(grid{
		head: []string{"Sessions", "mean", "p50", "p90", "p99", "max", "n"},
		rows: [][]string{
			extent("Makespan of whole trees", s.Makespan, seconds),
			extent("Stretch (played/recorded time)", s.Stretch, ratio),
			extent("Child streams a tree", s.ChildrenPerTree, count),
			extent("Fan-out peak (requests at once)", s.FanOutPeak, count),
		},
	})
	trees(p, s)
	if len(s.ByTurn) == 0 {
		return
	}
	p.section("By turn depth")
	g := grid{head: []string{"Turn", "requests", "of root", "ISL mean", "TTFT p50", "TTFT p90", "hits reported", "hits ideal"}}
	for _, b := range s.ByTurn {
		g.rows = append(g.rows, turn(b))
	}
	p.table(g)
}

func extent(label string, s *summary.Stats, show func(float64) string) []string {
	if s == nil {
		return empty(label)
	}
	return []string{label, show(s.Avg), show(s.P50), show(s.P90), show(s.P99), show(s.Max), whole(s.Count)}
}

// treeEnds are the ways a tree ends, in words.
var treeEnds = []struct {
	why  record.TreeEnd
	text string
}{
	{record.TreeDrained, "played to the end"},
	{record.TreeCut, "cut by the end of the run"},
	{record.TreeOverflow, "ended by a context overflow"},
	{record.TreeFailed, "dropped in warm-up"},
}

func trees(p *page, s *summary.Sessions) {
	started := 0
	for _, n := range s.Trees {
		started += n
	}
	if started == 0 {
		p.fact("Trees", "none started")
		return
	}
	parts := []string{whole(started) + " started", whole(s.Whole) + " played whole, from the first turn on"}
	known := 0
	for _, e := range treeEnds {
		if n := s.Trees[e.why]; n > 0 {
			parts = append(parts, whole(n)+" "+e.text)
			known += n
		}
	}
	if known < started {
		parts = append(parts, whole(started-known)+" ended otherwise")
	}
	p.fact("Trees", append(parts, "child streams "+whole(s.Children), "joins "+whole(s.Joins))...)
	parts = []string{whole(len(s.Played)) + " played"}
	if s.EffectiveRoots != nil {
		parts = append(parts, "they weigh as much as "+digits(*s.EffectiveRoots)+" equally large ones")
	}
	if s.LargestShare != nil {
		parts = append(parts, "the largest has "+percent(*s.LargestShare)+" of the requests")
	}
	p.fact("Traces", parts...)
}

func turn(b summary.TurnBucket) []string {
	depth := whole(b.From)
	if b.To > b.From {
		depth = fmt.Sprintf("%d–%d", b.From, b.To)
	}
	row := []string{depth, whole(b.Requests), whole(b.Root), absent, absent, absent,
		opt(b.UsageHitRate, percent), opt(b.IdealHitRate, percent)}
	if b.ISL != nil {
		row[3] = count(b.ISL.Avg)
	}
	if b.TTFT != nil {
		row[4], row[5] = millis(b.TTFT.P50), millis(b.TTFT.P90)
	}
	return row
}
