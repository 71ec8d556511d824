package compare

import (
	"slices"

	"github.com/org/agentx-action/pkg/result"
)

// DefaultAxis are the keys on which two sides may differ unless told otherwise:
// a comparison is made to try another engine build, with the same arguments.
var DefaultAxis = []string{"engine_image", "engine_version"}

// mismatches sorts what differs into three lists: the axis under test, what was
// allowed, and what refuses the comparison.
func (c *Comparison) mismatches(head, base []*Run, o *Options) {
	reference := &base[0].Doc.Identity
	note := func(prefix string, id *result.Identity) {
		for _, k := range reference.Diff(id) {
			m := Mismatch{Key: prefix + k}
			m.Base, _ = reference.Get(k)
			m.Head, _ = id.Get(k)
			axis := slices.Contains(o.axis(), k)
			switch {
			case prefix == repeatPrefix: // repeats of one side must not differ at all
				addOnce(&c.Refused, m)
			case axis && prefix == floorPrefix: // the floor is of one of the two
			case axis:
				addOnce(&c.Axis, m)
			case slices.Contains(o.AllowMismatch, k):
				addOnce(&c.Allowed, m)
			default:
				addOnce(&c.Refused, m)
			}
		}
	}
	note("", &head[0].Doc.Identity)
	for _, r := range base[1:] {
		note(repeatPrefix, &r.Doc.Identity)
	}
	if o.Floor != nil {
		note(floorPrefix, &o.Floor.Identity)
	}
	reference = &head[0].Doc.Identity
	for _, r := range head[1:] {
		note(repeatPrefix, &r.Doc.Identity)
	}
}

// Prefixes of keys on which something else than the two sides differs: repeats
// of one side among each other, and the noise floor from the base.
const (
	repeatPrefix = "repeat."
	floorPrefix  = "floor."
)

func addOnce(to *[]Mismatch, m Mismatch) {
	if !slices.Contains(*to, m) {
		*to = append(*to, m)
	}
}

// sideOf describes a side.
func sideOf(runs []*Run, label string) Side {
	s := Side{Label: label, Identity: runs[0].Doc.Identity.Digest}
	for _, r := range runs {
		s.Runs = append(s.Runs, r.ref())
		p := &r.Doc.Requests.Profiling
		s.OK, s.Errors, s.Overflow, s.Censored = s.OK+p.OK, s.Errors+p.Errors, s.Overflow+p.Overflow, s.Censored+p.Censored
	}
	return s
}

func (r *Run) ref() RunRef {
	d := r.Doc
	ref := RunRef{RunID: d.RunID, Where: r.Where, StartedAt: d.StartedAt, Trusted: d.Validity.Trusted, Valid: d.Validity.SubmissionValid}
	for _, f := range d.Validity.Findings {
		ref.Findings = append(ref.Findings, f.Code)
	}
	return ref
}
