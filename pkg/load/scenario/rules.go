package scenario

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kind says what a rule does with its setting.
type Kind string

// The kinds of rules.
const (
	Lock    Kind = "lock"    // filled in; another value breaks the rule
	Default Kind = "default" // filled in; another value is free
	Forbid  Kind = "forbid"  // giving it breaks the rule; a switch may be given as off
	AtLeast Kind = "minimum" // a smaller value breaks the rule
)

// Rule is one line of a rule set.
type Rule struct {
	Setting string // name of a flag, or of an environment variable
	Kind    Kind
	Value   any    // of the setting's type; nil with Forbid
	Why     string // completes "because …"; empty with Default
	Source  string
}

// Rules is a rule set. The zero value has no rules, and one lane as its only
// default.
type Rules struct {
	Name string // empty without a scenario

	// Version is ours, raised whenever a rule or a default changes, so that two
	// results under one name can be told apart.
	Version int

	// Traces says that a run needs recorded traces; Corpora and Hubs are the
	// public corpora and the hub repositories that count.
	Traces  bool
	Corpora []string
	Hubs    []string

	// SeedRandom fills in a random seed of 63 bits where none was given.
	SeedRandom bool

	Rules []Rule
}

// Ref names the rule set and its version as results do: name@version, or
// "none".
func (r Rules) Ref() string {
	if r.Name == "" {
		return "none"
	}
	return fmt.Sprintf("%s@%d", r.Name, r.Version)
}

// Filled is a setting that a rule set filled in.
type Filled struct {
	Setting string `json:"setting"` // as the user would have typed it
	Value   string `json:"value"`
	Locked  bool   `json:"locked,omitempty"`
	Source  string `json:"source"`
}

// Outcome is what a rule set made of the settings.
type Outcome struct {
	Filled     []Filled    `json:"filled,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
}

// Apply fills in what was not given and finds every broken rule. It returns an
// error when the run must not start: values that no run accepts, or broken
// rules that unsafeOverride does not cover; a [Refusal] then holds the broken
// rules, and the outcome lists them too. Broken rules that are overridden stand
// in the outcome and belong in the result, which is not valid then. With a
// setting that breaks an overridden rule the asked value stays. Names that AIPerf
// takes in several spellings come out in the one with underscores.
func (r Rules) Apply(s *Settings, unsafeOverride bool) (Outcome, error) {
	var out Outcome
	out.Violations = append(out.Violations, r.judgeDataset(s.Dataset)...)
	if r.Name != "" && len(s.Concurrency) == 0 {
		out.Violations = append(out.Violations, Violation{
			Setting: "--concurrency", Asked: "none", Rule: "must be exactly one value",
			Why:    "the number of lanes is what results are compared by",
			Remedy: "give --concurrency N", Source: section61, Overridable: true,
		})
	}
	for _, rule := range r.Rules {
		value, given := fields[rule.Setting].get(s)
		if given && rule.broken(value) {
			out.Violations = append(out.Violations, rule.violation(value))
		}
		if !given && rule.fills(s) {
			fields[rule.Setting].set(s, rule.Value)
			out.Filled = append(out.Filled, Filled{
				Setting: flag(rule.Setting), Value: text(rule.Value), Locked: rule.Kind == Lock, Source: rule.Source,
			})
		}
	}
	if s.RandomSeed == nil && r.SeedRandom {
		seed := rand.Uint64() >> 1
		s.RandomSeed = &seed
		out.Filled = append(out.Filled, Filled{Setting: "--random-seed", Value: text(seed), Source: section61})
	}
	if len(s.Concurrency) == 0 {
		s.Concurrency = []int{1}
		out.Filled = append(out.Filled, Filled{Setting: "--concurrency", Value: "1", Source: section61})
	}

	s.spell()
	err := s.check()
	stands := func(v Violation) bool { return !v.Overridable || !unsafeOverride }
	if slices.ContainsFunc(out.Violations, stands) {
		err = errors.Join(err, &Refusal{Scenario: r.Name, Violations: out.Violations})
	}
	return out, err
}

// fills tells whether the rule fills in its setting when it was not given.
func (r Rule) fills(s *Settings) bool {
	if r.Setting == "warmup-requests-per-lane" && s.AgenticCacheWarmupDurationS != nil {
		return false // the two ways to warm up exclude each other
	}
	return r.Kind == Lock || r.Kind == Default
}

func (r Rule) broken(value any) bool {
	switch r.Kind {
	case Lock:
		return !same(value, r.Value)
	case Forbid:
		return value != false
	case AtLeast:
		v, min := value.(float64), r.Value.(float64)
		return !(v >= min) // NaN too
	}
	return false
}

func (r Rule) violation(value any) Violation {
	v := Violation{
		Setting: flag(r.Setting), Asked: text(value), Why: r.Why, Source: r.Source, Overridable: true,
	}
	switch r.Kind {
	case Lock:
		v.Rule = "must be " + text(r.Value)
		v.Remedy = fmt.Sprintf("drop %s; the scenario sets it to %v", v.Setting, r.Value)
	case Forbid:
		v.Rule = "must not be given"
		v.Remedy = "drop " + v.Setting
	case AtLeast:
		v.Rule = "must be at least " + text(r.Value)
		v.Remedy = fmt.Sprintf("give %v or more, or drop %s", r.Value, v.Setting)
	}
	return v
}

func (r Rules) judgeDataset(d Dataset) []Violation {
	v := Violation{Setting: "--input-file", Asked: d.String(), Source: section61, Overridable: true}
	switch {
	case !r.Traces:
		return nil
	case d.Kind == DatasetMissing, d.Kind == DatasetSynthetic:
		v.Setting = "--public-dataset"
		v.Rule = "must be recorded traces"
		v.Why = "there is nothing to replay without them"
		v.Remedy = "give --public-dataset " + r.preferred()
		v.Overridable = false
	case d.Kind == DatasetPublic && slices.Contains(r.Corpora, canonical(d.Name)),
		d.Kind == DatasetHub && slices.Contains(r.Hubs, d.Name):
		return nil
	case d.Kind == DatasetPublic:
		v.Setting = "--public-dataset"
		v.Rule = "must be one of " + strings.Join(r.Corpora, ", ")
		v.Why = "only these pinned corpora make results comparable"
		v.Remedy = "give --public-dataset " + r.preferred()
	case d.Kind == DatasetHub:
		v.Setting = "--hf-weka-dataset"
		v.Rule = "must be " + strings.Join(r.Hubs, ", ")
		v.Why = "only a pinned corpus makes results comparable"
		v.Remedy = "give --public-dataset " + r.preferred()
	default:
		v.Rule = "must be a pinned public corpus"
		v.Why = "nobody can tell which traces a local file holds"
		v.Remedy = "give --public-dataset " + r.preferred()
		v.Source += ", spec/decisions.md 2"
	}
	return []Violation{v}
}

// preferred is the corpus to name in a remedy: the newest one, which stands
// first.
func (r Rules) preferred() string {
	if len(r.Corpora) == 0 {
		return "NAME"
	}
	return r.Corpora[0]
}
