package fixed

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shape is the largest input and output of a request, in tokens.
type Shape struct {
	ISL, OSL int
}

// maxLength bounds either length, in tokens.
const maxLength = 1 << 24

// ParseShape reads 8192:1024, and the short spellings 8k/1k, 8k1k and 1k:128.
func ParseShape(text string) (Shape, error) {
	in, out, ok := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "/", ":"), ":")
	if !ok {
		if at := strings.IndexAny(in, "kK"); at >= 0 && at+1 < len(in) {
			in, out, ok = in[:at+1], in[at+1:], true
		}
	}
	if !ok {
		return Shape{}, fmt.Errorf("shape %q: want ISL:OSL, as in 8192:1024 or 8k/1k", text)
	}
	isl, err1 := tokens(in)
	osl, err2 := tokens(out)
	if err := errors.Join(err1, err2); err != nil {
		return Shape{}, fmt.Errorf("shape %q: %w", text, err)
	}
	return Shape{isl, osl}, nil
}

func tokens(text string) (int, error) {
	digits, times := text, 1
	if n := len(text) - 1; n > 0 && (text[n] == 'k' || text[n] == 'K') {
		digits, times = text[:n], 1024
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > maxLength/times {
		return 0, fmt.Errorf("%q is no length from 1 to %d tokens", text, maxLength)
	}
	return n * times, nil
}

// String is the shape as it is written in stream ids and tables: 8192/1024.
func (s Shape) String() string { return fmt.Sprintf("%d/%d", s.ISL, s.OSL) }
