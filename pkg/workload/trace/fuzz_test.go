package trace

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// Whatever the bytes, reading ends, errors are typed, and what reads writes back equal.
func FuzzRead(f *testing.F) {
	f.Add([]byte(convertedExample), uint8(0))
	f.Add([]byte(smallTrace+"\n"+smallTrace), uint8(1))
	f.Add([]byte(`[1]{"requests":[]} {"id":"a","totals":null,"requests":[{"t":1e3,"type":"n"}]}`), uint8(2))
	for _, r := range refusals {
		f.Add([]byte(r.json), uint8(0))
	}
	f.Fuzz(func(t *testing.T, content []byte, basis uint8) {
		d := NewReader(bytes.NewReader(content), "fuzz")
		d.Basis = []Basis{"", BasisAbsolute, BasisRelative}[basis%3]
		for range len(content) + 2 {
			tr, err := d.Next()
			var e *Error
			switch {
			case err == io.EOF:
				return
			case err == nil:
				tr.Hits()
				readsBack(t, tr)
			case tr != nil:
				t.Fatalf("a trace and an error: %v", err)
			case !errors.As(err, &e) || e.Reason == "" || e.File != "fuzz":
				t.Fatalf("error %#v", err)
			}
		}
		t.Fatal("the reader does not come to an end")
	})
}
