package compare

import (
	"math"

	"github.com/org/agentx-action/pkg/result"
)

// blockS is the length of a block of time, in seconds (decisions.md 24).
const blockS = 60

// throughput is output tokens per second of all successes over the run's
// duration, as result.json has it. It is resampled by lane, or by blocks of 60 s
// when there are more of those; the same lane, or block, of both sides is drawn
// together.
func (p *pairs) throughput() statistic {
	s := statistic{key: keyThroughput, of: func([]int32) change { return change{math.NaN(), math.NaN(), math.NaN()} }}
	lanes, blocks := 0, 0
	for _, r := range p.head {
		l, b := r.extent()
		lanes, blocks = max(lanes, l), max(blocks, b)
	}
	for _, r := range p.base {
		l, b := r.extent()
		lanes, blocks = max(lanes, l), max(blocks, b)
	}
	unit := func(q *request, _ *Run) int { return int(q.lane) }
	s.units = lanes
	if blocks > lanes {
		s.units = blocks
		unit = func(q *request, r *Run) int { return r.block(q) }
	}
	if s.units == 0 {
		return s
	}
	head, ok1 := rates(p.head, s.units, unit)
	base, ok2 := rates(p.base, s.units, unit)
	if !ok1 || !ok2 {
		return s
	}
	s.n, s.samples = float64(s.units), s.units
	s.of = func(draws []int32) change {
		return ratio(weigh(head, draws), weigh(base, draws))
	}
	return s
}

// extent is the number of lanes and of blocks of 60 s.
func (r *Run) extent() (lanes, blocks int) {
	for i := range r.requests {
		if q := &r.requests[i]; q.outcome == done && q.lane >= 0 {
			lanes = max(lanes, int(q.lane)+1)
			blocks = max(blocks, r.block(q)+1)
		}
	}
	return min(lanes, maxUnits), min(blocks, maxUnits)
}

// maxUnits bounds what a damaged record can make us allocate.
const maxUnits = 1 << 16

func (r *Run) block(q *request) int {
	for _, p := range r.Doc.Phases {
		if d, ok := q.lastToken.Sub(p.Start); ok && p.Name == "profiling" {
			return min(max(int(d.Seconds()/blockS), 0), maxUnits-1)
		}
	}
	return 0
}

// rates is tokens per second (and GPU) by unit, the mean over runs.
func rates(runs []*Run, units int, unit func(*request, *Run) int) (out []float64, ok bool) {
	out = make([]float64, units)
	for _, r := range runs {
		d, known := r.Doc.Metrics.Run["benchmark_duration"]
		if !known || d.Value <= 0 {
			return nil, false
		}
		tokens := make([]float64, units) // whole numbers: their sums don't depend on the order
		for i := range r.requests {
			q := &r.requests[i]
			if u := unit(q, r); q.outcome == done && q.output > 0 && u >= 0 && u < units {
				tokens[u] += q.output
			}
		}
		per := d.Value * float64(len(runs)) * gpus(r.Doc)
		for u, n := range tokens {
			out[u] += n / per
		}
	}
	return out, true
}

// gpus is 1 where their number is unknown.
func gpus(d *result.Document) float64 {
	if d.GPUs != nil && d.GPUs.Count > 0 {
		return float64(d.GPUs.Count)
	}
	return 1
}
