package trace

import (
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// intList appends the numbers of a valid JSON array to ids. Nearly all bytes of
// a trace are such lists, so they are scanned here instead of decoded.
func intList(ids []int32, array jsontext.Value) ([]int32, error) {
	if array.Kind() != '[' {
		return ids, fmt.Errorf("found %v, want a list of block ids", array.Kind())
	}
	digits, n := 0, int64(0)
	for _, c := range array[1:] {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
			digits++
			if n > math.MaxInt32 {
				return ids, fmt.Errorf("element %d: a block id is at most %d", len(ids), math.MaxInt32)
			}
		case c == ',' || c == ']':
			if digits > 0 {
				ids = append(ids, int32(n))
			}
			digits, n = 0, 0
		case c <= ' ':
		default:
			return ids, fmt.Errorf("element %d: a block id is a whole number of at least 0", len(ids))
		}
	}
	return ids, nil
}

func stringList(array jsontext.Value) ([]string, error) {
	var list []string
	if err := json.Unmarshal(array, &list); err != nil {
		return nil, err
	}
	return list, nil
}
