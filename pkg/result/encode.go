package result

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encode gives indented JSON with sorted keys. A number that is not finite is
// refused with the path to it; bytes that are no UTF-8 become U+FFFD.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// Encode gives result.json. It refuses a document with a number that is not
// finite, naming its path, and one that breaks the schema.
func (d *Document) Encode() ([]byte, error) {
	text, err := encode(d)
	if err != nil {
		return nil, err
	}
	if err := Validate(text); err != nil {
		return nil, err
	}
	return text, nil
}

// Decode reads result.json after checking it against the schema.
func Decode(text []byte) (*Document, error) {
	if err := Validate(text); err != nil {
		return nil, err
	}
	d := new(Document)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	return d, nil
}

// DecodeFacts reads run.json after checking it against its schema.
func DecodeFacts(text []byte) (*Facts, error) {
	if err := ValidateFacts(text); err != nil {
		return nil, err
	}
	f := new(Facts)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, err
	}
	return f, nil
}
