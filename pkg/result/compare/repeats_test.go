package compare

import (
	"math"
	"testing"
)

// Repeats that share much with each other and little with the other side vary, on
// that little, by more than among themselves: their noise is taken on the requests
// that the comparison is made on.
func TestRepeatsAreHeldOnTheSharedRequests(t *testing.T) {
	s := synthetic{traces: 40, turns: 30, selfSD: 0.4}
	var base []*Run
	for i := range 4 {
		s.run = uint64(i + 1)
		base = append(base, s.make())
	}
	short := s
	short.run = 99
	records := short.records()
	kept := records[:0]
	for _, r := range records {
		if r.Asked.Turn < 2 {
			kept = append(kept, r)
		}
	}
	head := one(short.of(kept))

	shared := pair(head, base).noises(nil)[keyITL50]
	var logs []float64
	for i := range base {
		var vs []value
		for _, row := range pair(head, base).rows {
			vs = append(vs, value{row.base[i].itlMs, row.cluster})
		}
		sorted(vs)
		draws := make([]int32, 40)
		for j := range draws {
			draws[j] = 1
		}
		var q [1]float64
		quantiles(vs, draws, false, []float64{0.5}, q[:])
		logs = append(logs, math.Log(q[0]))
	}
	if want := sampleSD(logs); math.Abs(shared.sd-want) > 1e-9 || shared.df != 3 {
		t.Errorf("noise %+v, want sd %g of 3 degrees of freedom", shared, want)
	}
	if all := repeats(base)[keyITL50]; shared.sd < 2*all.sd {
		t.Errorf("noise on 80 shared requests %g, on all 1,200 %g: the data of this test tell nothing", shared.sd, all.sd)
	}
}

func sampleSD(vs []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range vs {
		mean += v / float64(len(vs))
	}
	for _, v := range vs {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(vs)-1))
}

// With several runs a side and no floor, alarms stay nominal too, although the
// head ended early and shares a fifth of what the base's repeats share.
func TestAlarmsOfRepeatsStayNominal(t *testing.T) {
	n, limit := 100, 13
	if testing.Short() {
		n, limit = 40, 8
	}
	work := synthetic{runSD: 0.02, selfSD: 0.3}
	alarms := 0
	for i := range n {
		side := func(from, runs int, censored float64) (out []*Run) {
			for j := range runs {
				s := work
				s.run, s.censored = uint64(100*i+from+j+1), censored
				out = append(out, s.make())
			}
			return out
		}
		c, err := Compare(side(0, 2, 0.55), side(50, 3, 0), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for j := range c.Gated { // the throughput did change: the head did half of the work
			if f := &c.Gated[j]; f.Metric != keyThroughput && f.Verdict != NoChange {
				alarms++
				break
			}
		}
	}
	t.Logf("%d alarms in %d comparisons", alarms, n)
	if alarms > limit {
		t.Errorf("%d alarms in %d comparisons, want at most %d", alarms, n, limit)
	}
}

// The interval is never narrower than what resampling or the repeats give alone.
func TestIntervalHasBothSpreads(t *testing.T) {
	e := estimate{statistic: statistic{n: 20}, se: 0.03}
	for _, n := range []noise{
		{}, {sd: 0.001, resampled: 0.03, df: 9, scale: math.Sqrt2}, {sd: 0.05, resampled: 0.05, df: 9, scale: math.Sqrt2},
		{sd: 0.02, resampled: 0.2, df: 4, scale: 1}, {sd: 0.02, df: 2, scale: 1},
	} {
		i := e.interval(n, 0.05)
		if least := max(e.se, n.sd*n.scale); i.se < least-1e-12 {
			t.Errorf("%+v: standard error %g, want at least %g", n, i.se, least)
		}
	}
}
