package record

import (
	"strings"
	"testing"
)

func complete() Seen {
	wait := int64(40)
	return Seen{
		Outcome: OK, Status: 200,
		Sent: 10, Headers: 20, FirstByte: 20, FirstToken: 50, FirstOutput: 60, SecondToken: 60, LastToken: 90, End: 91,
		Chunks: 3, ChunkGapsNs: []int64{10, 30},
		HTTP: HTTP{WaitNs: &wait},
	}
}

func TestCheckAcceptsWhatCanHappen(t *testing.T) {
	for name, change := range map[string]func(*Seen){
		"complete":       func(*Seen) {},
		"all at once":    func(s *Seen) { s.Headers, s.FirstByte, s.FirstToken = 10, 10, 10 },
		"never answered": func(s *Seen) { *s = Seen{Outcome: Failed, Sent: 10, End: 12} },
		"not streamed": func(s *Seen) {
			*s = Seen{Outcome: OK, Sent: 10, Headers: 20, FirstByte: 20, LastToken: 30, End: 30, Chunks: 1}
		},
		"cut before it was sent": func(s *Seen) { *s = Seen{Outcome: Censored} },
	} {
		s := complete()
		change(&s)
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckNamesTheContradiction(t *testing.T) {
	negative := int64(-1)
	for want, change := range map[string]func(*Seen){
		"headers":                      func(s *Seen) { s.Headers = 9 },
		"first byte":                   func(s *Seen) { s.FirstByte = 19 },
		"first token":                  func(s *Seen) { s.FirstToken = 19 },
		"first output":                 func(s *Seen) { s.FirstOutput = 49 },
		"second token":                 func(s *Seen) { s.SecondToken = 49 },
		"last token":                   func(s *Seen) { s.FirstOutput, s.LastToken = 50, 55 },
		"end (89 ns) lies before last": func(s *Seen) { s.End = 89 },
		"no time of sending":           func(s *Seen) { s.End = 0 },
		"2 gaps between 2 chunks":      func(s *Seen) { s.Chunks = 2 },
		"gap 1":                        func(s *Seen) { s.ChunkGapsNs[1] = -1 },
		"HTTP phase wait":              func(s *Seen) { s.HTTP.WaitNs = &negative },
		"origin of the clock":          func(s *Seen) { s.Sent = -5 },
	} {
		s := complete()
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error naming %q, got %v", want, err)
		}
	}
}

func TestRecordCheckFailsTheRecord(t *testing.T) {
	r := Record{Asked: Asked{Issued: 11}, Seen: complete()}
	r.Check()
	if r.Seen.Outcome != Failed || r.Seen.Error == nil || r.Seen.Error.Type != ErrorTypeClock {
		t.Errorf("sent before it was issued: %+v", r.Seen)
	}
	r = Record{Asked: Asked{Issued: 10}, Seen: complete()}
	r.Check()
	if r.Seen.Outcome != OK || r.Seen.Error != nil {
		t.Errorf("a good record was failed: %+v", r.Seen.Error)
	}
}
