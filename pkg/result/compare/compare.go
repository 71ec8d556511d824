package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/org/agentx-action/pkg/result"
	"github.com/org/agentx-action/pkg/result/validity"
)

// Options say how to compare. The zero value compares under the default axis
// and thresholds.
type Options struct {
	CreatedAt time.Time // of the document

	// Axis are the keys of the identity that the sides may differ on, because
	// they are what is tried; nil = DefaultAxis.
	Axis []string
	// AllowMismatch lets further keys through; every output says so.
	AllowMismatch []string

	// Floor is the run-to-run noise of the runner pool; nil = none stored.
	Floor *Floor
	// Thresholds are relative changes from which a gated figure counts, by its
	// key; absolute ones for error_rate. What is missing takes the default.
	Thresholds map[string]float64

	Seed      uint64 // of the bootstrap; 0 = 1
	Resamples int    // 0 = 1,000; less than that is raised to it

	HeadLabel, BaseLabel string // "head" and "base" when empty

	// Fixed-length runs of each side, for kernel against serving.
	HeadFixed, BaseFixed []*result.Document
}

func (o *Options) axis() []string {
	if o.Axis == nil {
		return DefaultAxis
	}
	return o.Axis
}

const (
	minResamples = 1000
	minEffective = 10   // root traces (decisions.md 24)
	alpha        = 0.05 // of the whole gated family
)

// Compare judges what changed from base to head. It needs an agentic run on each
// side and fails on nothing else: what cannot be compared is in the verdict.
func Compare(head, base []*Run, o Options) (*Comparison, error) {
	if len(head) == 0 || len(base) == 0 {
		return nil, errors.New("compare: a side has no run")
	}
	for _, r := range slices.Concat(head, base) {
		if r.Doc.Mode == result.ModeFixed {
			return nil, fmt.Errorf("compare: the run %s is of the fixed-length baseline; it can only stand beside an agentic one", r.Doc.RunID)
		}
	}
	for _, side := range [][]*Run{head, base} {
		if id := twice(side); id != "" {
			return nil, fmt.Errorf("compare: the run %s stands twice on one side; a run is no repeat of itself", id)
		}
	}
	c := &Comparison{
		Kind: Kind, SchemaVersion: SchemaVersion, CreatedAt: o.CreatedAt,
		Head: sideOf(head, cmp.Or(o.HeadLabel, "head")), Base: sideOf(base, cmp.Or(o.BaseLabel, "base")),
		Gated: []Finding{}, Described: []Finding{}, Layers: []Layer{},
	}
	if len(head)+len(base) > 2 && sharesRuns(o.Floor, slices.Concat(head, base)) {
		o.Floor = nil
		c.Notes = append(c.Notes, "The noise floor is left out: it was measured from runs that are compared here as repeats, and would count their spread twice.")
	}
	if o.Floor != nil {
		digest, err := o.Floor.Digest()
		if err != nil {
			return nil, err
		}
		c.Floor = &FloorRef{o.Floor.Pool, len(o.Floor.Runs), digest}
	}
	c.mismatches(head, base, &o)
	if len(c.Refused) > 0 {
		c.Verdict, c.Summary = Refused, refusal(c.Refused)
		return c, nil
	}
	c.judge(head, base, &o)
	c.remark(head, base)
	return c, nil
}

// twice is the id of a run that a side holds more than once, or "".
func twice(side []*Run) string {
	seen := map[string]bool{}
	for _, r := range side {
		if seen[r.Doc.RunID] {
			return r.Doc.RunID
		}
		seen[r.Doc.RunID] = true
	}
	return ""
}

// sharesRuns reports whether a floor was measured from any of the runs.
func sharesRuns(f *Floor, runs []*Run) bool {
	return f != nil && slices.ContainsFunc(f.Runs, func(of RunRef) bool {
		return slices.ContainsFunc(runs, func(r *Run) bool { return r.Doc.RunID == of.RunID })
	})
}

func refusal(keys []Mismatch) string {
	return fmt.Sprintf("Not compared: the sides differ in %s. Only the axis under test may differ; --axis KEY makes a key part of it, --allow-mismatch KEY compares all the same and says so.", strings.Join(keysOf(keys), ", "))
}

func keysOf(list []Mismatch) (names []string) {
	for _, m := range list {
		names = append(names, m.Key)
	}
	return names
}

// judge computes everything that the runs have.
func (c *Comparison) judge(head, base []*Run, o *Options) {
	p := pair(head, base)
	c.Pairing = p.Pairing
	noises := p.noises(o.Floor)
	estimates := map[string]*estimate{}
	for _, s := range p.statistics() {
		e := bootstrap(s, max(o.Resamples, minResamples), max(o.Seed, 1))
		estimates[s.key] = &e
	}
	for _, m := range gated {
		c.Gated = append(c.Gated, m.finding(p, estimates[m.key], noises[m.key], o))
	}
	c.Described = described(head, base)
	c.HeadAgainstFixed, c.BaseAgainstFixed = fixedOf(head, o.HeadFixed), fixedOf(base, o.BaseFixed)
	c.Layers = c.attribute(p, estimates, noises, o)
	c.Verdict = c.worst()
	c.Summary = c.summarize() + c.despite()
}

func fixedOf(runs []*Run, fixed []*result.Document) []AgainstFixed {
	if len(fixed) == 0 {
		return nil
	}
	return AgainstFixedRuns(runs[0].Doc, fixed)
}

// worst is the gravest verdict of the gated figures. One that could not be
// judged only decides when nothing else was found.
func (c *Comparison) worst() Verdict {
	for _, v := range []Verdict{Regression, Changed, Improvement} {
		for i := range c.Gated {
			if c.Gated[i].Verdict == v {
				return v
			}
		}
	}
	judged := 0
	for i := range c.Gated {
		if c.Gated[i].Verdict == NoChange {
			judged++
		}
	}
	if judged == 0 || c.Pairing.EffectiveN < minEffective {
		return NotEnough
	}
	return NoChange
}

// Failed says which side had every request failed: "head", "base" or nothing.
func (c *Comparison) Failed() string {
	switch {
	case c.Head.OK == 0 && c.Head.Errors > 0:
		return "head"
	case c.Base.OK == 0 && c.Base.Errors > 0:
		return "base"
	}
	return ""
}

func (c *Comparison) summarize() string {
	if side := c.Failed(); side != "" {
		n := c.Head.Errors
		if side == "base" {
			n = c.Base.Errors
		}
		return fmt.Sprintf("Every one of the %s's %d requests failed: there is nothing to compare.", side, n)
	}
	if c.Verdict == NotEnough {
		return fmt.Sprintf("Not enough data: %d requests in common over %.1f effective root traces; %d are needed.", c.Pairing.Pairs, c.Pairing.EffectiveN, minEffective)
	}
	var parts []string
	for i := range c.Gated {
		switch f := &c.Gated[i]; f.Verdict {
		case Regression, Improvement, Changed:
			parts = append(parts, f.sentence())
		}
	}
	var s string
	switch {
	case len(parts) > 0:
		s = strings.Join(parts, "; ") + "." + c.likeliest()
	default:
		s = fmt.Sprintf("No change seen in any of %d gated figures over %d paired requests%s.", len(c.Gated), c.Pairing.Pairs, c.ungated())
	}
	if c.Verdict == Changed {
		s += " One run a side: run-to-run noise is unknown, so this is no regression yet."
	}
	return s
}

// likeliest names the layer on top, and what the fixed-length runs say of it.
func (c *Comparison) likeliest() string {
	if len(c.Layers) == 0 || !c.Layers[0].Moved {
		return ""
	}
	top, last := &c.Layers[0], &c.Layers[len(c.Layers)-1]
	s := " Likeliest layer: " + top.Name
	if by := top.by(); by != "" {
		s += ", " + by
	}
	switch {
	case last == top:
	case last.Name == LayerKernel && last.Moved:
		s += "; the fixed-length baseline moved too, " + last.by() + ": kernel or chip"
	case last.Name == LayerServing:
		s += "; the fixed-length baseline did not move: the serving system"
	}
	return s + "."
}

// ungated names layers that moved though no gated figure did.
func (c *Comparison) ungated() string {
	var names []string
	for i := range c.Layers {
		if l := &c.Layers[i]; l.Moved {
			names = append(names, l.Name+" ("+l.by()+")")
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; what did move, though it gates nothing: " + strings.Join(names, ", ")
}

// despite names the differences that were let through.
func (c *Comparison) despite() string {
	if len(c.Allowed) == 0 {
		return ""
	}
	return " Compared in spite of a different " + strings.Join(keysOf(c.Allowed), ", ") + ", as allowed."
}

// sentence says what happened to one figure.
func (f *Finding) sentence() string {
	word := string(f.Verdict)
	if f.Verdict == Changed {
		word = "changed"
		if f.Ratio != nil {
			word += " for the " + f.direction()
		}
	}
	switch {
	case f.Absolute && f.Ratio != nil:
		return fmt.Sprintf("%s %s (%s)", f.Label, signed(*f.Ratio, true), word)
	case f.Ratio != nil:
		return fmt.Sprintf("%s %s (%s)", f.Label, signed(*f.Ratio-1, false), word)
	}
	return fmt.Sprintf("%s: %s (%s)", f.Label, f.Note, word)
}

// direction says which way a figure with a Ratio went.
func (f *Finding) direction() string {
	none := 1.0
	if f.Absolute {
		none = 0
	}
	if (*f.Ratio > none) == (f.Better == LowerIsBetter) {
		return "worse"
	}
	return "better"
}

// remark notes what a reader must know beside the figures.
func (c *Comparison) remark(head, base []*Run) {
	for _, a := range head {
		for _, b := range base {
			if a.Doc.RunID == b.Doc.RunID {
				c.Notes = append(c.Notes, fmt.Sprintf("Both sides hold the run %s.", a.Doc.RunID))
			}
		}
	}
	for _, side := range []struct {
		label string
		runs  []*Run
	}{{c.Head.Label, head}, {c.Base.Label, base}} {
		for _, r := range side.runs {
			if !r.Doc.Validity.Trusted {
				c.Notes = append(c.Notes, fmt.Sprintf("The run %s (%s) is not trusted: %s.", r.Doc.RunID, side.label, distrust(&r.Doc.Validity)))
			}
		}
	}
	for _, r := range slices.Concat(head, base) {
		if r.Doc.Outcome.Cancelled {
			c.Notes = append(c.Notes, fmt.Sprintf("The run %s ended before its time.", r.Doc.RunID))
		}
	}
	if c.Pairing.Coverage < 0.5 && c.Pairing.Pairs > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("Only %.0f %% of what either side measured was completed by both.", 100*c.Pairing.Coverage))
	}
	if plan, _ := base[0].Doc.Identity.Get("lane_plan"); plan == "shared" {
		c.Notes = append(c.Notes, "The lanes shared one list of traces, so that speed decided what was played; --lane-plan seeded pairs more.")
	}
}

// distrust lists the codes of what takes the trust away.
func distrust(v *validity.Verdict) string {
	var codes []string
	for _, f := range v.Findings {
		if f.Severity == validity.Untrusted || f.Severity == validity.Invalid && f.Code != validity.UnsafeOverride {
			codes = append(codes, f.Code)
		}
	}
	if len(codes) == 0 {
		return "its result does not say why"
	}
	return strings.Join(codes, ", ")
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
