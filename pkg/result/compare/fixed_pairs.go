package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/agentx-action/pkg/result"
)

// fixedPair is one point of the fixed-length baseline on both sides.
type fixedPair struct{ head, base *result.Document }

// pairFixed holds the fixed-length runs of both sides against each other: of one
// shape, at one concurrency, and of one identity but for what may differ. The
// notes name what has no partner.
func pairFixed(o *Options) (pairs []fixedPair, notes []string) {
	if len(o.HeadFixed)+len(o.BaseFixed) == 0 {
		return nil, nil
	}
	paired := map[*result.Document]bool{}
	unlike := map[string][]string{} // points, by the key that differs
	wanted := Wanted{MayDiffer: o.MayDiffer()}
	for _, h := range o.HeadFixed {
		for _, b := range o.BaseFixed {
			if h.Mode != result.ModeFixed || b.Mode != result.ModeFixed || pointOf(h) != pointOf(b) {
				continue
			}
			paired[h], paired[b] = true, true
			wanted.Identity = h.Identity
			if keys := wanted.Differs(&b.Identity); len(keys) > 0 {
				unlike[keys[0]] = append(unlike[keys[0]], pointOf(h))
				continue
			}
			pairs = append(pairs, fixedPair{h, b})
		}
	}
	for key, points := range unlike {
		notes = append(notes, fmt.Sprintf("The fixed-length runs of both sides differ in %s and are not held against each other: %s.", key, strings.Join(sortedOnce(points), ", ")))
	}
	slices.Sort(notes)
	for _, side := range []struct {
		of   string
		docs []*result.Document
	}{{"head", o.HeadFixed}, {"base", o.BaseFixed}} {
		var alone []string
		for _, d := range side.docs {
			if !paired[d] {
				alone = append(alone, pointOf(d))
			}
		}
		if len(alone) > 0 {
			notes = append(notes, fmt.Sprintf("Fixed-length runs of the %s without a partner: %s.", side.of, strings.Join(sortedOnce(alone), ", ")))
		}
	}
	if len(pairs) == 0 {
		notes = append(notes, "No fixed-length run of the head could be held against one of the base, so kernel and serving are not told apart.")
	}
	return pairs, notes
}

// pointOf is a point of the fixed-length baseline in words: 8192/1024 at 4.
func pointOf(d *result.Document) string {
	if d.Mode != result.ModeFixed {
		return "not a fixed-length run (" + d.RunID + ")"
	}
	return fmt.Sprintf("%s at %d", shapeOf(d), d.Settings.Concurrency)
}

func sortedOnce(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
