package compare

import (
	"fmt"
	"math"
	"slices"
)

// metric is one figure of the gated family (decisions.md 25).
type metric struct {
	key, label, unit string
	better           Direction
	// threshold is the relative change from which the figure counts, on top of
	// being told from none; absolute for a rate.
	threshold float64
}

var gated = []metric{
	{keyTTFT50, "TTFT p50", "ms", LowerIsBetter, 0.05},
	{keyTTFT90, "TTFT p90", "ms", LowerIsBetter, 0.05},
	{keyITL50, "ITL p50", "ms", LowerIsBetter, 0.02},
	{keyPerTok90, "E2E per output token p90", "ms/token", LowerIsBetter, 0.05},
	{keyThroughput, "Output throughput", "tokens/s", HigherIsBetter, 0.02},
	{keyErrors, "Error rate", "ratio", LowerIsBetter, 0.005},
}

// perTest is the share of false alarms left to one figure: Bonferroni over the
// family, which holds however the figures hang together.
func perTest() float64 { return alpha / float64(len(gated)) }

// finding judges one figure.
func (m *metric) finding(p *pairs, e *estimate, n noise, o *Options) Finding {
	f := Finding{
		Metric: m.key, Label: m.label, Unit: m.unit, Better: m.better, Gated: true,
		Base: finite(e.base), Head: finite(e.head), Absolute: e.absolute,
		Confidence: 1 - perTest(), Threshold: m.threshold, Samples: e.samples, Verdict: NotEnough, Over: OverPairs,
	}
	if m.key == keyThroughput {
		f.Over = OverRun
	}
	if m.key == keyThroughput && p.head[0].Doc.GPUs != nil && p.head[0].Doc.GPUs.Count > 0 {
		f.Label, f.Unit = "Output throughput per GPU", "tokens/s/GPU"
	}
	if t, ok := o.Thresholds[m.key]; ok {
		f.Threshold = t
	}
	switch {
	case math.IsInf(e.head, 1) && math.IsInf(e.base, 1):
		f.Note = "failed requests reach this percentile on both sides"
		return f
	case p.EffectiveN < minEffective && m.key != keyErrors || e.n < minEffective && m.key == keyErrors:
		f.Note = fmt.Sprintf("%.1f effective root traces of %d", p.EffectiveN, minEffective)
		f.point(e)
		return f
	case math.IsNaN(e.diff) || math.IsNaN(e.se) && !math.IsInf(e.diff, 0):
		f.Note = "not measured on both sides"
		return f
	case m.key == keyThroughput && e.units < minUnits:
		f.Note = fmt.Sprintf("%d lanes or blocks of %d s of at least %d", e.units, blockS, minUnits)
		f.point(e)
		return f
	}
	f.decide(e, n)
	return f
}

// minUnits is the least number of lanes or blocks that say anything about the
// spread of throughput.
const minUnits = 4

// point sets the change alone.
func (f *Finding) point(e *estimate) {
	if v := finite(e.diff); v != nil {
		f.Ratio = finite(f.scale(*v))
	}
}

// scale turns a difference into what the document shows.
func (f *Finding) scale(diff float64) float64 {
	if f.Absolute {
		return diff
	}
	return math.Exp(diff)
}

func (f *Finding) decide(e *estimate, n noise) {
	f.Verdict = NoChange
	if math.IsInf(e.diff, 0) {
		f.fallen(e, n)
		return
	}
	f.point(e)
	i := e.interval(n, perTest())
	f.Low, f.High = finite(f.scale(i.low)), finite(f.scale(i.high))
	f.SmallestDetectable = finite(i.detectable)
	if !f.Absolute {
		f.SmallestDetectable = finite(math.Expm1(i.detectable))
	}
	if n.df <= 0 {
		f.Note = "without run-to-run noise"
	}
	if i.low <= 0 && i.high >= 0 {
		return
	}
	change := *f.Ratio
	if !f.Absolute {
		change--
	}
	if math.Abs(change) < f.Threshold {
		f.Note = "told from none, but below the threshold"
		return
	}
	f.Verdict = verdict(f.Better, e.diff > 0, n)
}

// fallen judges a percentile that lies on a failed request on one side only:
// infinitely worse, if nearly every resample says so too.
func (f *Finding) fallen(e *estimate, n noise) {
	sign, side := 1, "head"
	if e.diff < 0 {
		sign, side = -1, "base"
	}
	f.Note = "the " + side + "'s percentile lies on a failed request"
	if infinite(e.draws, sign) < 1-perTest()/2 {
		f.Verdict = NotEnough
		return
	}
	f.Verdict = verdict(f.Better, sign > 0, n)
}

// verdict names a change. Without a measure of run-to-run noise it cannot be
// called a regression or an improvement (decisions.md 24).
func verdict(better Direction, rose bool, n noise) Verdict {
	switch {
	case n.df <= 0:
		return Changed
	case rose == (better == LowerIsBetter):
		return Regression
	}
	return Improvement
}

// Gated lists the keys of the gated family, in its order.
func Gated() []string {
	var keys []string
	for i := range gated {
		keys = append(keys, gated[i].key)
	}
	return keys
}

// Gates reports whether a key is one of the gated family.
func Gates(key string) bool { return slices.Contains(Gated(), key) }
