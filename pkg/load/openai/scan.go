package openai

import "strings"

// facts is what one event, or one whole answer, says. The slices point into the
// scanned bytes.
type facts struct {
	text      bool   // content, completion text or tool-call text that is not empty
	reasoning bool   // reasoning text that is not empty
	finish    []byte // finish_reason of the first choice as it stands between its quotes; nil if none
	usage     []byte // the usage object; nil if absent, null or empty
	failure   []byte // the error member, or the whole event if its object is "error"; nil if none
}

func (f facts) output() bool { return f.text || f.reasoning }

// scan reads one JSON object without decoding it: a single pass that checks the
// grammar of RFC 8259, allocates nothing, and looks only at the members that
// count. A later member of the same name replaces an earlier one, as in most
// decoders. Invalid UTF-8 inside strings is let through.
func scan(event []byte) (facts, error) {
	s := scanner{b: event}
	f := s.answer()
	s.space()
	if s.err == nil && s.i != len(s.b) {
		s.fail("data after the JSON object")
	}
	return f, s.err
}

func (s *scanner) answer() (f facts) {
	s.space()
	start := s.i
	if !s.open('{') {
		s.fail("not a JSON object")
		return f
	}
	var choice facts
	var isError bool
	for first := true; ; first = false {
		key, ok := s.member(first)
		if !ok {
			break
		}
		switch string(key) {
		case "choices":
			choice = s.choices()
		case "usage":
			f.usage = nil
			if raw := s.raw(); isFullObject(raw) {
				f.usage = raw
			}
		case "error":
			f.failure = nil
			if raw := s.raw(); truthy(raw) {
				f.failure = raw
			}
		case "object":
			isError = string(s.raw()) == `"error"`
		default:
			s.skip()
		}
	}
	f.text, f.reasoning, f.finish = choice.text, choice.reasoning, choice.finish
	if isError && f.failure == nil && s.err == nil {
		f.failure = s.b[start:s.i]
	}
	return f
}

// choices looks at the first choice only: no request asks for more.
func (s *scanner) choices() (f facts) {
	if !s.open('[') {
		s.skip()
		return f
	}
	for first := true; s.element(first); first = false {
		if first {
			f = s.choice()
		} else {
			s.skip()
		}
	}
	return f
}

func (s *scanner) choice() facts {
	if !s.open('{') {
		s.skip()
		return facts{}
	}
	var delta, message, own facts
	for first := true; ; first = false {
		key, ok := s.member(first)
		if !ok {
			break
		}
		switch string(key) {
		case "delta":
			delta = s.delta()
		case "message":
			message = s.delta()
		case "text":
			own.text = len(s.text()) > 0
		case "finish_reason":
			own.finish = s.text()
		default:
			s.skip()
		}
	}
	own.text = own.text || delta.text || message.text
	own.reasoning = delta.reasoning || message.reasoning
	return own
}

// delta reads the piece of a message that a chunk adds, or a whole message.
func (s *scanner) delta() (f facts) {
	if !s.open('{') {
		s.skip()
		return f
	}
	var content, reasoningContent, reasoning, toolCalls, functionCall bool
	for first := true; ; first = false {
		key, ok := s.member(first)
		if !ok {
			break
		}
		switch string(key) {
		case "content":
			content = len(s.text()) > 0
		case "reasoning_content":
			reasoningContent = len(s.text()) > 0
		case "reasoning":
			reasoning = len(s.text()) > 0
		case "tool_calls":
			toolCalls = s.toolCalls()
		case "function_call":
			functionCall = s.function()
		default:
			s.skip()
		}
	}
	f.text = content || toolCalls || functionCall
	f.reasoning = reasoningContent || reasoning
	return f
}

func (s *scanner) toolCalls() (found bool) {
	if !s.open('[') {
		s.skip()
		return false
	}
	for first := true; s.element(first); first = false {
		if s.toolCall() {
			found = true
		}
	}
	return found
}

func (s *scanner) toolCall() (found bool) {
	if !s.open('{') {
		s.skip()
		return false
	}
	for first := true; ; first = false {
		key, ok := s.member(first)
		if !ok {
			return found
		}
		if string(key) == "function" {
			found = s.function()
		} else {
			s.skip()
		}
	}
}

func (s *scanner) function() bool {
	if !s.open('{') {
		s.skip()
		return false
	}
	var name, arguments bool
	for first := true; ; first = false {
		key, ok := s.member(first)
		if !ok {
			return name || arguments
		}
		switch string(key) {
		case "name":
			name = len(s.text()) > 0
		case "arguments":
			arguments = len(s.text()) > 0
		default:
			s.skip()
		}
	}
}

func isFullObject(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '{' {
		return false
	}
	s := scanner{b: raw, i: 1}
	s.space()
	return raw[s.i] != '}'
}

// truthy is what Python's engines mean by "if error": not null, false, zero,
// or empty.
func truthy(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	switch raw[0] {
	case 'n', 'f':
		return false
	case 't':
		return true
	case '"':
		return len(raw) > 2
	case '{', '[':
		s := scanner{b: raw, i: 1}
		s.space()
		return raw[s.i] != '}' && raw[s.i] != ']'
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(string(raw)), "e")
	return strings.Trim(mantissa, "-0.") != ""
}
