package gpu

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/org/agentx-action/pkg/engine/scrape"
	"github.com/org/agentx-action/pkg/result/record"
)

// DefaultInterval is InferenceX' (spec/inferencex.md §3.7: gaps of 3 s fail).
const DefaultInterval = time.Second

// maxReadings bounds what a recorder keeps: 12 hours of 24 GPUs, 32 MB.
const maxReadings = 1 << 20

// Source is where the figures of GPUs come from.
type Source interface {
	Devices(ctx context.Context) ([]Device, error)
	String() string
}

// SMI is nvidia-smi as a source.
type SMI struct{ Runner Runner }

// Devices asks nvidia-smi once.
func (s SMI) Devices(ctx context.Context) ([]Device, error) { return Devices(ctx, s.Runner) }

// String names the program.
func (s SMI) String() string { return Command }

// NewExporter makes a source of a DCGM exporter's address, with or without
// http:// and /metrics.
func NewExporter(address string) (*Exporter, error) {
	e := &Exporter{Page: scrape.Source{URL: withScheme(address)}}
	_, err := scrape.MetricsURL(e.Page.URL)
	return e, err
}

// Sample is one reading of a source; the line of a telemetry file.
type Sample struct {
	At      record.Stamp `json:"at_ns"`
	Source  string       `json:"source"`
	Devices []Device     `json:"devices"`
}

// Options are what a recorder may be told. The zero value works.
type Options struct {
	Interval time.Duration // 0 means DefaultInterval
	Clock    record.Clock  // without one it gets its own
	// Series takes every sample as a line of JSON, one a call, from the
	// recorder's own goroutine; nil keeps none.
	Series io.Writer
}

// Health is how the sampling went.
type Health struct {
	Samples, Failed int
	LastError       string
	SeriesError     string
	// Full says that no more samples were kept.
	Full bool
}

// reading is one device's figures at one moment; absent ones are negative.
type reading struct {
	at            record.Stamp
	power, energy float64
}

// track is what is known of one device.
type track struct {
	device   Device // as last seen
	used     bool   // it was in use at some moment
	readings []reading
}

// Recorder samples a source until it is stopped, on a goroutine of its own.
type Recorder struct {
	source  Source
	options Options
	cancel  context.CancelFunc
	done    chan struct{}
	stop    sync.Once

	mu       sync.Mutex
	health   Health
	readings int
	tracks   map[string]*track
}

// Start takes a first sample, which must succeed, and goes on by itself.
func Start(ctx context.Context, source Source, o Options) (*Recorder, error) {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Clock.Origin().IsZero() {
		o.Clock = record.NewClock()
	}
	r := &Recorder{source: source, options: o, done: make(chan struct{}), tracks: map[string]*track{}}
	if err := r.sample(ctx); err != nil {
		return nil, err
	}
	own, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go r.run(own)
	return r, nil
}

func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(r.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = r.sample(ctx) // counted
		}
	}
}

// sample reads the source once. A figure holds for the middle of the reading.
func (r *Recorder) sample(ctx context.Context) error {
	began := r.options.Clock.Now()
	devices, err := r.source.Devices(ctx)
	at := began + (r.options.Clock.Now()-began)/2
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.Samples++
	if err != nil {
		r.health.Failed++
		r.health.LastError = err.Error()
		return err
	}
	for i := range devices {
		r.keep(at, &devices[i])
	}
	r.write(Sample{at, r.source.String(), devices})
	return nil
}

// keep is called with r.mu held.
func (r *Recorder) keep(at record.Stamp, d *Device) {
	id := d.id()
	t := r.tracks[id]
	if t == nil {
		t = &track{}
		r.tracks[id] = t
	}
	t.device = *d
	t.used = t.used || d.InUse()
	if r.readings >= maxReadings {
		r.health.Full = true
		return
	}
	r.readings++
	t.readings = append(t.readings, reading{at, orNone(d.PowerW), orNone(d.EnergyJ)})
}

func orNone(v *float64) float64 {
	if v == nil {
		return -1
	}
	return *v
}

// write is called with r.mu held.
func (r *Recorder) write(s Sample) {
	if r.options.Series == nil || r.health.SeriesError != "" {
		return
	}
	line, err := json.Marshal(s, json.Deterministic(true))
	if err == nil {
		_, err = r.options.Series.Write(append(line, '\n'))
	}
	if err != nil {
		r.health.SeriesError = "GPU telemetry: " + err.Error()
	}
}

// Devices are all devices as last seen, by host and index, and whether each was
// in use at some moment.
func (r *Recorder) Devices() (devices []Device, used []bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.sorted() {
		devices, used = append(devices, t.device), append(used, t.used)
	}
	return devices, used
}

// sorted is called with r.mu held.
func (r *Recorder) sorted() []*track {
	all := make([]*track, 0, len(r.tracks))
	for _, t := range r.tracks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *track) int {
		return cmp.Or(cmp.Compare(a.device.Host, b.device.Host), cmp.Compare(a.device.Index, b.device.Index), cmp.Compare(a.device.UUID, b.device.UUID))
	})
	return all
}

// Stop ends the sampling with one last sample, so that the end of the run is
// bracketed. It may be called again.
func (r *Recorder) Stop(ctx context.Context) Health {
	r.stop.Do(func() {
		r.cancel()
		<-r.done
		_ = r.sample(ctx) // counted
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health
}
