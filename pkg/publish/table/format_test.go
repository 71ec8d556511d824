package table

import (
	"math"
	"testing"
)

func TestFormat(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name string
		show func(float64) string
		v    float64
		want string
	}{
		{"digits", digits, 0, "0"},
		{"digits", digits, math.Copysign(0, -1), "0"},
		{"digits", digits, 1.005, "1.00"},
		{"digits", digits, 0.09996, "0.100"},
		{"digits", digits, 9.996, "10.0"},
		{"digits", digits, 99.95, "100"},
		{"digits", digits, 12_345, "12300"},
		{"digits", digits, -0.012345, "-0.0123"},
		{"digits", digits, 1.234e-9, "1.23e-09"},
		{"digits", digits, math.MaxFloat64, "1.80e+308"},
		{"digits", digits, nan, absent},
		{"digits", digits, -inf, absent},

		{"millis", millis, 0, "0 ms"},
		{"millis", millis, 0.0005, "0.500 µs"},
		{"millis", millis, 0.12345, "123 µs"},
		{"millis", millis, 0.9996, "1.00 ms"},
		{"millis", millis, 12.345, "12.3 ms"},
		{"millis", millis, 999.4, "999 ms"},
		{"millis", millis, 999.6, "1.00 s"},
		{"millis", millis, 123_456, "123 s"},
		{"millis", millis, 999_600, "16.7 min"},
		{"millis", millis, 5_000_000, "83.3 min"},
		{"millis", millis, 53_074_320, "14.7 h"},
		{"millis", millis, -1.5, "-1.50 ms"},
		{"millis", millis, nan, absent},
		{"seconds", seconds, 1.5, "1.50 s"},
		{"seconds", seconds, inf, absent},

		{"count", count, 0, "0"},
		{"count", count, math.Copysign(0, -1), "0"},
		{"count", count, 7, "7"},
		{"count", count, 999, "999"},
		{"count", count, 999.6, "1.00k"},
		{"count", count, 0.6501, "0.650"},
		{"count", count, 1000, "1.00k"},
		{"count", count, 134_489_325, "134M"},
		{"count", count, 999_999, "1.00M"},
		{"count", count, 1.5e9, "1.50B"},
		{"count", count, 2e12, "2.00T"},
		{"count", count, -2500, "-2.50k"},
		{"count", count, nan, absent},

		{"percent", percent, 0, "0 %"},
		{"percent", percent, 0.0004, "0.0400 %"},
		{"percent", percent, 0.01, "1.00 %"},
		{"percent", percent, 0.951454, "95.1 %"},
		{"percent", percent, 0.9994, "99.9 %"},
		{"percent", percent, 0.99999, ">99.9 %"},
		{"percent", percent, 1, "100 %"},
		{"percent", percent, 1.5, "150 %"},
		{"percent", percent, -inf, absent},
		{"percent", percent, nan, absent},

		{"ratio", ratio, 1.2345, "1.23×"},
		{"ratio", ratio, nan, absent},
		{"bytes", bytes, 412_345_678, "412 MB"},
		{"bytes", bytes, 0, "0 B"},
		{"exact", exact, 1799.649, "1799.6"},
		{"exact", exact, 1170, "1170"},
		{"exact", exact, nan, absent},
		{"signed", signed, 1.234, "+1.23"},
		{"signed", signed, -3.3, "-3.30"},
		{"signed", signed, 0, "0"},
	} {
		if got := c.show(c.v); got != c.want {
			t.Errorf("%s(%v) = %q, want %q", c.name, c.v, got, c.want)
		}
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{34.21, "ms", "34.2 ms"}, {2.4, "sec", "2.40 s"}, {0.01, "ratio", "1.00 %"}, {8, "trees", "8 trees"},
		{262_144, "tokens", "262k tokens"}, {3, "", "3"}, {math.NaN(), "ms", absent},
	} {
		if got := quantity(c.v, c.unit); got != c.want {
			t.Errorf("quantity(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
