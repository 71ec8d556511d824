package result

import (
	"bytes"
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
	"github.com/org/agentx-action/pkg/result/summary"
)

// aiperfSchemaVersion is that of profile_export_aiperf.json (spec/replay.md §8.2).
const aiperfSchemaVersion = "1.5"

// aiperfStats is AIPerf's block of one metric. A figure that a metric doesn't
// have is left out.
type aiperfStats struct {
	Unit  string   `json:"unit"`
	Avg   *float64 `json:"avg,omitzero"`
	P1    *float64 `json:"p1,omitzero"`
	P5    *float64 `json:"p5,omitzero"`
	P10   *float64 `json:"p10,omitzero"`
	P25   *float64 `json:"p25,omitzero"`
	P50   *float64 `json:"p50,omitzero"`
	P75   *float64 `json:"p75,omitzero"`
	P90   *float64 `json:"p90,omitzero"`
	P95   *float64 `json:"p95,omitzero"`
	P99   *float64 `json:"p99,omitzero"`
	Min   *float64 `json:"min,omitzero"`
	Max   *float64 `json:"max,omitzero"`
	Std   *float64 `json:"std,omitzero"`
	Count *int     `json:"count,omitzero"`
	Sum   *float64 `json:"sum,omitzero"`
}

func statsBlock(s summary.Stats) aiperfStats {
	return aiperfStats{Unit: s.Unit, Avg: &s.Avg, P1: &s.P1, P5: &s.P5, P10: &s.P10, P25: &s.P25, P50: &s.P50, P75: &s.P75, P90: &s.P90,
		P95: &s.P95, P99: &s.P99, Min: &s.Min, Max: &s.Max, Std: &s.Std, Count: &s.Count, Sum: &s.Sum}
}

func weightedBlock(w summary.Weighted) aiperfStats {
	return aiperfStats{Unit: w.Unit, Avg: &w.Avg, P50: &w.P50, P90: &w.P90, P95: &w.P95, P99: &w.P99, Min: &w.Min, Max: &w.Max, Std: &w.Std}
}

func adjustedBlock(a summary.Adjusted) aiperfStats {
	return aiperfStats{Unit: a.Unit, P1: a.P1, P5: a.P5, P10: a.P10, P25: a.P25, P50: a.P50, P75: a.P75, P90: a.P90, P95: a.P95, P99: a.P99, Min: a.Min, Count: &a.Count}
}

// own are the metrics that AIPerf doesn't know.
var own = func() map[string]bool {
	out := map[string]bool{"output_token_throughput_per_gpu": true, "total_token_throughput_per_gpu": true}
	for _, m := range record.Metrics() {
		if m.Own {
			out[m.Key] = true
		}
	}
	return out
}()

// aiperfMetrics gives one block a metric: distributions and single figures.
func (d *Document) aiperfMetrics() map[string]aiperfStats {
	out := map[string]aiperfStats{}
	for key, s := range d.Metrics.Request {
		out[key] = statsBlock(s)
	}
	for key, v := range d.Metrics.Run {
		out[key] = aiperfStats{Unit: v.Unit, Avg: &v.Value}
	}
	// AIPerf writes the overflows a second time when there are some.
	if v, ok := d.Metrics.Run["context_overflow_count"]; ok && v.Value > 0 {
		out["skipped_context_overflow_count"] = aiperfStats{Unit: v.Unit, Avg: &v.Value}
	}
	for key, a := range d.Metrics.Adjusted {
		out[key] = adjustedBlock(a)
	}
	for key, w := range d.Load.Curves {
		out[key] = weightedBlock(w)
	}
	if s := d.Cache.TheoreticalInstant; s != nil {
		pct, n := 100*s.Rate, int(s.Total)
		out["theoretical_prefix_cache_hit"] = aiperfStats{Unit: "%", Avg: &pct, Sum: &s.Hit, Count: &n}
	}
	maps.DeleteFunc(out, func(key string, _ aiperfStats) bool { return own[key] })
	return out
}

// AIPerf gives profile_export_aiperf.json: the document in AIPerf's layout.
// aiperf_version names this program, because AIPerf didn't make it.
func (d *Document) AIPerf() ([]byte, error) {
	top := map[string]any{
		"schema_version":                     aiperfSchemaVersion,
		"aiperf_version":                     d.Program.Name + " " + d.Program.Version,
		"benchmark_id":                       d.RunID,
		"start_time":                         d.StartedAt,
		"end_time":                           d.EndedAt,
		"was_cancelled":                      d.Outcome.Cancelled,
		"input_config":                       d.aiperfConfig(),
		"run_info":                           d.aiperfRunInfo(),
		"metadata":                           d.aiperfMetadata(),
		"error_summary":                      d.aiperfErrors(),
		"warmup_metrics":                     d.aiperfWarmup(),
		"branch_stats":                       d.aiperfBranches(),
		"runtime_submission_invalid_reasons": d.aiperfRuntimeReasons(),
	}
	for key, s := range d.aiperfMetrics() {
		top[key] = s
	}
	return encode(top)
}

type aiperfMeta struct {
	Scenario                 string           `json:"scenario,omitzero"`
	SubmissionValid          *bool            `json:"submission_valid,omitzero"`
	SubmissionInvalidReasons []string         `json:"submission_invalid_reasons"`
	Dataset                  *aiperfDataset   `json:"dataset,omitzero"`
	Coverage                 []aiperfCoverage `json:"metric_duration_coverage"`
}

type aiperfDataset struct {
	SourceType    string `json:"source_type,omitzero"`
	Loader        string `json:"loader,omitzero"`
	HFDatasetName string `json:"hf_dataset_name,omitzero"`
	HFSplit       string `json:"hf_split,omitzero"`
	Entries       int    `json:"num_dataset_entries"`
}

type aiperfCoverage struct {
	summary.Coverage
	RequiredRatio float64 `json:"required_ratio"`
}

func (d *Document) aiperfMetadata() aiperfMeta {
	m := aiperfMeta{
		Scenario: d.Scenario.Name, SubmissionValid: d.Validity.SubmissionValid,
		SubmissionInvalidReasons: d.Validity.SubmissionInvalidReasons, Coverage: []aiperfCoverage{},
	}
	if c := d.Corpus; c != nil {
		m.Dataset = &aiperfDataset{c.SourceType, c.Loader, c.HFDatasetName, c.HFSplit, c.Kept}
	}
	if d.Coverage != nil && d.Scenario.CoverageRequired != nil {
		m.Coverage = append(m.Coverage, aiperfCoverage{*d.Coverage, *d.Scenario.CoverageRequired})
	}
	return m
}

// aiperfRuntimeReasons are the reasons that only the run itself could show.
func (d *Document) aiperfRuntimeReasons() []string {
	out := []string{}
	for _, r := range d.Validity.SubmissionInvalidReasons {
		if r != "unsafe_override" {
			out = append(out, r)
		}
	}
	return out
}

// aiperfConfig holds the settings that readers of the file look at.
func (d *Document) aiperfConfig() any {
	s := &d.Settings
	phase := map[string]any{"name": "profiling", "kind": "profiling", "concurrency": s.Concurrency}
	if d.Mode == ModeAgentic {
		phase["timing_mode"] = "agentic_replay"
	}
	for key, v := range map[string]*float64{
		"duration": s.DurationS, "grace_period": s.GraceS, "trajectory_start_min_ratio": s.StartMinRatio, "trajectory_start_max_ratio": s.StartMaxRatio,
		"system_idle_gap_cap_seconds": s.SystemIdleCapS, "trace_idle_gap_cap_seconds": s.TreeIdleCapS, "failed_request_threshold": s.FailedRequestThreshold,
	} {
		if v != nil {
			phase[key] = *v
		}
	}
	if s.WarmupRequestsPerLane != nil {
		phase["warmup_requests_per_lane"] = *s.WarmupRequestsPerLane
	}
	return map[string]any{
		"scenario": d.Scenario.Name,
		"models":   map[string]any{"items": []any{map[string]any{"name": s.Model}}},
		"endpoint": map[string]any{"urls": []string{d.Engine.URL}, "type": "chat", "path": "/v1/chat/completions", "streaming": true,
			"use_server_token_count": s.Counting != record.CountClient},
		"phases": []any{phase},
	}
}

func (d *Document) aiperfRunInfo() any {
	info := map[string]any{
		"benchmark_id": d.RunID, "trial": 0, "run_label": "run_0001",
		"variation_label": "base", "variation_index": 0, "variation_values": map[string]any{},
	}
	if d.Settings.Seed != nil {
		info["random_seed"] = *d.Settings.Seed
	}
	if len(d.Command) > 0 {
		info["cli_command"] = strings.Join(d.Command, " ")
	}
	return info
}

type aiperfErrorCount struct {
	Details record.AIPerfError `json:"error_details"`
	Count   int                `json:"count"`
}

func (d *Document) aiperfErrors() []aiperfErrorCount {
	out := []aiperfErrorCount{}
	for _, e := range d.Errors {
		out = append(out, aiperfErrorCount{record.AIPerfError{Code: e.Code, Type: e.Type, Message: e.Message}, e.Count})
	}
	return out
}

func (d *Document) aiperfWarmup() map[string]aiperfStats {
	out := map[string]aiperfStats{}
	for key, s := range d.Metrics.Warmup {
		if !own[key] {
			out[key] = statsBlock(s)
		}
	}
	w := d.Requests.Warmup
	for key, n := range map[string]int{"request_count": w.OK, "error_request_count": w.Errors} {
		v := float64(n)
		out[key] = aiperfStats{Unit: "requests", Avg: &v}
	}
	return out
}

func (d *Document) aiperfBranches() map[string]int {
	trees := 0
	for _, n := range d.Sessions.Trees {
		trees += n
	}
	return map[string]int{"trees": trees, "children_spawned": d.Sessions.Children, "joins_passed": d.Sessions.Joins}
}

// AIPerfCSV gives profile_export_aiperf.csv: first the distributions, then the
// single figures, each with its unit in its name.
func (d *Document) AIPerfCSV() ([]byte, error) {
	columns := []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{append([]string{"Metric"}, columns...)}
	var single [][]string
	all := d.aiperfMetrics()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		s := all[key]
		name := csvLabel(key, s.Unit)
		if s.P50 == nil && s.Avg != nil {
			single = append(single, []string{name, decimal(s.Avg)})
			continue
		}
		row := []string{name}
		for _, v := range []*float64{s.Avg, s.Min, s.Max, s.Sum, s.P1, s.P5, s.P10, s.P25, s.P50, s.P75, s.P90, s.P95, s.P99, s.Std} {
			row = append(row, decimal(v))
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	if err := w.WriteAll(append([][]string{{"Metric", "Value"}}, single...)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// csvLabel is AIPerf's label of a row. Counts stand without a unit.
func csvLabel(key, unit string) string {
	name, ok := map[string]string{
		"completed_request_count":             "Completed Requests (Success + Error)",
		"overall_usage_prompt_cache_read_pct": "Overall Usage Prompt Cache Read %",
		"total_isl":                           "Total Input Sequence Length",
		"total_osl":                           "Total Output Sequence Length",
	}[key]
	if !ok {
		name = metricName(key)
	}
	if unit == "requests" || unit == "count" {
		return name
	}
	return name + " (" + unit + ")"
}

// metricName is what people call the metric.
func metricName(key string) string {
	if m, ok := record.MetricByKey(key); ok {
		return m.Name
	}
	words := strings.Split(key, "_")
	for i, w := range words {
		switch {
		case w == "isl" || w == "osl":
			words[i] = strings.ToUpper(w)
		case w != "":
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// decimal is empty for a figure that is absent.
func decimal(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// writeAIPerfRecords turns records.jsonl into profile_export.jsonl.
func writeAIPerfRecords(w io.Writer, records io.Reader, origin time.Time, c record.Counting) error {
	out := record.NewWriter[record.AIPerf](w)
	err := feed(records, FileRecords, func(r *record.Record) {
		_ = r.Check() // turns a contradiction into a failure, as in the figures
		if line, ok := record.AIPerfLine(r, origin, c); ok {
			// A value that JSON can't hold can't come out of JSON; a failing
			// writer shows in Flush.
			_ = out.Write(&line)
		}
	}, new(bool))
	if err != nil {
		return err
	}
	return out.Flush()
}
