package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
		x := Number{Label: l.on[i].label, Unit: l.on[i].unit, Base: l.on[i].over(p.base), Head: l.on[i].over(p.head)}
		if x.Base != nil || x.Head != nil {
			out.On = append(out.On, x)
		}
	}
	if math.IsNaN(e.diff) || math.IsInf(e.diff, 0) || math.IsNaN(e.se) || e.n < minEffective {
		out.Text = fmt.Sprintf("Not enough data on the %s.%s", l.what, out.numbers())
		return out
	}
	i := e.interval(n, alpha/float64(len(layers)))
	worse, low, high := e.diff, i.low, i.high
	if !e.absolute {
		worse, low, high = math.Expm1(worse), math.Expm1(low), math.Expm1(high)
	}
	out.WorseBy = finite(worse)
	clear := low > 0 || high < 0
	out.Moved = clear && math.Abs(worse) >= l.threshold
	unit, times := "%", 100.0
	if e.absolute {
		unit = "points"
	}
	verb := "did not move"
	switch {
	case out.Moved && worse > 0:
		verb = "got worse"
	case out.Moved:
		verb = "got better"
	case clear:
		verb = "moved less than counts"
	}
	out.Text = fmt.Sprintf("%s %s: %s %+.1f %s (%+.1f to %+.1f) over %d requests.%s",
		title(l.name), verb, l.what, times*worse, unit, times*low, times*high, e.samples, out.numbers())
	return out
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// numbers puts what a layer rests on into words.
func (l *Layer) numbers() string {
	var parts []string
	for _, n := range l.On {
		parts = append(parts, fmt.Sprintf("%s %s → %s", n.Label, text(n.Base, n.Unit), text(n.Head, n.Unit)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, "; ") + "."
}

func text(v *float64, unit string) string {
	switch {
	case v == nil:
		return "unknown"
	case unit == "ratio":
		return fmt.Sprintf("%.1f %%", 100**v)
	}
	return fmt.Sprintf("%.4g %s", *v, unit)
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
		logs += math.Log(bv / hv)
		on = append(on, Number{Label: fmt.Sprintf("Fixed %s, output throughput", pointOf(p.head)), Unit: "tokens/s", Base: &bv, Head: &hv})
	}
	if len(on) == 0 {
		return nil
	}
	worse := math.Expm1(logs / float64(len(on)))
	l := Layer{Name: LayerKernel, WorseBy: finite(worse), On: on, Moved: math.Abs(worse) >= kernelThreshold}
	agentic := false
	for i := range c.Gated {
		switch c.Gated[i].Verdict {
		case Regression, Improvement, Changed:
			agentic = true
		}
	}
	switch {
	case l.Moved:
		l.Text = fmt.Sprintf("The fixed-length baseline moved too (%+.1f %% slower): kernel or chip.%s", 100*worse, l.numbers())
	case agentic:
		l.Name, l.Moved = LayerServing, true
		l.Text = fmt.Sprintf("The fixed-length baseline did not move (%+.1f %% slower): the serving system, not kernel or chip.%s", 100*worse, l.numbers())
	default:
		l.Text = fmt.Sprintf("The fixed-length baseline did not move (%+.1f %% slower).%s", 100*worse, l.numbers())
	}
	return &l
}
