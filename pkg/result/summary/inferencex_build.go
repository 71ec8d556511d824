package summary

import (
	"math"
	"slices"

	"github.com/org/agentx-action/pkg/result/record"
)

type ixBuilder struct {
	accounting               IXAccounting
	ttft, e2el, itl, fullITL []float64
	norm, fullTPS            []float64
	in, out, expected        []float64
	ends                     []record.Stamp
	first, last              record.Stamp
	sumIn, sumOut            int64
	hasIn, hasOut            bool
}

var (
	fullITL, _ = record.MetricByKey("full_response_inter_token_latency")
	fullTPS, _ = record.MetricByKey("full_response_output_token_throughput_per_user")
)

// account counts every record that is a line of profile_export.jsonl.
func (x *ixBuilder) account(r *record.Record) {
	if r.Seen.Outcome == record.Overflow || !r.Seen.Sent.Seen() {
		return
	}
	a := &x.accounting
	a.RecordsTotal++
	warm, bad := r.Asked.Phase == record.PhaseWarmup, r.Seen.Outcome != record.OK
	if warm {
		a.RecordsWarmupDropped++
	}
	if bad {
		a.RecordsErrorDropped++
		x.category(r)
	}
	if warm || bad {
		a.RecordsDroppedTotal++
	} else {
		a.RecordsProfiled++
	}
}

func (x *ixBuilder) category(r *record.Record) {
	name := "unknown"
	switch {
	case r.Seen.Outcome == record.Censored:
		name = "RequestCancellationError"
	case r.Seen.Error != nil && r.Seen.Error.Type != "":
		name = r.Seen.Error.Type
	}
	if x.accounting.ErrorCategories == nil {
		x.accounting.ErrorCategories = map[string]int{}
	}
	if _, ok := x.accounting.ErrorCategories[name]; !ok && len(x.accounting.ErrorCategories) >= maxErrorGroups {
		name = "other"
	}
	x.accounting.ErrorCategories[name]++
}

// add takes a success of the profiling phase.
func (x *ixBuilder) add(r *record.Record, c record.Counting) {
	take := func(into *[]float64, m record.Metric, scale float64) float64 {
		v, ok := m.Of(r, c)
		v *= scale
		if !ok || !(v > 0) || math.IsInf(v, 0) {
			return 0
		}
		*into = append(*into, v)
		return v
	}
	take(&x.ttft, ttft, 1e-3)
	latency := take(&x.e2el, e2e, 1e-3)
	take(&x.itl, itl, 1e-3)
	take(&x.fullITL, fullITL, 1e-3)
	take(&x.fullTPS, fullTPS, 1)
	if n, ok := r.InputTokens(c); ok {
		x.in = append(x.in, float64(n))
		x.sumIn += n
		x.hasIn = true
	}
	if n, ok := r.OutputTokens(); ok {
		x.out = append(x.out, float64(n))
		x.sumOut += n
		x.hasOut = true
		if n > 0 && latency > 0 {
			x.norm = append(x.norm, latency/float64(n))
		}
	}
	if r.Asked.RecordedOut > 0 {
		x.expected = append(x.expected, float64(r.Asked.RecordedOut))
	}
	if x.first == 0 || r.Seen.Sent < x.first {
		x.first = r.Seen.Sent
	}
	x.last = max(x.last, r.Seen.End)
	x.ends = append(x.ends, r.Seen.End)
}

func (x *ixBuilder) figures(gpus int, instant *Share) *InferenceX {
	out := &InferenceX{RequestAccounting: x.accounting, QPS: x.qps()}
	if out.RequestAccounting.ErrorCategories == nil {
		out.RequestAccounting.ErrorCategories = map[string]int{}
	}
	out.Latency = IXLatency{
		TTFT: ixDist(x.ttft), E2EL: ixDist(x.e2el), ITL: ixDist(x.itl), TPOT: ixDist(x.itl),
		Intvty: inverted(x.itl), FullResponseITL: ixDist(x.fullITL), FullResponseIntvty: inverted(x.fullITL),
		E2ENormIntvty: inverted(x.norm),
	}
	out.Tokens = IXTokens{Input: ixDist(x.in), OutputActual: ixDist(x.out), OutputExpected: ixDist(x.expected)}
	out.Throughput = x.throughput(gpus)
	if instant != nil {
		v := round5(instant.Rate)
		out.Cache.TheoreticalCacheHitRate = &v
	}
	return out
}

func (x *ixBuilder) throughput(gpus int) IXThroughput {
	t := IXThroughput{FullResponsePerUser: ixDist(x.fullTPS)}
	s := secondsBetween(x.first, x.last)
	if len(x.ends) == 0 || s <= 0 {
		return t
	}
	d := round5(s)
	t.DurationSeconds = &d
	in, gen := float64(x.sumIn)/s, float64(x.sumOut)/s
	if x.hasIn {
		t.Input = &IXRate{round5(in)}
	}
	if x.hasOut {
		t.Output = &IXRate{round5(gen)}
	}
	if !x.hasIn || !x.hasOut {
		return t
	}
	t.Total = &IXRate{round5(in + gen)}
	if gpus > 0 {
		n := float64(gpus)
		t.PerGPU = &IXPerGPU{round5((in + gen) / n), round5(gen / n), round5(in / n), gpus}
	}
	return t
}

// maxQPSWindows bounds the windows: a run of 11 days.
const maxQPSWindows = 1_000_000

func (x *ixBuilder) qps() *IXQPS {
	if len(x.ends) == 0 {
		return nil
	}
	first, last := slices.Min(x.ends), slices.Max(x.ends)
	n := int(secondsBetween(first, last)) + 1
	if n > maxQPSWindows {
		return nil
	}
	counts := make([]float64, n)
	for _, e := range x.ends {
		counts[int(secondsBetween(first, e))]++
	}
	return &IXQPS{*ixDist(counts), 1, n}
}

// ixDist leaves values alone; they are sorted in a copy.
func ixDist(values []float64) *IXDist {
	d := rawDist(values)
	if d == nil {
		return nil
	}
	return d.rounded()
}

func rawDist(values []float64) *IXDist {
	s, ok := describe(slices.Clone(values), "")
	if !ok {
		return nil
	}
	return &IXDist{Mean: s.Avg, P50: s.P50, P75: s.P75, P90: s.P90, P95: s.P95, Std: s.Std}
}

// inverted is 1 over each statistic of positive values, and the deviation of
// the values' own inverses.
func inverted(values []float64) *IXDist {
	d := rawDist(values)
	if d == nil {
		return nil
	}
	inverse := make([]float64, len(values))
	for i, v := range values {
		inverse[i] = 1 / v
	}
	out := &IXDist{Mean: 1 / d.Mean, P50: 1 / d.P50, P75: 1 / d.P75, P90: 1 / d.P90, P95: 1 / d.P95}
	if own := rawDist(inverse); own != nil {
		out.Std = own.Std
	}
	return out.rounded()
}

func (d IXDist) rounded() *IXDist {
	return &IXDist{round5(d.Mean), round5(d.P50), round5(d.P75), round5(d.P90), round5(d.P95), round5(d.Std)}
}

func round5(v float64) float64 { return math.Round(v*1e5) / 1e5 }

// Flat gives the names that InferenceX' tables use downstream, e.g. p90_ttft
// (seconds), median_intvty (tokens/s/user), tput_per_gpu (spec/inferencex.md
// §2.4, §3.4).
func (x *InferenceX) Flat() map[string]float64 {
	out := map[string]float64{}
	for name, d := range map[string]*IXDist{
		"ttft": x.Latency.TTFT, "e2el": x.Latency.E2EL, "itl": x.Latency.ITL, "tpot": x.Latency.TPOT,
		"intvty": x.Latency.Intvty, "full_response_itl": x.Latency.FullResponseITL,
		"full_response_intvty": x.Latency.FullResponseIntvty, "e2e_norm_intvty": x.Latency.E2ENormIntvty,
	} {
		if d == nil {
			continue
		}
		for stat, v := range map[string]float64{"mean": d.Mean, "median": d.P50, "p75": d.P75, "p90": d.P90, "p95": d.P95, "std": d.Std} {
			out[stat+"_"+name] = v
		}
	}
	t := &x.Throughput
	if t.DurationSeconds != nil {
		out["duration_seconds"] = *t.DurationSeconds
	}
	if t.Total != nil {
		out["total_tput_tps"] = t.Total.TokensPerSecond
	}
	if t.PerGPU != nil {
		out["tput_per_gpu"], out["output_tput_per_gpu"], out["input_tput_per_gpu"] = t.PerGPU.TotalTputTPS, t.PerGPU.OutputTputTPS, t.PerGPU.InputTputTPS
	}
	return out
}
