package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/org/agentx-action/pkg/workload/prompt/words"
)

// body is a request body as far as the engine cares. Members it does not know
// are skipped.
type body struct {
	model    string
	prompt   *Prompt // from messages, with the opening of the answer, or from prompt
	messages int

	stream          bool
	includeUsage    bool
	continuousUsage bool
	maxTokens       int // 0 when absent
	ignoreEOS       bool
	// noGenerationPrompt is for /tokenize: the messages alone.
	noGenerationPrompt bool
}

// decoders keep their buffers between requests: a body has megabytes.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// readBody parses a body as it arrives and hashes its text at once; only the
// longest message is ever held. The nesting of JSON is bounded by jsontext
// (10,000), its size by the reader.
func readBody(r io.Reader, blockSize int) (*body, error) {
	decoder := decoders.Get().(*jsontext.Decoder)
	defer func() {
		decoder.Reset(http.NoBody) // lets go of r
		decoders.Put(decoder)
	}()
	decoder.Reset(r)
	p := bodyParser{Decoder: decoder, blockSize: blockSize}
	if err := p.object("body", p.member); err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); err != io.EOF {
		return nil, errors.Join(errors.New("something follows the JSON object"), err)
	}
	return p.finish()
}

type bodyParser struct {
	*jsontext.Decoder
	blockSize int

	body
	text                     *Prompt // the value of "prompt"
	chat                     *Prompt // the value of "messages"
	maxCompletion, maxLegacy int
}

// finish checks what only the whole body can tell.
func (p *bodyParser) finish() (*body, error) {
	switch {
	case p.chat != nil && p.text != nil:
		return nil, errors.New("both messages and prompt are given")
	case p.chat != nil:
		p.prompt = p.chat
		if !p.noGenerationPrompt {
			p.prompt.openAnswer()
		}
	default:
		p.prompt = p.text
	}
	p.maxTokens = p.maxCompletion
	if p.maxTokens == 0 {
		p.maxTokens = p.maxLegacy
	}
	return &p.body, nil
}

func (p *bodyParser) member(name string) (err error) {
	switch name {
	case "model":
		p.model, err = p.str(name)
	case "messages":
		p.chat = NewPrompt(p.blockSize)
		err = p.array(name, p.message)
	case "prompt":
		p.text = NewPrompt(p.blockSize)
		err = p.promptValue()
	case "stream":
		p.stream, err = p.boolean(name)
	case "stream_options":
		err = p.object(name, p.streamOption)
	case "max_completion_tokens":
		p.maxCompletion, err = p.positive(name)
	case "max_tokens":
		p.maxLegacy, err = p.positive(name)
	case "ignore_eos":
		p.ignoreEOS, err = p.boolean(name)
	case "add_generation_prompt":
		var add bool
		add, err = p.boolean(name)
		p.noGenerationPrompt = !add
	case "n":
		var n int
		if n, err = p.positive(name); err == nil && n > 1 {
			err = errors.New("n must be 1")
		}
	default:
		err = p.SkipValue()
	}
	return err
}

func (p *bodyParser) streamOption(name string) (err error) {
	switch name {
	case "include_usage":
		p.includeUsage, err = p.boolean(name)
	case "continuous_usage_stats":
		p.continuousUsage, err = p.boolean(name)
	default:
		err = p.SkipValue()
	}
	return err
}

// message reads one message. The template wants the role first; a content that
// comes before it is put aside.
func (p *bodyParser) message() error {
	var early []jsontext.Value
	role := ""
	err := p.object("message", func(name string) (err error) {
		switch {
		case name == "role":
			if role, err = p.str(name); err == nil {
				p.chat.openMessage(role)
			}
		case name == "content" && role == "":
			var value jsontext.Value
			if value, err = p.ReadValue(); err == nil {
				early = append(early, value.Clone())
			}
		case name == "content":
			err = p.content()
		default:
			err = p.SkipValue()
		}
		return err
	})
	if err != nil {
		return err
	}
	if role == "" {
		return fmt.Errorf("message %d has no role", p.messages)
	}
	for _, value := range early {
		sub := bodyParser{Decoder: jsontext.NewDecoder(bytes.NewReader(value)), chat: p.chat}
		if err := sub.content(); err != nil {
			return err
		}
	}
	p.chat.closeMessage()
	p.messages++
	return nil
}

// content is a string, null, or a list of parts of which those with text count.
func (p *bodyParser) content() error {
	switch p.PeekKind() {
	case '"':
		return p.textInto(p.chat)
	case '[':
		return p.array("content", func() error {
			return p.object("content part", func(name string) error {
				if name == "text" {
					return p.textInto(p.chat)
				}
				return p.SkipValue()
			})
		})
	case 'n':
		return p.SkipValue()
	}
	return p.wrong("content", "a string, a list of parts, or null")
}

// promptValue is a string, a list of one string, or a list of token ids.
func (p *bodyParser) promptValue() error {
	switch p.PeekKind() {
	case '"':
		return p.textInto(p.text)
	case '[':
		texts := 0
		return p.array("prompt", func() error {
			if p.PeekKind() == '0' {
				id, err := p.ReadValue()
				if err == nil {
					p.text.Add(numberToken(id))
				}
				return err
			}
			if texts++; texts > 1 {
				return errors.New("more than one prompt in a request")
			}
			return p.textInto(p.text)
		})
	}
	return p.wrong("prompt", "a string or a list of token ids")
}

// numberToken is the token of an id that the client made itself.
func numberToken(id jsontext.Value) (token uint64) {
	for _, digit := range id {
		token = mix(token ^ uint64(digit))
	}
	return token
}

// textInto hashes the tokens of a JSON string.
func (p *bodyParser) textInto(into *Prompt) error {
	if p.PeekKind() != '"' {
		return p.wrong("text", "a string")
	}
	raw, err := p.ReadValue()
	if err != nil {
		return err
	}
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		if text, err = jsontext.AppendUnquote([]byte(nil), raw); err != nil {
			return err
		}
	}
	if len(text) > 0 {
		// The bytes are the decoder's until its next read; the tokens are hashed by then.
		words.Each(unsafe.String(&text[0], len(text)), into.Add)
	}
	return nil
}

func (p *bodyParser) object(what string, member func(name string) error) error {
	if p.PeekKind() != '{' {
		return p.wrong(what, "an object")
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	for p.PeekKind() == '"' {
		name, err := p.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	_, err := p.ReadToken()
	return err
}

func (p *bodyParser) array(what string, element func() error) error {
	if p.PeekKind() != '[' {
		return p.wrong(what, "an array")
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	for p.PeekKind() != ']' {
		if p.PeekKind() == 0 {
			break // ReadToken says what is wrong
		}
		if err := element(); err != nil {
			return err
		}
	}
	_, err := p.ReadToken()
	return err
}

func (p *bodyParser) str(what string) (string, error) {
	if p.PeekKind() != '"' {
		return "", p.wrong(what, "a string")
	}
	token, err := p.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

// boolean takes null for false.
func (p *bodyParser) boolean(what string) (bool, error) {
	switch p.PeekKind() {
	case 't', 'f', 'n':
		token, err := p.ReadToken()
		return err == nil && token.Kind() == 't', err
	}
	return false, p.wrong(what, "true or false")
}

// positive takes null for absent, which is 0.
func (p *bodyParser) positive(what string) (int, error) {
	switch p.PeekKind() {
	case 'n':
		return 0, p.SkipValue()
	case '0':
		raw, err := p.ReadValue()
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(string(raw), 10, 32)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%s is %s; it must be a whole number of at least 1", what, raw)
		}
		return int(n), nil
	}
	return 0, p.wrong(what, "a number")
}

// wrong reports a value of the wrong type, or what made it no value at all.
func (p *bodyParser) wrong(what, want string) error {
	if p.PeekKind() == 0 {
		if _, err := p.ReadToken(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s at %s must be %s", what, p.StackPointer(), want)
}
