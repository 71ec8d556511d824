package openai

import (
	"bytes"
	"fmt"
)

// MaxEventBytes is the largest event, or line, that an answer may hold. What
// is longer fails the request (too_long).
const MaxEventBytes = 16 << 20

// keepBytes is the most that a buffer may hold on to between events.
const keepBytes = 64 << 10

// splitter cuts a byte stream into server-sent events, however the bytes were
// split on their way. Lines end in LF, CRLF or CR; a byte order mark may stand
// before the first; comments, ids and retry times are skipped; several data
// lines of an event are joined with LF.
type splitter struct {
	line    []byte // the start of a line whose end has not arrived
	data    []byte // data of the event in the making
	borrow  []byte // the same, while it is one line inside the caller's bytes
	filled  bool   // the event has a data line
	isError bool   // the event is named "error"
	afterCR bool   // the last line ended in CR: a LF belongs to it
	started bool   // the first line has been read
}

// feed takes the next bytes and hands every event that they complete to take.
// It stops at the first error.
func (s *splitter) feed(p []byte, take func(data []byte, isError bool) error) error {
	for len(p) > 0 {
		if s.afterCR {
			s.afterCR = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := lineEnd(p)
		if i < 0 {
			break
		}
		line := p[:i]
		s.afterCR = p[i] == '\r'
		p = p[i+1:]
		if len(s.line) > 0 {
			if err := s.fits(len(line)); err != nil {
				return err
			}
			s.line = append(s.line, line...)
			line = s.line
			s.line = s.line[:0]
		}
		if err := s.take(line, take); err != nil {
			return err
		}
	}
	s.own()
	if err := s.fits(len(p)); err != nil {
		return err
	}
	s.line = append(shrink(s.line), p...)
	return nil
}

// end takes what stood after the last line end: a stream may end without the
// blank line that closes its last event.
func (s *splitter) end(take func(data []byte, isError bool) error) error {
	if len(s.line) > 0 {
		line := s.line
		s.line = nil
		if err := s.take(line, take); err != nil {
			return err
		}
	}
	return s.take(nil, take)
}

// lineEnd is the index of the first LF or CR.
func lineEnd(p []byte) int {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		return bytes.IndexByte(p, '\r')
	}
	if j := bytes.IndexByte(p[:i], '\r'); j >= 0 {
		return j
	}
	return i
}

var byteOrderMark = []byte("\uFEFF")

func (s *splitter) take(line []byte, take func(data []byte, isError bool) error) error {
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) == 0 {
		return s.dispatch(take)
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		return s.add(value)
	case "event":
		s.isError = string(value) == "error"
	}
	return nil
}

// add appends a data line. The first one is only borrowed: nearly always the
// event ends in the same read.
func (s *splitter) add(value []byte) error {
	if err := s.fits(len(s.borrow) + len(value) + 1); err != nil {
		return err
	}
	if !s.filled {
		s.filled = true
		s.borrow = value
		return nil
	}
	s.own()
	s.data = append(append(s.data, '\n'), value...)
	return nil
}

// own copies borrowed data before the bytes under it change.
func (s *splitter) own() {
	if s.borrow != nil {
		s.data = append(shrink(s.data[:0]), s.borrow...)
		s.borrow = nil
	}
}

func (s *splitter) dispatch(take func(data []byte, isError bool) error) error {
	data, isError, filled := s.data, s.isError, s.filled
	if s.borrow != nil {
		data = s.borrow
	}
	s.data, s.borrow, s.isError, s.filled = shrink(s.data[:0]), nil, false, false
	data = bytes.TrimSpace(data)
	if !isError && (!filled || len(data) == 0) {
		return nil
	}
	return take(data, isError)
}

func (s *splitter) fits(more int) error {
	if len(s.line)+len(s.data)+more > MaxEventBytes {
		return &failure{class: classTooLong, message: fmt.Sprintf("an event is longer than %d MiB", MaxEventBytes>>20)}
	}
	return nil
}

// shrink gives a buffer back that one large event made large.
func shrink(empty []byte) []byte {
	if len(empty) == 0 && cap(empty) > keepBytes {
		return nil
	}
	return empty
}
