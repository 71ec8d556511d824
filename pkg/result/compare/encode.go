package compare

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/result"
)

func init() {
	result.RegisterKind(Kind, "comparison.schema.json", SchemaVersion)
	result.RegisterKind(FloorKind, "floor.schema.json", FloorSchemaVersion)
}

// Encode gives comparison.json, checked against its schema.
func (c *Comparison) Encode() ([]byte, error) { return encode(c, result.ValidateComparison) }

// Decode reads comparison.json after checking it against its schema.
func Decode(text []byte) (*Comparison, error) {
	return decode[Comparison](text, result.ValidateComparison)
}

// Encode gives the floor's document, checked against its schema.
func (f *Floor) Encode() ([]byte, error) { return encode(f, result.ValidateFloor) }

// Digest is the SHA-256 of the encoded document, hexadecimal.
func (f *Floor) Digest() (string, error) {
	text, err := f.Encode()
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// DecodeFloor reads a floor's document after checking it against its schema.
func DecodeFloor(text []byte) (*Floor, error) { return decode[Floor](text, result.ValidateFloor) }

// maxFloor bounds a floor's document, in bytes.
const maxFloor = 4 << 20

// LoadFloor reads a floor's document from a file.
func LoadFloor(name string) (*Floor, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFloor+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(text) > maxFloor:
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxFloor)
	}
	f, err := DecodeFloor(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func encode(v any, check func([]byte) error) ([]byte, error) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), check(b.Bytes())
}

func decode[T any](text []byte, check func([]byte) error) (*T, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	v := new(T)
	return v, json.Unmarshal(text, v)
}
