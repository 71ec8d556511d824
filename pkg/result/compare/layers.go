package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/result"
)

// Names of the layers.
const (
	LayerErrors     = "errors"
	LayerCache      = "cache"
	LayerPrefill    = "prefill"
	LayerDecode     = "decode"
	LayerScheduling = "scheduling"
	LayerKernel     = "kernel"
	LayerServing    = "serving"
)

// layer is one that is measured on the common requests.
type layer struct {
	name, key string
	// rank orders causes before what follows from them: failures change the load,
	// lost cache hits make prefill work, both make requests wait.
	rank      int
	threshold float64 // of its own figure, relative; absolute for errors
	what      string  // the figure, in words
	on        []figure
}

var layers = []layer{
	{LayerErrors, keyErrors, 0, 0.005, "error rate", []figure{
		{"", "Error rate", "ratio", LowerIsBetter, func(d *result.Document) (float64, bool) { return d.Requests.Profiling.ErrorRate() }},
	}},
	{LayerCache, layerCache, 1, 0.05, "prompt tokens to compute for the same requests", []figure{
		{"", "Hit rate, ideal as played", "ratio", HigherIsBetter, share(idealShare)},
		{"", "Hit rate, reported", "ratio", HigherIsBetter, share(reportedShare)},
		{"", "Hit rate, counted", "ratio", HigherIsBetter, share(countedShare)},
	}},
	{LayerPrefill, layerPrefill, 2, 0.03, "time to first token for each token to compute", []figure{
		{"", "TTFT p50", "ms", LowerIsBetter, requestStat("time_to_first_token", p50)},
		{"", "Uncached input throughput", "tokens/s", HigherIsBetter, uncachedThroughput},
	}},
	{LayerDecode, layerDecode, 2, 0.02, "time per output token after the first", []figure{
		{"", "ITL p50", "ms", LowerIsBetter, requestStat("inter_token_latency", p50)},
	}},
	{LayerScheduling, layerWait, 3, 0.20, "time to first token of requests with little to compute", []figure{
		{"", "Waiting in the engine, mean", "requests", LowerIsBetter, waiting},
		{"", "Join wait p50", "ms", LowerIsBetter, descriptiveOf("join_wait_p50")},
		{"", "Fan-out peak p90", "requests", "", fanOut},
		{"", "Requests in flight", "requests", "", load},
	}},
}

func waiting(d *result.Document) (float64, bool) {
	if p := d.Engine.Profiling; p != nil && p.WaitingMean != nil {
		return *p.WaitingMean, true
	}
	return 0, false
}

func fanOut(d *result.Document) (float64, bool) {
	if s := d.Sessions.FanOutPeak; s != nil {
		return s.P90, true
	}
	return 0, false
}

func descriptiveOf(key string) func(*result.Document) (float64, bool) {
	return func(d *result.Document) (float64, bool) {
		for i := range descriptive {
			if descriptive[i].key == key {
				return descriptive[i].of(d)
			}
		}
		return 0, false
	}
}

// attribute says in which layer a change sits, the likeliest first: those that
// moved before those that did not, causes before consequences, the larger
// change first.
func (c *Comparison) attribute(p *pairs, estimates map[string]*estimate, noises map[string]noise, o *Options) []Layer {
	type ranked struct {
		Layer
		rank int
		size float64
	}
	var list []ranked
	for i := range layers {
		l := &layers[i]
		out := l.judge(p, estimates[l.key], noises[l.key])
		size := 0.0
		if out.WorseBy != nil {
			size = math.Abs(*out.WorseBy)
		}
		list = append(list, ranked{out, l.rank, size})
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		if a.Moved != b.Moved {
			if a.Moved {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.size, a.size))
	})
	out := make([]Layer, 0, len(list)+1)
	for _, l := range list {
		out = append(out, l.Layer)
	}
	if k := c.kernelOrServing(o); k != nil {
		out = append(out, *k)
	}
	return out
}

// judge tests the layer's own figure on the common requests.
func (l *layer) judge(p *pairs, e *estimate, n noise) Layer {
	out := Layer{Name: l.name, On: []Number{}}
	for i := range l.on {
		x := Number{Label: l.on[i].label, Unit: l.on[i].unit, Base: l.on[i].over(p.base), Head: l.on[i].over(p.head), Over: OverRun}
		if x.Base != nil || x.Head != nil {
			out.On = append(out.On, x)
		}
	}
	if math.IsNaN(e.diff) || math.IsInf(e.diff, 0) || math.IsNaN(e.se) || e.n < minEffective {
		out.Text = "not enough data: " + l.what
		return out
	}
	i := e.interval(n, alpha/float64(len(layers)))
	worse, low, high, least := e.diff, i.low, i.high, i.detectable
	if !e.absolute {
		worse, low, high, least = math.Expm1(worse), math.Expm1(low), math.Expm1(high), math.Expm1(least)
	}
	out.Absolute, out.WorseBy, out.SmallestDetectable = e.absolute, finite(worse), finite(least)
	clear := low > 0 || high < 0
	out.Moved = clear && math.Abs(worse) >= l.threshold
	switch {
	case out.Moved && worse > 0:
		out.Text = fmt.Sprintf("got %s (%s to %s)", out.by(), number(100*low), number(100*high))
	case out.Moved:
		out.Text = fmt.Sprintf("got %s (%s to %s)", out.by(), number(-100*high), number(-100*low))
	case clear:
		out.Text = fmt.Sprintf("moved by less than counts (%s, %s to %s; from %s it counts)", signed(worse, e.absolute), plus(100*low), plus(100*high), amount(l.threshold, e.absolute))
	default:
		out.Text = fmt.Sprintf("no move seen (%s, %s to %s; a change of %s would have been seen)", signed(worse, e.absolute), plus(100*low), plus(100*high), amount(least, e.absolute))
	}
	out.Text += fmt.Sprintf(": %s, over %d paired requests", l.what, e.samples)
	return out
}

// kernelThreshold is the change of the fixed-length run from which kernel and
// chip count as moved; such a run has no noise floor of its own.
const kernelThreshold = 0.05

// kernelOrServing holds the fixed-length runs of both sides against each other:
// what slows them too sits below the serving system.
func (c *Comparison) kernelOrServing(o *Options) *Layer {
	logs, on := 0.0, []Number{}
	pairs, notes := pairFixed(o)
	c.Notes = append(c.Notes, notes...)
	for _, p := range pairs {
		hv, ok1 := perGPU("output_token_throughput")(p.head)
		bv, ok2 := perGPU("output_token_throughput")(p.base)
		if !ok1 || !ok2 || hv <= 0 || bv <= 0 {
			continue
		}
		logs += math.Log(hv / bv)
		on = append(on, Number{Label: fmt.Sprintf("Fixed %s, output throughput", pointOf(p.head)), Unit: "tokens/s", Base: &bv, Head: &hv, Over: OverRun})
	}
	if len(on) == 0 {
		return nil
	}
	change := math.Expm1(logs / float64(len(on)))
	l := Layer{Name: LayerKernel, WorseBy: finite(0 - change), On: on, Moved: math.Abs(change) >= kernelThreshold}
	agentic := false
	for i := range c.Gated {
		switch c.Gated[i].Verdict {
		case Regression, Improvement, Changed:
			agentic = true
		}
	}
	still := fmt.Sprintf("did not move (output throughput %s; from %s it counts)", signed(change, false), amount(kernelThreshold, false))
	switch {
	case l.Moved:
		l.Text = fmt.Sprintf("got %s: output throughput of the fixed-length baseline, which has no noise floor of its own; it points to kernel or chip", l.by())
	case agentic:
		l.Name, l.Moved, l.WorseBy = LayerServing, true, nil
		l.Text = "the fixed-length baseline " + still + ", which points to the serving system, not to kernel or chip"
	default:
		l.Text = "the fixed-length baseline " + still
	}
	return &l
}
