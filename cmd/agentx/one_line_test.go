package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/org/agentx-action/pkg/run"
)

func TestOneLine(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b\nof two lines"), errors.New("c")
	for want, err := range map[string]error{
		"a":                                   a,
		"a; c":                                errors.Join(a, c),
		"a; c; a":                             errors.Join(errors.Join(a, c), a),
		"nothing was run: a; b\nof two lines": &run.UsageError{Err: fmt.Errorf("nothing was run: %w", errors.Join(a, b))},
		"both: a; c and b\nof two lines":      fmt.Errorf("both: %w and %w", errors.Join(a, c), b),
	} {
		if got := oneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
