package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/result/record"
)

// DefaultInterval is AIPerf's (spec/replay.md §8.3).
const DefaultInterval = 333 * time.Millisecond

// maxMarks bounds the marks of a recorder, and so its memory.
const maxMarks = 1024

// Options are what a recorder may be told. The zero value works.
type Options struct {
	Interval time.Duration // from sample to sample; 0 means DefaultInterval
	// Hold is how long a gauge keeps its last value while samples fail, in the
	// time-weighted mean; 0 means 5 s, but at least ten intervals.
	Hold time.Duration
	// Series takes every snapshot as a line of JSON (without Missing), in the
	// order of their stamps but for samples that overtook each other; nil keeps
	// none. Only the recorder's own goroutine writes, nobody waits for it but
	// Stop, and after the first error it writes no more.
	Series io.Writer
}

// Health is how the scraping itself went.
type Health struct {
	IntervalNs  int64  `json:"interval_ns"`
	Scrapes     int    `json:"scrapes"` // tried
	Failed      int    `json:"failed"`
	LastError   string `json:"last_error,omitempty"`
	SlowestNs   int64  `json:"slowest_ns,omitempty"` // of those that succeeded
	SeriesError string `json:"series_error,omitempty"`
}

// Recorder samples one engine's page until it is stopped, on a goroutine of its
// own with connections of its own.
type Recorder struct {
	source  Source
	options Options
	cancel  context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	health  Health
	levels  *levels
	marks   map[string]bool
	pending []Snapshot // to be written to the series
}

// Start begins to sample; the first sample is taken at once. Only a source that
// can't be asked at all is an error: a page that does not answer is counted in
// [Recorder.Health], since the engine may still be coming up. A source without
// a clock gets one.
func Start(source Source, o Options) (*Recorder, error) {
	if _, err := MetricsURL(source.URL); err != nil {
		return nil, err
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Hold <= 0 {
		o.Hold = max(5*time.Second, 10*o.Interval)
	}
	if source.Clock.Origin().IsZero() {
		source.Clock = record.NewClock()
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{
		source: source, options: o, cancel: cancel, done: make(chan struct{}),
		health: Health{IntervalNs: int64(o.Interval)},
		levels: newLevels(o.Hold, source.Clock.Now()), marks: map[string]bool{},
	}
	go r.run(ctx)
	return r, nil
}

// run samples at whole intervals from the start; one that is missed, because
// the page was late, is left out.
func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(r.options.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		if s, err := r.sample(ctx); err == nil {
			r.mu.Lock()
			r.keep(s)
			r.mu.Unlock()
		}
		r.write()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	r.write() // what was marked meanwhile
}

// Mark samples at once, beside the regular samples, and keeps the snapshot
// under a name: the start of a phase, the end of the last. It waits for the
// page, at most the source's timeout; a caller that can't wait gives it a
// goroutine. When the sample fails the mark is set all the same, for the
// gauges' windows. Names are used once.
func (r *Recorder) Mark(ctx context.Context, name string) (Snapshot, error) {
	r.mu.Lock()
	err := r.claim(name)
	r.mu.Unlock()
	if err != nil {
		return Snapshot{}, err
	}
	s, err := r.sample(ctx)
	r.mu.Lock()
	if err != nil {
		r.levels.cut(name, r.source.Clock.Now(), nil)
	} else {
		r.keep(s)
		r.levels.cut(name, s.At, &s)
	}
	r.mu.Unlock()
	if err != nil {
		return Snapshot{}, fmt.Errorf("mark %q: %w", name, err)
	}
	return s, nil
}

func (r *Recorder) claim(name string) error {
	switch {
	case name == "":
		return errors.New("a mark needs a name")
	case r.marks[name]:
		return fmt.Errorf("mark %q is set already", name)
	case len(r.marks) >= maxMarks:
		return fmt.Errorf("mark %q: there are %d marks already", name, maxMarks)
	}
	r.marks[name] = true
	return nil
}

// sample fetches and reads one page and counts how that went.
func (r *Recorder) sample(ctx context.Context) (Snapshot, error) {
	began := time.Now()
	page, err := r.source.Fetch(ctx)
	took := time.Since(began)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return Snapshot{}, err // stopped, which says nothing about the engine
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.Scrapes++
	if err != nil {
		r.health.Failed++
		r.health.LastError = err.Error()
		return Snapshot{}, err
	}
	r.health.SlowestNs = max(r.health.SlowestNs, int64(took))
	return Read(page), nil
}

// keep is called with r.mu held.
func (r *Recorder) keep(s Snapshot) {
	r.levels.add(&s)
	if r.options.Series != nil && r.health.SeriesError == "" {
		r.pending = append(r.pending, s)
	}
}

// write empties the pending snapshots into the series.
func (r *Recorder) write() {
	r.mu.Lock()
	lines := r.pending
	r.pending = nil
	r.mu.Unlock()
	slices.SortStableFunc(lines, func(a, b Snapshot) int { return cmp.Compare(a.At, b.At) })
	for _, s := range lines {
		s.Missing = nil // every line would repeat it
		line, err := json.Marshal(s, json.Deterministic(true))
		if err == nil {
			_, err = r.options.Series.Write(append(line, '\n'))
		}
		if err != nil {
			r.mu.Lock()
			r.health.SeriesError = fmt.Sprintf("metrics series: %v", err)
			r.pending = nil
			r.mu.Unlock()
			return
		}
	}
}

// Last is the latest snapshot; its stamp is 0 when there is none yet.
func (r *Recorder) Last() Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.levels.latest == nil {
		return Snapshot{}
	}
	return *r.levels.latest
}

// Window is what happened between two marks; it may be asked for at any time
// after both, also of a stopped recorder.
func (r *Recorder) Window(from, to string) (Window, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.levels.window(from, to)
}

// Health is how the scraping went so far.
func (r *Recorder) Health() Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health
}

// Stop ends the sampling, a fetch under way included, and waits until the
// series is written. Marks are still taken after it, but not written. It may be
// called again.
func (r *Recorder) Stop() Health {
	r.cancel()
	<-r.done
	return r.Health()
}
