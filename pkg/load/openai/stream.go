package openai

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/org/agentx-action/pkg/result/record"
)

// MaxChunks is the most chunks with output that an answer may have; what has
// more fails the request (too_long). It bounds the gaps kept of a stream.
const MaxChunks = 1 << 22

// stream collects what an answer in server-sent events says. What it keeps is
// the times of its chunks, the usage of the first and of the latest chunk that
// has any, and the first failure; all of it is decoded only after the stream.
type stream struct {
	splitter
	take func(data []byte, isError bool) error // event, bound once

	at record.Stamp // when the bytes in hand were read

	first, firstText, second, last record.Stamp

	chunks, events int
	gapsNs         []int64

	finish     []byte
	usage      []byte
	firstUsage []byte // of the first chunk with output
	done       bool   // [DONE] was seen
	doneAt     record.Stamp
}

func newStream() *stream {
	s := &stream{}
	s.take = s.event
	return s
}

// read takes the bytes of one read from the connection: whatever they complete
// happened at that time.
func (s *stream) read(p []byte, at record.Stamp) error {
	s.at = at
	return s.feed(p, s.take)
}

var doneMark = []byte("[DONE]")

func (s *stream) event(data []byte, isError bool) error {
	s.events++
	if isError {
		return engineFailure(data)
	}
	if bytes.Equal(data, doneMark) {
		if !s.done {
			s.done, s.doneAt = true, s.at
		}
		return nil
	}
	f, err := scan(data)
	if err != nil {
		return &failure{class: classBadStream, message: fmt.Sprintf("event %d is no JSON object: %v: %s", s.events, err, excerpt(data))}
	}
	if f.failure != nil {
		return engineFailure(f.failure)
	}
	if f.usage != nil {
		s.usage = append(s.usage[:0], f.usage...)
	}
	if len(f.finish) > 0 {
		s.finish = append(s.finish[:0], f.finish...)
	}
	if !f.output() {
		return nil
	}
	if s.done {
		return &failure{class: classBadStream, message: "output after [DONE]: " + excerpt(data)}
	}
	return s.chunk(f)
}

func (s *stream) chunk(f facts) error {
	s.chunks++
	switch s.chunks {
	case 1:
		s.first = s.at
		s.firstUsage = bytes.Clone(f.usage)
	case 2:
		s.second = s.at
	case MaxChunks + 1:
		s.chunks--
		return &failure{class: classTooLong, message: fmt.Sprintf("more than %d chunks with output", MaxChunks)}
	}
	if s.chunks > 1 {
		s.gapsNs = append(s.gapsNs, int64(s.at-s.last))
	}
	if f.text && s.firstText == 0 {
		s.firstText = s.at
	}
	s.last = s.at
	return nil
}

// finishStream judges the stream when no more bytes will come. A last event
// without its closing blank line counts, at the time of the last read.
func (s *stream) finishStream() error {
	before := s.events
	if err := s.end(s.take); err != nil {
		var f *failure
		if errors.As(err, &f) && f.class == classBadStream && s.events > before && !s.done {
			return s.truncated("it ends inside an event")
		}
		return err
	}
	if !s.done && len(s.finish) == 0 {
		return s.truncated("neither [DONE] nor a finish_reason came")
	}
	if s.chunks == 0 {
		return &failure{class: classNoContent, message: fmt.Sprintf(
			"the stream ended in good order after %d events, but none held content, reasoning or a tool call%s", s.events, usageNote(s.usage))}
	}
	return nil
}

func (s *stream) truncated(how string) error {
	return &failure{class: classTruncated, message: fmt.Sprintf("the stream was cut off after %d chunks with output: %s", s.chunks, how)}
}

// report writes what was found into a record, complete or not.
func (s *stream) report(seen *record.Seen) {
	seen.FirstToken, seen.FirstOutput = s.first, s.firstText
	seen.SecondToken, seen.LastToken = s.second, s.last
	seen.Chunks, seen.Events = s.chunks, s.events
	seen.ChunkGapsNs = s.gapsNs
	seen.Finish = finishReason(s.finish)
	seen.Usage = decodeUsage(s.usage, s.firstUsage)
}
