package compare

import (
	"fmt"
	"math"
	"strings"
)

// number shows a change in percent or points, with the digits that it deserves.
func number(v float64) string {
	decimals := 1
	switch {
	case math.Abs(v) < 1:
		decimals = 2
	case math.Abs(v) >= 1000:
		decimals = 0
	}
	s := fmt.Sprintf("%.*f", decimals, v)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	return s
}

// plus is number with a sign on both sides of 0.
func plus(v float64) string {
	s := number(v)
	if v > 0 && s != "0" {
		return "+" + s
	}
	return s
}

// amount is the size of a change: percent, or percentage points of an absolute one.
func amount(v float64, absolute bool) string { return number(100*v) + unitOf(absolute) }

// signed is a change with its sign, which is that of the figure: what is worse is
// said in words, never by a sign.
func signed(v float64, absolute bool) string { return plus(100*v) + unitOf(absolute) }

func unitOf(absolute bool) string {
	if absolute {
		return " points"
	}
	return " %"
}

// by says how far a layer moved, in which direction; "" without a figure.
func (l *Layer) by() string {
	switch w := l.WorseBy; {
	case w == nil:
		return ""
	case *w > 0:
		return "worse by " + amount(*w, l.Absolute)
	default:
		return "better by " + amount(-*w, l.Absolute)
	}
}
