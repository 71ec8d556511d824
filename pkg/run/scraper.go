package run

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"time"

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

// scraper reads the engine's metrics while a run goes on. The zero scraper reads
// nothing.
type scraper struct {
	ctx       context.Context
	recorders []*scrape.Recorder
	series    lateFile
	before    []scrape.Snapshot
	notes     []string
	pending   sync.WaitGroup
}

// newScraper starts reading. An engine without metrics is noted, not refused.
func newScraper(ctx context.Context, s *session) *scraper {
	k := &scraper{ctx: context.WithoutCancel(ctx)}
	if s.NoMetrics {
		return k
	}
	urls := s.MetricsURLs
	if len(urls) == 0 {
		urls = []string{s.Client.URL}
	}
	client := &http.Client{}
	if s.Client.Dial != nil {
		client.Transport = &http.Transport{DialContext: s.Client.Dial}
	}
	for _, base := range urls {
		if err := k.start(base, s, client); err != nil {
			k.notes = append(k.notes, err.Error())
			s.say.say("note: no engine metrics: %v", err)
		}
	}
	return k
}

func (k *scraper) start(base string, s *session, client *http.Client) error {
	address, err := scrape.MetricsURL(base)
	if err != nil {
		return err
	}
	o := scrape.Options{}
	if len(k.recorders) == 0 {
		o.Series = &k.series
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
	k.recorders, k.before = append(k.recorders, r), append(k.before, first)
	return nil
}

// keep gives the series its file.
func (k *scraper) keep(dir string) error {
	if len(k.recorders) == 0 {
		return nil
	}
	return k.series.open(filepath.Join(dir, result.FileSeries))
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

// mark takes the counters now.
func (k *scraper) mark(name string) {
	for _, r := range k.recorders {
		ctx, cancel := context.WithTimeout(k.ctx, markTimeout)
		_, _ = r.Mark(ctx, name)
		cancel()
	}
}

func (k *scraper) stop() {
	k.pending.Wait()
	k.mark(markStop)
	for _, r := range k.recorders {
		r.Stop()
	}
	k.series.close()
}

// fill adds what the engine counted to the facts.
func (k *scraper) fill(f *result.EngineFacts) {
	f.MetricsExpected = len(k.recorders) > 0 || len(k.notes) > 0
	if len(k.recorders) == 0 {
		return
	}
	if f.Name == "" {
		f.Name = string(k.before[0].Engine)
	}
	if n := len(k.recorders); n > 1 {
		f.Replicas = &n
	}
	var processed float64
	for _, s := range k.before {
		processed += s.Counters[scrape.PromptTokens]
	}
	f.ColdStart = &result.ColdStart{PromptTokensBefore: &processed} // taken before our probes
	measured := k.last(markProfiling+"_after_pressure", markProfiling+"_after_primers", markProfiling+"_after_warmup")
	if c, ok := k.window(markWarmup, measured); ok {
		f.Warmup = c
	}
	if c, ok := k.window(measured, markEnd); ok {
		f.Profiling = c
		f.KVCacheTokens = whole(k.level(scrape.KVCapacity))
	}
	if c, ok := k.window(markWarmup, markStop); ok {
		f.Whole = c
	}
}

// last is the first of the marks that was taken.
func (k *scraper) last(marks ...string) string {
	for _, m := range marks {
		if _, ok := k.window(m, markStop); ok {
			return m
		}
	}
	return ""
}

// window adds up the increases of all recorders between two marks.
func (k *scraper) window(from, to string) (*result.Counters, bool) {
	sum := &result.Counters{}
	for _, r := range k.recorders {
		w, err := r.Window(from, to)
		if err != nil {
			return nil, false
		}
		for name, to := range map[scrape.Name]**float64{
			scrape.PromptTokens: &sum.PromptTokens, scrape.GenerationTokens: &sum.GenerationTokens,
			scrape.Requests: &sum.Requests, scrape.Preemptions: &sum.Preemptions,
			scrape.PrefixQueries: &sum.PrefixCacheQueries, scrape.PrefixHits: &sum.PrefixCacheHits,
			scrape.ExternalQueries: &sum.ExternalCacheQueries, scrape.ExternalHits: &sum.ExternalCacheHits,
		} {
			if v, ok := w.Delta.Counters[name]; ok {
				add(to, v)
			}
		}
		for name, v := range w.Delta.Counters {
			if source, ok := name.Source(); ok {
				if sum.PromptTokensBySource == nil {
					sum.PromptTokensBySource = map[string]float64{}
				}
				sum.PromptTokensBySource[source] += v
			}
		}
		gauges(sum, w.Gauges)
	}
	return sum, true
}

// gauges adds one engine's levels: requests add up, shares of the cache don't.
func gauges(sum *result.Counters, g map[scrape.Name]scrape.Level) {
	if l, ok := g[scrape.Running]; ok {
		add(&sum.RunningMean, l.Mean)
		add(&sum.RunningMax, l.Max)
	}
	if l, ok := g[scrape.Waiting]; ok {
		add(&sum.WaitingMean, l.Mean)
		add(&sum.WaitingMax, l.Max)
	}
	if l, ok := g[scrape.KVUsageMean]; ok && sum.KVUsageMean == nil {
		add(&sum.KVUsageMean, l.Mean)
	}
	if l, ok := g[scrape.KVUsageMax]; ok {
		most := l.Max
		if sum.KVUsageMax != nil {
			most = max(most, *sum.KVUsageMax)
		}
		sum.KVUsageMax = &most
	}
}

func add(to **float64, v float64) {
	if *to == nil {
		*to = new(float64)
	}
	**to += v
}

// level is the newest value of a gauge over all recorders.
func (k *scraper) level(name scrape.Name) (sum float64, ok bool) {
	for _, r := range k.recorders {
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
