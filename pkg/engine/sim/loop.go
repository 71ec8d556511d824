package sim

import (
	"sync"
	"time"
)

// catchUp bounds how far the engine's steps may lie behind the clock. Steps
// follow each other without a gap even when a timer fires late; a machine too
// slow for the engine it plays makes that engine slower, not its clock bursty.
const catchUp = 5 * time.Millisecond

// run is the engine's loop: it steps the model and hands out tokens when the
// step's time has passed. An idle engine waits on a channel.
func (s *Server) run() {
	defer close(s.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := s.now()
	for {
		took, wake, wakes := s.step(next)
		if took > 0 {
			end := next + took
			if !s.sleepUntil(timer, end) {
				return
			}
			s.deliver(end)
			next = max(end, s.now()-catchUp)
			continue
		}
		if wakes {
			timer.Reset(wake - s.now())
		}
		select {
		case <-s.kick:
		case <-timer.C:
		case <-s.closing:
			return
		}
		next = max(s.now(), next)
	}
}

func (s *Server) step(now time.Duration) (took, wake time.Duration, wakes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took, _ = s.model.Step(now); took > 0 {
		return took, 0, false
	}
	wake, wakes = s.model.NextWake()
	return 0, wake, wakes
}

func (s *Server) sleepUntil(timer *time.Timer, at time.Duration) bool {
	timer.Reset(at - s.now())
	select {
	case <-timer.C:
		return true
	case <-s.closing:
		return false
	}
}

// deliver hands the tokens of the step that ended to their streams.
func (s *Server) deliver(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = max(s.late, s.now()-at)
	for _, event := range s.model.events {
		if st := s.streams[event.ID]; st != nil {
			st.push(event, at)
			if event.Done != nil {
				st.done = event.Done
				delete(s.streams, event.ID)
			}
		}
	}
}

// submit queues a request and returns the stream its tokens will come on.
func (s *Server) submit(r Request) (*stream, error) {
	st := &stream{ready: make(chan struct{}, 1)}
	s.mu.Lock()
	err := s.model.Submit(s.now(), r)
	if err == nil {
		s.streams[r.ID] = st
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
	return st, nil
}

// cancel takes a request out of the engine and says what became of it, even if it
// had ended by itself a moment before.
func (s *Server) cancel(id uint64, st *stream) *Done {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
	if done := s.model.Cancel(s.now(), id); done != nil {
		return done
	}
	for _, event := range s.model.events { // not delivered yet
		if event.ID == id && event.Done != nil {
			return event.Done
		}
	}
	return st.done
}

// stream carries the tokens of one request from the engine to its handler. The
// engine never waits for a slow client.
type stream struct {
	done *Done // guarded by the server's mutex

	mu     sync.Mutex
	events []Event
	at     time.Duration // end of the last step
	ready  chan struct{} // holds one
}

func (st *stream) push(e Event, at time.Duration) {
	st.mu.Lock()
	st.events = append(st.events, e)
	st.at = at
	st.mu.Unlock()
	select {
	case st.ready <- struct{}{}:
	default:
	}
}

// drain moves what has come into the caller's slice, perhaps nothing, and says
// when the last of it came.
func (st *stream) drain(into []Event) (events []Event, at time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	into = append(into[:0], st.events...)
	st.events = st.events[:0]
	return into, st.at
}
