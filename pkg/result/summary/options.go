package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/org/agentx-action/pkg/result/record"
)

// Options is what the figures depend on besides the records. The zero value
// works: everything that needs a missing option is absent.
type Options struct {
	// Counting says whose count is the input length; zero is the engine's.
	Counting record.Counting
	// ProfilingStart is the start of the profiling phase. Zero: the first
	// profiling request sent.
	ProfilingStart record.Stamp
	// DurationS is the duration asked of the profiling phase, in seconds,
	// without the grace period. Zero: up to the last profiling request's end.
	DurationS float64
	// ProfilingEnd is when the phase ended, its grace period included; a phase
	// that was cut short ends its window there. Zero: as asked.
	ProfilingEnd record.Stamp
	// GPUs is the number of GPUs the engine runs on; 0 leaves figures per GPU absent.
	GPUs int
	// SLOs define goodput; without any there is none.
	SLOs []SLO
	// SliceS is the length of a time slice in seconds; 0 means 60.
	SliceS float64
	// TemplateConstant and TemplatePerMessage are the tokens that the engine's
	// chat template adds to a request and to each of its messages, as calibrated.
	// Token drift is absent without both.
	TemplateConstant   *float64
	TemplatePerMessage *float64
	// Fixed is set for a run of the fixed-length baseline.
	Fixed *FixedOptions
}

// FixedOptions is what a fixed-length run was asked to be.
type FixedOptions struct {
	ISL, OSL    int // tokens
	Concurrency int // cap of requests in flight
}

// SLO is one condition that a good request meets: the metric at most the
// threshold, or at least where larger is better. Threshold is in the metric's
// display unit.
type SLO struct {
	// Key of a metric of a request.
	Metric string `json:"metric"`
	// In the metric's display unit.
	Threshold float64 `json:"threshold"`
}

// ParseSLOs reads AIPerf's --goodput form, "key:threshold key:threshold".
func ParseSLOs(text string) ([]SLO, error) {
	var out []SLO
	for _, part := range strings.Fields(text) {
		key, value, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("goodput %q: want metric:threshold, as in request_latency:2500", part)
		}
		if _, known := record.MetricByKey(key); !known {
			return nil, fmt.Errorf("goodput %q: no metric is called %q; there are %s", part, key, strings.Join(metricKeys(), ", "))
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("goodput %q: %q is no number", part, value)
		}
		out = append(out, SLO{key, v})
	}
	return out, nil
}

func metricKeys() []string {
	var keys []string
	for _, m := range record.Metrics() {
		keys = append(keys, m.Key)
	}
	return keys
}

type slo struct {
	metric    record.Metric
	threshold float64
}

// good reports whether r meets every condition; a missing value is not good.
func good(r *record.Record, slos []slo, c record.Counting) bool {
	for _, s := range slos {
		v, ok := s.metric.Of(r, c)
		if !ok || s.metric.Larger && v < s.threshold || !s.metric.Larger && v > s.threshold {
			return false
		}
	}
	return true
}
