package openai

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner walks JSON text. After an error every method returns at once.
type scanner struct {
	b     []byte
	i     int
	depth int
	err   error
}

// maxDepth bounds the nesting of an event; real ones have five levels.
const maxDepth = 256

var errDepth = errors.New("nested too deeply")

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = fmt.Errorf("%s at byte %d", what, s.i)
		s.i = len(s.b)
	}
}

func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// open enters an object or array if one begins here.
func (s *scanner) open(bracket byte) bool {
	if s.peek() != bracket {
		return false
	}
	if s.depth++; s.depth > maxDepth {
		s.err = errDepth
		s.i = len(s.b)
		return true
	}
	s.i++
	return true
}

// member returns the next name of an object and stands before its value; false
// at the end of the object.
func (s *scanner) member(first bool) (key []byte, ok bool) {
	if !s.next(first, '}') {
		return nil, false
	}
	key, escaped := s.quoted()
	s.space()
	if s.peek() != ':' {
		s.fail("no colon after a name")
		return nil, false
	}
	s.i++
	s.space()
	if escaped && s.err == nil {
		// The name is only compared, so a broken escape may stay as it is.
		key, _ = jsontext.AppendUnquote(nil, s.rawKey(key))
	}
	return key, s.err == nil
}

// rawKey widens a name that quoted returned to its quotes.
func (s *scanner) rawKey(key []byte) []byte {
	return append(append([]byte{'"'}, key...), '"')
}

// element stands before the next element of an array; false at its end.
func (s *scanner) element(first bool) bool { return s.next(first, ']') }

func (s *scanner) next(first bool, closing byte) bool {
	if s.err != nil {
		return false
	}
	s.space()
	if s.peek() == closing {
		s.i++
		s.depth--
		return false
	}
	if !first {
		if s.peek() != ',' {
			s.fail("no comma between members")
			return false
		}
		s.i++
		s.space()
	}
	if s.i == len(s.b) {
		s.fail("unexpected end")
		return false
	}
	return true
}

// text returns a string value as it stands between its quotes, and skips any
// other value.
func (s *scanner) text() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	text, _ := s.quoted()
	return text
}

// raw skips a value and returns its bytes.
func (s *scanner) raw() []byte {
	start := s.i
	s.skip()
	if s.err != nil {
		return nil
	}
	return s.b[start:s.i]
}

func (s *scanner) skip() {
	if s.err != nil {
		return
	}
	switch c := s.peek(); c {
	case '"':
		s.quoted()
	case '{':
		s.open('{')
		for first := true; ; first = false {
			if !s.next(first, '}') {
				return
			}
			s.quoted()
			s.space()
			if s.peek() != ':' {
				s.fail("no colon after a name")
				return
			}
			s.i++
			s.space()
			s.skip()
		}
	case '[':
		s.open('[')
		for first := true; s.element(first); first = false {
			s.skip()
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

func (s *scanner) literal(word string) {
	if !strings.HasPrefix(string(s.b[s.i:min(s.i+len(word), len(s.b))]), word) {
		s.fail("not a JSON value")
		return
	}
	s.i += len(word)
}

func (s *scanner) number() {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		s.digits()
	}
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	if s.i == start {
		s.fail("not a JSON value")
		return false
	}
	return true
}

// plain holds the bytes that may stand in a string and need no look.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// quoted reads a string and returns what stands between its quotes.
func (s *scanner) quoted() (inner []byte, escaped bool) {
	if s.peek() != '"' {
		s.fail("no string where one must stand")
		return nil, false
	}
	b, i := s.b, s.i+1
	start := i
	for i < len(b) {
		c := b[i]
		if plain[c] {
			i++
			continue
		}
		switch c {
		case '"':
			s.i = i + 1
			return b[start:i:i], escaped
		case '\\':
			escaped = true
			n := escapeLen(b[i:])
			if n == 0 {
				s.i = i
				s.fail("broken escape in a string")
				return nil, false
			}
			i += n
		default:
			s.i = i
			s.fail("control character in a string")
			return nil, false
		}
	}
	s.i = i
	s.fail("unexpected end of a string")
	return nil, false
}

// escapeLen returns the length of the escape at the start of b, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !(c-'0' <= 9 || c|0x20-'a' <= 'f'-'a') {
				return 0
			}
		}
		return 6
	}
	return 0
}
