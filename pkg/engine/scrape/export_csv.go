package scrape

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// csvStats are the columns of each type's table, in AIPerf's order.
var csvStats = []struct {
	kind  kind
	stats []string
}{
	{kindGauge, []string{"avg", "min", "max", "std", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"}},
	{kindCounter, []string{"total", "rate", "rate_avg", "rate_min", "rate_max", "rate_std"}},
	{kindHistogram, []string{"count", "count_rate", "sum", "sum_rate", "avg", "p1_estimate", "p5_estimate", "p10_estimate",
		"p25_estimate", "p50_estimate", "p75_estimate", "p90_estimate", "p95_estimate", "p99_estimate"}},
	{kindUnknown, []string{"avg", "min", "max", "std", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"}},
}

// infoSuffix ends the names of gauges whose labels are settings.
const infoSuffix = "_info"

// WriteCSV writes the measured phase in the layout of AIPerf's
// server_metrics_export.csv: a table for each type, with a column for each label
// in it, and last the settings that gauges named …_info hold as labels.
func (e *Export) WriteCSV(w io.Writer) error {
	_, err := fmt.Fprintf(w, "# Server Metrics Export (CSV), in AIPerf's layout\n# aiperf_version: %s\n# schema_version: 1.0\n# benchmark_id: %s\n#\n",
		e.AIPerfVersion, e.BenchmarkID)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	for _, t := range csvStats {
		e.table(out, t.kind, t.stats)
	}
	e.info(out)
	out.Flush()
	return out.Error()
}

// names are the families of a type, in their order.
func (e *Export) names(k kind, info bool) (names []string) {
	for _, n := range slices.Sorted(maps.Keys(e.Metrics)) {
		if m := e.Metrics[n]; m.Type == string(k) && (k == kindGauge && strings.HasSuffix(n, infoSuffix)) == info {
			names = append(names, n)
		}
	}
	return names
}

func (e *Export) table(out *csv.Writer, k kind, stats []string) {
	names := e.names(k, false)
	if len(names) == 0 {
		return
	}
	set := map[string]bool{}
	for _, n := range names {
		for _, s := range e.Metrics[n].Series {
			for l := range s.Labels {
				set[l] = true
			}
		}
	}
	labels := slices.Sorted(maps.Keys(set))
	head := slices.Concat([]string{"Endpoint", "Type", "Metric", "Unit"}, stats, labels, []string{"Description"})
	if k == kindHistogram {
		head = append(head, "buckets")
	}
	_ = out.Write(head) // errors stick, and Flush tells
	for _, n := range names {
		m := e.Metrics[n]
		for _, s := range m.Series {
			row := []string{hostOf(s.EndpointURL), m.Type, n, m.Unit}
			for _, stat := range stats {
				row = append(row, decimal(s.Stats, stat))
			}
			for _, l := range labels {
				row = append(row, s.Labels[l])
			}
			row = append(row, m.Description)
			if k == kindHistogram {
				row = append(row, bucketText(s.Buckets))
			}
			_ = out.Write(row)
		}
	}
	_ = out.Write(nil) // an empty line
}

func (e *Export) info(out *csv.Writer) {
	names := e.names(kindGauge, true)
	if len(names) == 0 {
		return
	}
	_ = out.Write([]string{"Endpoint", "Metric", "Key", "Value", "Description"})
	for _, n := range names {
		m := e.Metrics[n]
		for _, s := range m.Series {
			for _, l := range slices.Sorted(maps.Keys(s.Labels)) {
				_ = out.Write([]string{hostOf(s.EndpointURL), n, l, s.Labels[l], m.Description})
			}
		}
	}
}

func decimal(stats map[string]float64, name string) string {
	v, ok := stats[name]
	switch {
	case !ok:
		return ""
	case name == "count":
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}

// bucketText is bound=count, by bound.
func bucketText(buckets map[string]*float64) string {
	bounds := slices.SortedFunc(maps.Keys(buckets), func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		if x < y {
			return -1
		}
		return 1
	})
	var parts []string
	for _, le := range bounds {
		if n := buckets[le]; n != nil {
			parts = append(parts, le+"="+strconv.FormatFloat(*n, 'f', 0, 64))
		}
	}
	return strings.Join(parts, ";")
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}
