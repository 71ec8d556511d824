package scrape

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// Export is what every family of the servers' pages did in a run, in the layout
// of AIPerf's server_metrics_export.json (spec/inferencex.md §4.1, spec/replay.md
// §8.3). Its metrics are those of the measured phase; the warm-up's stand apart.
// Unlike AIPerf's, its time slices have no buckets of histograms.
type Export struct {
	SchemaVersion string                  `json:"schema_version"`
	AIPerfVersion string                  `json:"aiperf_version"` // names this program, because AIPerf didn't make it
	BenchmarkID   string                  `json:"benchmark_id"`
	Summary       ExportSummary           `json:"summary"`
	MetricsPhase  string                  `json:"metrics_phase"`
	Metrics       map[string]ExportMetric `json:"metrics"`
	Warmup        map[string]ExportMetric `json:"warmup_metrics,omitzero"`
	// Notes say what was left out; AIPerf has none.
	Notes []string `json:"notes,omitzero"`
}

// ExportSummary says what was asked, and how it answered. Stamps are wall time in
// nanoseconds since 1970.
type ExportSummary struct {
	EndpointsConfigured []string                  `json:"endpoints_configured"`
	EndpointsSuccessful []string                  `json:"endpoints_successful"`
	StartTime           time.Time                 `json:"start_time"` // of the measured phase
	EndTime             time.Time                 `json:"end_time"`
	EndpointInfo        map[string]ExportEndpoint `json:"endpoint_info"`
	PhaseTimeRanges     map[string]ExportRange    `json:"phase_time_ranges"`
}

// ExportEndpoint is how one server's page was read.
type ExportEndpoint struct {
	TotalFetches           int      `json:"total_fetches"`
	FirstFetchNs           int64    `json:"first_fetch_ns"`
	LastFetchNs            int64    `json:"last_fetch_ns"`
	AvgFetchLatencyMs      float64  `json:"avg_fetch_latency_ms"`
	UniqueUpdates          int      `json:"unique_updates"` // pages that differed from the one before
	FirstUpdateNs          int64    `json:"first_update_ns"`
	LastUpdateNs           int64    `json:"last_update_ns"`
	DurationSeconds        float64  `json:"duration_seconds"`
	AvgUpdateIntervalMs    *float64 `json:"avg_update_interval_ms,omitzero"`
	MedianUpdateIntervalMs *float64 `json:"median_update_interval_ms,omitzero"`
}

// ExportRange is a phase.
type ExportRange struct {
	StartNs int64 `json:"start_ns"`
	EndNs   int64 `json:"end_ns"`
}

// ExportMetric is one family. The name of a counter has no _total.
type ExportMetric struct {
	Type        string         `json:"type"` // gauge, counter, histogram or unknown
	Description string         `json:"description,omitzero"`
	Unit        string         `json:"unit,omitzero"`
	Series      []ExportSeries `json:"series"`
}

// ExportSeries is one series of one server. Stats are, of a gauge, avg, min,
// max, std and p1 to p99 of its samples; of a counter, total (its increase) and
// rate, with slices also rate_avg, rate_min, rate_max and rate_std over them; of
// a histogram, count, sum, avg, count_rate, sum_rate and p1_estimate to
// p99_estimate, linear within a bucket.
type ExportSeries struct {
	EndpointURL string             `json:"endpoint_url"`
	Labels      map[string]string  `json:"labels"`
	Stats       map[string]float64 `json:"stats"`
	// Buckets is the cumulative increase by upper bound; null where the server's
	// counts fell, so that nobody takes a part for the whole.
	Buckets    map[string]*float64 `json:"buckets,omitzero"`
	Timeslices []ExportSlice       `json:"timeslices,omitzero"`
}

// ExportSlice is a part of the phase, of --slice-duration.
type ExportSlice struct {
	StartNs    int64    `json:"start_ns"`
	EndNs      int64    `json:"end_ns"`
	IsComplete *bool    `json:"is_complete,omitzero"` // only when it is not
	Avg        *float64 `json:"avg,omitzero"`
	Min        *float64 `json:"min,omitzero"`
	Max        *float64 `json:"max,omitzero"`
	Total      *float64 `json:"total,omitzero"`
	Rate       *float64 `json:"rate,omitzero"`
	Count      *float64 `json:"count,omitzero"`
	Sum        *float64 `json:"sum,omitzero"`
}

// Phases names the marks of an export's phases. The warm-up ends where the
// measured phase begins; an empty name leaves it out.
type Phases struct {
	Warmup, Measured, End string
}

// Add puts a recorder's pages into the export. A recorder without a ledger, or
// one that lacks a mark of the measured phase, is noted.
func (e *Export) Add(r *Recorder, p Phases) {
	r.mu.Lock()
	defer r.mu.Unlock()
	url := visible(r.page)
	e.Summary.EndpointsConfigured = append(e.Summary.EndpointsConfigured, url)
	l := r.ledger
	if l == nil || l.pages.fetches == 0 {
		e.Notes = append(e.Notes, url+": no page was read")
		return
	}
	x := &exporter{ledger: l, url: url, origin: r.source.Clock.Origin()}
	e.Summary.EndpointsSuccessful = append(e.Summary.EndpointsSuccessful, url)
	if e.Summary.EndpointInfo == nil {
		e.Summary.EndpointInfo, e.Summary.PhaseTimeRanges = map[string]ExportEndpoint{}, map[string]ExportRange{}
		e.Metrics = map[string]ExportMetric{}
	}
	e.Summary.EndpointInfo[url] = x.endpoint()
	measured, err := l.between(p.Measured, p.End)
	if err != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("%s: %v", url, err))
		return
	}
	x.fill(e.Metrics, measured)
	e.Summary.phase("profiling", x.wall(measured))
	if warmup, err := l.between(p.Warmup, p.Measured); p.Warmup != "" && err == nil {
		if e.Warmup == nil {
			e.Warmup = map[string]ExportMetric{}
		}
		x.fill(e.Warmup, warmup)
		e.Summary.phase("warmup", x.wall(warmup))
	}
	if l.dropped > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%s: %d series beyond the first %d were left out", url, l.dropped, maxAccounts))
	}
	if l.cells >= maxCells {
		e.Notes = append(e.Notes, url+": not every series has all its time slices")
	}
}

// Configured adds an address that never became a recorder.
func (e *Export) Configured(url string) {
	e.Summary.EndpointsConfigured = append(e.Summary.EndpointsConfigured, visible(url))
}

func (s *ExportSummary) phase(name string, r ExportRange) {
	if before, ok := s.PhaseTimeRanges[name]; ok {
		r.StartNs, r.EndNs = min(r.StartNs, before.StartNs), max(r.EndNs, before.EndNs)
	}
	s.PhaseTimeRanges[name] = r
	if name == "profiling" {
		s.StartTime, s.EndTime = time.Unix(0, r.StartNs), time.Unix(0, r.EndNs)
	}
}

// window is the segments of a ledger from one mark to another.
type window struct {
	first, last int // segments, last excluded
	start, end  record.Stamp
}

func (l *ledger) between(from, to string) (window, error) {
	find := func(name string) int {
		return slices.IndexFunc(l.segments, func(s span) bool { return s.name == name && name != "" })
	}
	a, b := find(from), find(to)
	if a < 0 || b <= a {
		return window{}, fmt.Errorf("no marks from %q to %q", from, to)
	}
	return window{a, b, l.segments[a].start, l.segments[b].start}, nil
}

// exporter writes one server's series.
type exporter struct {
	*ledger
	url    string
	origin time.Time
}

func (x *exporter) ns(at record.Stamp) int64 { return x.origin.Add(time.Duration(at)).UnixNano() }

func (x *exporter) wall(w window) ExportRange { return ExportRange{x.ns(w.start), x.ns(w.end)} }

func (x *exporter) endpoint() ExportEndpoint {
	p := &x.pages
	e := ExportEndpoint{
		TotalFetches: p.fetches, FirstFetchNs: x.ns(p.first), LastFetchNs: x.ns(p.last),
		AvgFetchLatencyMs: p.took.Seconds() * 1e3 / float64(p.fetches),
		UniqueUpdates:     p.updates, FirstUpdateNs: x.ns(p.firstUpdate), LastUpdateNs: x.ns(p.lastUpdate),
		DurationSeconds: time.Duration(p.lastUpdate - p.firstUpdate).Seconds(),
	}
	if p.between.n > 0 {
		e.AvgUpdateIntervalMs = &p.between.mean
		e.MedianUpdateIntervalMs = &p.between.percentiles([]float64{50})[0]
	}
	return e
}

func (x *exporter) fill(into map[string]ExportMetric, w window) {
	for _, id := range slices.Sorted(maps.Keys(x.accounts)) {
		a := x.accounts[id]
		s, ok := x.series(a, w)
		if !ok {
			continue
		}
		m, known := into[a.name]
		if !known {
			m = ExportMetric{Type: string(a.family.kind), Description: a.family.help, Unit: unitOf(a.name)}
		}
		if m.Type != string(a.family.kind) {
			continue // two servers disagree about a name
		}
		m.Series = append(m.Series, s)
		into[a.name] = m
	}
}

// unitOf is the unit that a family's name tells.
func unitOf(name string) string {
	name = strings.TrimSuffix(name, totalSuffix)
	for _, u := range []struct{ suffix, unit string }{
		{"_seconds", "seconds"}, {"_bytes", "bytes"}, {"_tokens", "tokens"}, {"_blocks", "blocks"},
		{"_perc", "percent"}, {"_percent", "percent"}, {"_ratio", "ratio"}, {"_reqs", "requests"}, {"_requests", "requests"},
	} {
		if strings.HasSuffix(name, u.suffix) {
			return u.unit
		}
	}
	if strings.Contains(name, ":num_requests_") {
		return "requests"
	}
	return ""
}
