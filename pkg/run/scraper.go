package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/load/replay"
	"github.com/org/agentx-action/pkg/result"
)

// Marks between which the engine's counters are taken.
const (
	markStart     = "start"     // before the first probe
	markWarmup    = "warmup"    // after the probes, before the first primer
	markProfiling = "profiling" // before the first measured request: the end of the last warm-up step
	markEnd       = "end"       // after the last
	markStop      = "stop"      // after everything
)

// scraper reads the metrics of the engine, or of all engines and what stands in
// front of them, while a run goes on. The zero scraper reads nothing.
type scraper struct {
	ctx       context.Context
	runID     string
	recorders []*scrape.Recorder
	pages     []string // their addresses
	silent    []string // addresses without an answer
	series    seriesFile
	before    []scrape.Snapshot
	notes     []string
	pending   sync.WaitGroup
	dir       string
	say       *progress
	telemetry *telemetry
}

// newScraper starts reading. An engine without metrics is noted, not refused.
func newScraper(ctx context.Context, s *session) *scraper {
	k := &scraper{ctx: context.WithoutCancel(ctx), runID: s.runID, say: s.say}
	k.telemetry = newTelemetry(k.ctx, s)
	if s.NoMetrics {
		return k
	}
	urls := s.MetricsURLs
	if len(urls) == 0 {
		urls = []string{s.Client.URL}
	}
	client := metricsClient(s)
	for _, base := range urls {
		if err := k.start(base, s, client); err != nil {
			k.note("no engine metrics: %v", err)
			k.silent = append(k.silent, base)
		}
	}
	return k
}

// metricsClient is apart from the load's connections, but goes the same way.
func metricsClient(s *session) *http.Client {
	client := &http.Client{}
	if s.Client.Dial != nil || s.Client.TLS != nil {
		client.Transport = &http.Transport{DialContext: s.Client.Dial, TLSClientConfig: s.Client.TLS}
	}
	return client
}

func (k *scraper) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	k.notes = append(k.notes, text)
	k.say.say("note: %s", text)
}

func (k *scraper) start(base string, s *session, client *http.Client) error {
	address, err := scrape.MetricsURL(base)
	if err != nil {
		return err
	}
	o := scrape.Options{Series: &k.series, Ledger: true}
	if slice := s.Settings.SliceDurationS; slice != nil {
		o.Slice = time.Duration(*slice * 1e9)
	}
	r, err := scrape.Start(scrape.Source{URL: address, Client: client, APIKey: s.Client.APIKey, Clock: s.clock}, o)
	if err != nil {
		return err
	}
	first, err := r.Mark(k.ctx, markStart)
	if err != nil {
		r.Stop()
		return err
	}
	k.recorders, k.pages, k.before = append(k.recorders, r), append(k.pages, address), append(k.before, first)
	return nil
}

// keep gives the series their files.
func (k *scraper) keep(dir string) error {
	k.dir = dir
	err := k.telemetry.keep(dir)
	if len(k.recorders) > 0 {
		err = errors.Join(err, k.series.open(filepath.Join(dir, result.FileSeries)))
	}
	return err
}

// phase takes the counters at the border of a phase. Between the phases nothing
// is in flight, so waiting for the page costs nothing; the end of the measured
// phase must not wait.
func (k *scraper) phase(p replay.Phase) {
	switch {
	case !p.End.Seen():
	case p.Name == "profiling":
		for _, r := range k.recorders {
			k.pending.Go(func() { _, _ = r.Mark(k.ctx, markEnd) })
		}
	default:
		k.mark(markProfiling + "_after_" + p.Name)
	}
}

// markTimeout bounds the wait for a metrics page.
const markTimeout = 2 * time.Second

// mark takes the counters now, of all pages at once.
func (k *scraper) mark(name string) { k.markOf(k.recorders, name) }

func (k *scraper) markOf(recorders []*scrape.Recorder, name string) {
	ctx, cancel := context.WithTimeout(k.ctx, markTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, r := range recorders {
		all.Go(func() { _, _ = r.Mark(ctx, name) })
	}
	all.Wait()
}

// stop ends the reading and writes the export. What cannot be written is noted:
// the run's own figures don't rest on it.
func (k *scraper) stop() {
	k.pending.Wait()
	k.mark(markStop)
	for _, r := range k.recorders {
		if health := r.Stop(); health.SeriesError != "" {
			k.note("%s", health.SeriesError)
		}
	}
	k.telemetry.stop()
	if err := k.series.close(); err != nil {
		k.note("metrics series: %v", err)
	}
	if err := k.export(); err != nil {
		k.note("metrics export: %v", err)
	}
}

// export writes what every family did, in AIPerf's layout.
func (k *scraper) export() error {
	if k.dir == "" || len(k.recorders) == 0 {
		return nil
	}
	e := &scrape.Export{SchemaVersion: "1.1", AIPerfVersion: "agentx " + Version, BenchmarkID: k.runID, MetricsPhase: "profiling"}
	for _, r := range k.recorders {
		e.Add(r, scrape.Phases{Warmup: markWarmup, Measured: k.measured(), End: markEnd})
	}
	for _, base := range k.silent {
		e.Configured(base)
	}
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	text, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return err
	}
	return errors.Join(result.WriteFile(k.dir, result.FileServerMetrics, text), result.WriteAtomic(root, result.FileServerMetricsCSV, e.WriteCSV))
}

// fill adds what the engine counted to the facts.
func (k *scraper) fill(f *result.EngineFacts) {
	f.MetricsExpected = len(k.recorders) > 0 || len(k.notes) > 0
	if len(k.recorders) == 0 {
		f.MetricsNotes = k.notes
		return
	}
	engines, fronts := k.sides()
	if repeated := len(k.recorders) - len(engines) - len(fronts); repeated > 0 {
		k.note("%d of the metrics pages repeat the engines of another and count once", repeated)
	}
	f.MetricsNotes = k.notes
	if kind := engines[0].Last().Engine; f.Name == "" && kind != scrape.Unknown {
		f.Name = string(kind)
	}
	if n := len(engines); n > 1 {
		f.Replicas = &n
	}
	f.ColdStart = k.processed(engines)
	measured := k.measured()
	if c, ok := counters(engines, fronts, markWarmup, measured); ok && measured != markWarmup {
		f.Warmup, c.Missing = c, nil // said once, of the measured phase
	}
	if c, ok := counters(engines, fronts, measured, markEnd); ok {
		f.Profiling = c
		f.KVCacheTokens = whole(level(engines, scrape.KVCapacity))
	}
	if c, ok := counters(engines, fronts, markWarmup, markStop); ok {
		f.Whole, c.Missing = c, nil
	}
}

// processed is what the engines had done before our probes; nil where one of them
// doesn't say, or where a router answers in their place.
func (k *scraper) processed(engines []*scrape.Recorder) *result.ColdStart {
	total := 0.0
	for i, r := range k.recorders {
		if !slices.Contains(engines, r) {
			continue
		}
		v, counted := k.before[i].Counters[scrape.PromptTokens]
		if _, notYet := k.before[i].Missing[scrape.PromptTokens]; k.before[i].Engine.Front() || !counted && !notYet {
			return nil
		}
		total += v
	}
	return &result.ColdStart{PromptTokensBefore: &total}
}

// sides parts the engines, each once, from what stands in front of them. Without
// an engine's page the first front counts as the engine.
func (k *scraper) sides() (engines, fronts []*scrape.Recorder) {
	for _, r := range k.recorders {
		if r.Last().Engine.Front() {
			fronts = append(fronts, r)
		} else {
			engines = append(engines, r)
		}
	}
	if len(engines) == 0 {
		engines, fronts = fronts[:1], fronts[1:]
	}
	return scrape.Distinct(engines, markStart, markStop), fronts
}

// measured is the mark at which the measured phase began.
func (k *scraper) measured() string {
	for _, m := range []string{markProfiling + "_after_pressure", markProfiling + "_after_primers", markProfiling + "_after_warmup"} {
		if _, err := k.recorders[0].Window(m, markStop); err == nil {
			return m
		}
	}
	if _, err := k.recorders[0].Window(markWarmup, markEnd); err == nil {
		return markWarmup // there was no warm-up
	}
	return ""
}

// level is the newest value of a gauge over all recorders.
func level(recorders []*scrape.Recorder, name scrape.Name) (sum float64, ok bool) {
	for _, r := range recorders {
		if v, known := r.Last().Gauges[name]; known {
			sum, ok = sum+v, true
		}
	}
	return sum, ok
}

func whole(v float64, ok bool) *int64 {
	if !ok {
		return nil
	}
	n := int64(v)
	return &n
}
