package store

import (
	"fmt"
	"strings"
)

// Reference names a series in a store, or one run of it.
type Reference struct {
	Store  string // as Open takes it
	Series Series
	Key    *Key // nil for the whole series
}

// ParseReference takes s3://bucket/prefix/v1/owner/repo/cell/ref apart, with a run's
// own name at the end or without. The parts are written as in a Key: a branch
// release/1 is release=2F1.
func ParseReference(ref string) (Reference, error) {
	scheme, path := "", strings.TrimRight(ref, "/")
	if IsRemote(ref) {
		scheme, path = schemeS3, strings.TrimPrefix(path, schemeS3)
	}
	parts := strings.Split(path, "/")
	join := func(parts []string) string { return strings.Join(parts, "/") }
	if i := len(parts) - 6; i >= 0 && parts[i] == layout {
		if k, err := Parse(join(parts[i:])); err == nil {
			return Reference{scheme + join(parts[:i]), k.Series, &k}, nil
		}
	}
	if i := len(parts) - 5; i >= 0 && parts[i] == layout {
		s, err := ParseSeries(join(parts[i:]))
		if err == nil {
			return Reference{scheme + join(parts[:i]), s, nil}, nil
		}
		return Reference{}, fmt.Errorf("store reference %q: %w; a / in a branch is written =2F", printable(ref), err)
	}
	return Reference{}, fmt.Errorf("store reference %q: want <store>/%s/<owner>/<repo>/<cell>/<ref>, where a / in a branch is written =2F, or that with a run's own name", printable(ref), layout)
}

func (r Reference) String() string {
	if r.Key != nil {
		return r.Store + "/" + r.Key.String()
	}
	return r.Store + "/" + r.Series.String()
}
