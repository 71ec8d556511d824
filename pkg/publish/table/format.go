package table

import (
	"math"
	"strconv"

	"github.com/org/agentx-action/pkg/result/summary"
)

// absent stands where nothing was measured.
const absent = "–"

// significant is the number of digits shown.
const significant = 3

// rounded gives v to three significant digits, and its decimal exponent.
func rounded(v float64) (r float64, exponent int) {
	text := strconv.FormatFloat(v, 'e', significant-1, 64)
	r, err := strconv.ParseFloat(text, 64)
	if err != nil { // beyond the largest float once rounded up
		r = v
	}
	for i := range text {
		if text[i] == 'e' {
			exponent, _ = strconv.Atoi(text[i+1:])
		}
	}
	return r, exponent
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// digits gives three significant digits: 0.0123, 1.23, 123, 12300.
func digits(v float64) string {
	if !finite(v) {
		return absent
	}
	if v == 0 {
		return "0"
	}
	r, exponent := rounded(v)
	if exponent < -6 || exponent > 14 {
		return strconv.FormatFloat(v, 'e', significant-1, 64)
	}
	return strconv.FormatFloat(r, 'f', max(significant-1-exponent, 0), 64)
}

// unit is a size from which on a value is shown in it.
type unit struct {
	from, size float64
	name       string
}

// in shows v in the largest unit that it reaches once rounded; units go from
// small to large and the first takes what is smaller.
func in(v float64, units []unit) string {
	if !finite(v) {
		return absent
	}
	r, _ := rounded(v)
	u := units[0]
	for _, next := range units[1:] {
		if math.Abs(r) >= next.from {
			u = next
		}
	}
	return digits(v/u.size) + u.name
}

var (
	times  = []unit{{0, 1e-3, " µs"}, {1, 1, " ms"}, {1e3, 1e3, " s"}, {1e6, 60e3, " min"}, {6e6, 3600e3, " h"}}
	counts = []unit{{0, 1, ""}, {1e3, 1e3, "k"}, {1e6, 1e6, "M"}, {1e9, 1e9, "B"}, {1e12, 1e12, "T"}}
	sizes  = []unit{{0, 1, " B"}, {1e3, 1e3, " kB"}, {1e6, 1e6, " MB"}, {1e9, 1e9, " GB"}, {1e12, 1e12, " TB"}}
)

// millis shows a time given in ms: 120 µs, 12.3 ms, 1.23 s, 20.5 min, 1.75 h.
func millis(v float64) string {
	if v == 0 {
		return "0 ms"
	}
	return in(v, times)
}

// seconds shows a time given in seconds.
func seconds(v float64) string { return millis(v * 1e3) }

// count shows tokens, requests and other things counted, and rates of them:
// 7, 12.3, 12.3k, 1.23M. Whole numbers below 1000 stay whole.
func count(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e3 { // +0 takes the sign off −0
		return strconv.FormatFloat(v+0, 'f', 0, 64)
	}
	return in(v, counts)
}

// bytes shows a size in powers of 1000.
func bytes(v float64) string { return in(v, sizes) }

// percent shows a share given as 0..1. Only the whole is 100 %.
func percent(v float64) string {
	if r, _ := rounded(v); v < 1 && r >= 1 {
		return ">99.9 %"
	}
	if !finite(v) {
		return absent
	}
	return digits(100*v) + " %"
}

// ratio shows how many times as large something is.
func ratio(v float64) string {
	if !finite(v) {
		return absent
	}
	return digits(v) + "×"
}

// exact shows a figure in full, to one decimal.
func exact(v float64) string {
	if !finite(v) {
		return absent
	}
	return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64)
}

// whole shows a small count in full.
func whole(n int) string { return strconv.Itoa(n) }

// quantity shows a value in one of the document's units.
func quantity(v float64, unit string) string {
	if !finite(v) {
		return absent
	}
	switch unit {
	case "ms":
		return millis(v)
	case "s", "sec":
		return seconds(v)
	case "ratio":
		return percent(v)
	case "×":
		return ratio(v)
	case "":
		return count(v)
	}
	return count(v) + " " + unit
}

// opt shows what a pointer points to.
func opt[T any](p *T, show func(T) string) string {
	if p == nil {
		return absent
	}
	return show(*p)
}

// at finds an entry of a map of figures.
func at[T any](m map[string]T, key string) *T {
	if v, ok := m[key]; ok {
		return &v
	}
	return nil
}

// value is a single figure of the run.
func value(m map[string]summary.Value, key string) *float64 {
	if v, ok := m[key]; ok {
		return &v.Value
	}
	return nil
}
