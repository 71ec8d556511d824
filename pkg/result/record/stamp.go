package record

import "time"

// Stamp is a point in time as nanoseconds since the run's origin. The zero
// Stamp means "not seen": a Clock never hands it out.
type Stamp int64

// Seen reports whether the event happened.
func (s Stamp) Seen() bool { return s != 0 }

// Sub returns the time from earlier to s, and whether both were seen.
func (s Stamp) Sub(earlier Stamp) (time.Duration, bool) {
	if s == 0 || earlier == 0 {
		return 0, false
	}
	return time.Duration(s - earlier), true
}

// Add returns the Stamp d later. Adding to an unseen Stamp stays unseen.
func (s Stamp) Add(d time.Duration) Stamp {
	if s == 0 {
		return 0
	}
	return s + Stamp(d)
}

// Clock gives every part of a run the same monotonic origin (DESIGN.md §3).
type Clock struct {
	origin time.Time
}

// NewClock starts a clock. Its origin lies a microsecond in the past, so that
// no event can fall on the Stamp that means "not seen".
func NewClock() Clock { return Clock{origin: time.Now().Add(-time.Microsecond)} }

// Origin is the wall time of Stamp 0; it carries a monotonic reading.
func (c Clock) Origin() time.Time { return c.origin }

// Now is the current Stamp.
func (c Clock) Now() Stamp { return Stamp(time.Since(c.origin)) }

// At is the Stamp of a moment.
func (c Clock) At(t time.Time) Stamp { return Stamp(t.Sub(c.origin)) }

// Time is the moment of a Stamp.
func (c Clock) Time(s Stamp) time.Time { return c.origin.Add(time.Duration(s)) }

// Until is how long to wait from now for s; negative when s has passed.
func (c Clock) Until(s Stamp) time.Duration { return time.Duration(s) - time.Since(c.origin) }
