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
	// Series takes every snapshot as a [Line] of JSON (without Missing), one a
	// call, in the order of their stamps but for samples that overtook each other; nil keeps
	// none. Only the recorder's own goroutine writes, nobody waits for it but
	// Stop, and after the first error it writes no more.
	Series io.Writer
	// Ledger keeps account of every family on the page, for an [Export].
	Ledger bool
	// Slice is the length of the export's time slices; 0 has none.
	Slice time.Duration
}

// Line is one line of a series: a snapshot and whose it is.
type Line struct {
	Endpoint string `json:"endpoint"`
	Snapshot
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
	page    string // its address
	options Options
	cancel  context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	health  Health
	levels  *levels
	history history
	ledger  *ledger
	marks   map[string]bool
	pending []Snapshot // to be written to the series
}

// Start begins to sample; the first sample is taken at once. Only a source that
// can't be asked at all is an error: a page that does not answer is counted in
// [Recorder.Health], since the engine may still be coming up. A source without
// a clock gets one.
func Start(source Source, o Options) (*Recorder, error) {
	page, err := MetricsURL(source.URL)
	if err != nil {
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
		source: source, page: page, options: o, cancel: cancel, done: make(chan struct{}),
		health: Health{IntervalNs: int64(o.Interval)},
		levels: newLevels(o.Hold, source.Clock.Now()), marks: map[string]bool{},
	}
	if o.Ledger {
		r.ledger = newLedger(o.Slice)
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
	at, first := r.source.Clock.Now(), (*Snapshot)(nil)
	if err == nil {
		r.keep(s)
		at, first = s.At, &s.Snapshot
	}
	r.levels.cut(name, at, first)
	if r.ledger != nil {
		r.ledger.cut(name, at)
	}
	r.mu.Unlock()
	if err != nil {
		return Snapshot{}, fmt.Errorf("mark %q: %w", name, err)
	}
	return s.Snapshot, nil
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

// reading is one page as read.
type reading struct {
	Snapshot
	text []byte
	took time.Duration
}

// sample fetches and reads one page and counts how that went.
func (r *Recorder) sample(ctx context.Context) (reading, error) {
	began := time.Now()
	page, err := r.source.Fetch(ctx)
	took := time.Since(began)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return reading{}, err // stopped, which says nothing about the engine
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.Scrapes++
	if err != nil {
		r.health.Failed++
		r.health.LastError = err.Error()
		return reading{}, err
	}
	r.health.SlowestNs = max(r.health.SlowestNs, int64(took))
	return reading{Read(page), page.text, took}, nil
}

// keep is called with r.mu held.
func (r *Recorder) keep(read reading) {
	s := read.Snapshot
	r.levels.add(&s)
	r.history.add(&s)
	if r.ledger != nil {
		r.ledger.add(s.At, read.text, read.took)
	}
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
		line, err := json.Marshal(Line{visible(r.page), s}, json.Deterministic(true))
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
