package scrape

import (
	"fmt"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// Level is how high a gauge stood over a window.
type Level struct {
	Mean float64 `json:"mean"` // time-weighted, over CoveredNs
	Max  float64 `json:"max"`  // of the samples, and of the value that the window began with
	// CoveredNs is how much of the window the value was known: each sample
	// holds until the next, but no longer than the recorder's hold.
	CoveredNs int64 `json:"covered_ns"`
}

// Window is what the engine did between two marks.
type Window struct {
	From    string         `json:"from"`
	To      string         `json:"to"`
	Start   record.Stamp   `json:"start_ns,omitempty"`
	End     record.Stamp   `json:"end_ns,omitempty"`
	Samples int            `json:"samples"` // that fell into it
	Delta   Delta          `json:"delta"`   // from mark to mark; all missing if one of their samples failed
	Gauges  map[Name]Level `json:"gauges,omitempty"`
}

// held is the last value of a gauge and since when its time is not yet counted.
type held struct {
	value float64
	since record.Stamp
	until record.Stamp // no longer than this
}

// tally is a Level while it is being added up.
type tally struct {
	area    float64 // value × ns
	covered int64   // ns
	max     float64
	seen    bool
}

func (t *tally) saw(v float64) {
	if !t.seen || v > t.max {
		t.max, t.seen = v, true
	}
}

// segment is the time from one mark to the next.
type segment struct {
	name    string // of the mark that began it
	start   record.Stamp
	first   *Snapshot // of that mark; nil when its sample failed
	samples int
	levels  map[Name]*tally
	// restarts are the snapshots on both sides of every step in which a counter
	// fell or went away. Two marks alone would not show an engine that restarted
	// between them and has since counted past where it was.
	restarts []*Snapshot
}

// maxRestarts bounds the snapshots kept for a segment, two for every fall. An
// engine that falls a second time in a phase is more likely a router's page that
// shows one worker after another, as vllm-router's main port does.
const maxRestarts = 4

// levels keeps gauges by segment: its size follows the marks, not the samples.
// It is not safe for concurrent use.
type levels struct {
	hold     time.Duration
	last     record.Stamp // of the latest sample or cut
	latest   *Snapshot    // the last one added
	held     map[Name]held
	segments []*segment
}

func newLevels(hold time.Duration, start record.Stamp) *levels {
	l := &levels{hold: hold, last: start, held: map[Name]held{}}
	l.open("", start, nil)
	return l
}

func (l *levels) open(name string, at record.Stamp, first *Snapshot) {
	s := &segment{name: name, start: at, first: first, levels: map[Name]*tally{}}
	l.segments = append(l.segments, s)
	for n, h := range l.held {
		if h.until > at {
			s.tally(n).saw(h.value)
		}
	}
}

func (s *segment) tally(n Name) *tally {
	t := s.levels[n]
	if t == nil {
		t = &tally{}
		s.levels[n] = t
	}
	return t
}

// advance counts the time up to at for every value held.
func (l *levels) advance(at record.Stamp) {
	now := l.segments[len(l.segments)-1]
	for n, h := range l.held {
		end := min(at, h.until)
		if end > h.since {
			t := now.tally(n)
			t.area += h.value * float64(end-h.since)
			t.covered += int64(end - h.since)
			h.since = end
			l.held[n] = h
		}
	}
	l.last = at
}

// add takes a sample. One that was overtaken by a later one is not weighed.
func (l *levels) add(s *Snapshot) {
	if s.At < l.last {
		return
	}
	l.advance(s.At)
	clear(l.held)
	now := l.segments[len(l.segments)-1]
	now.samples++
	if l.latest != nil && len(now.restarts) < maxRestarts && l.latest.restarted(s) {
		now.restarts = append(now.restarts, l.latest, s)
	}
	l.latest = s
	for n, v := range s.Gauges {
		now.tally(n).saw(v)
		l.held[n] = held{value: v, since: s.At, until: s.At.Add(l.hold)}
	}
}

// cut ends a segment with a mark and begins the next.
func (l *levels) cut(name string, at record.Stamp, first *Snapshot) {
	at = max(at, l.last)
	l.advance(at)
	l.open(name, at, first)
}

// window puts the segments from one mark to another together.
func (l *levels) window(from, to string) (Window, error) {
	a, b := l.find(from), l.find(to)
	if a < 0 || b < 0 {
		missing := from
		if a >= 0 {
			missing = to
		}
		return Window{}, fmt.Errorf("metrics window: no mark %q was set", missing)
	}
	if a >= b {
		return Window{}, fmt.Errorf("metrics window: mark %q does not come before %q", from, to)
	}
	first, last := l.segments[a], l.segments[b]
	w := Window{From: from, To: to, Start: first.start, End: last.start, Gauges: map[Name]Level{},
		Delta: between(l.segments[a : b+1])}
	sums := &segment{levels: map[Name]*tally{}}
	for _, s := range l.segments[a:b] {
		w.Samples += s.samples
		for n, t := range s.levels {
			all := sums.tally(n)
			all.area += t.area
			all.covered += t.covered
			if t.seen {
				all.saw(t.max)
			}
		}
	}
	for n, t := range sums.levels {
		if t.covered > 0 && t.seen {
			w.Gauges[n] = Level{Mean: t.area / float64(t.covered), Max: t.max, CoveredNs: t.covered}
		}
	}
	return w, nil
}

func (l *levels) find(name string) int {
	for i, s := range l.segments[1:] {
		if s.name == name {
			return i + 1
		}
	}
	return -1
}

// between is the increase from the first segment's mark to the last's.
func between(segments []*segment) Delta {
	first, last := segments[0], segments[len(segments)-1]
	for _, end := range []*segment{first, last} {
		if end.first == nil {
			return nothing(first, last, fmt.Sprintf("the sample of mark %q failed", end.name))
		}
	}
	chain := []*Snapshot{first.first}
	for _, s := range segments[:len(segments)-1] {
		if len(s.restarts) >= maxRestarts {
			return nothing(first, last, "its counters fell again and again: the engine keeps restarting, or the page is a router's that shows one worker after another (give the workers' own with --server-metrics)")
		}
		for _, r := range s.restarts {
			if r.At > chain[len(chain)-1].At && r.At < last.first.At {
				chain = append(chain, r)
			}
		}
	}
	chain = append(chain, last.first)
	d := chain[0].Increase(*chain[1])
	for i := 2; i < len(chain); i++ {
		d.then(chain[i-1].Increase(*chain[i]))
	}
	return d
}

func nothing(first, last *segment, why string) Delta {
	d := Delta{From: first.start, To: last.start, Missing: map[Name]string{}}
	for n := range counters {
		d.Missing[n] = why
	}
	return d
}
