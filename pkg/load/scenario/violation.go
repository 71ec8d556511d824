package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Violation is one broken rule.
type Violation struct {
	Setting string `json:"setting"` // as the user typed it
	Asked   string `json:"asked"`
	Rule    string `json:"rule"`
	Why     string `json:"why"`
	Remedy  string `json:"remedy"`
	Source  string `json:"source"`

	// Overridable says whether --unsafe-override lets the run start all the same.
	Overridable bool `json:"overridable"`
}

// String tells the violation in one line, without its source, which users
// don't have at hand.
func (v Violation) String() string {
	return fmt.Sprintf("%s: asked for %s, %s, because %s: %s", v.Setting, v.Asked, v.Rule, v.Why, v.Remedy)
}

// Refusal is the error of a run that breaks rules and is not overridden.
type Refusal struct {
	Scenario   string
	Violations []Violation // at least one
}

// Error lists every broken rule, a line each, and what can be done about all.
func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "scenario %s: %s", r.Scenario, count(len(r.Violations)))
	for _, v := range r.Violations {
		b.WriteString("\n  - " + v.String())
	}
	if slices.ContainsFunc(r.Violations, func(v Violation) bool { return !v.Overridable }) {
		b.WriteString("\n--unsafe-override does not help: a replay needs recorded traces")
	} else {
		b.WriteString("\nwith --unsafe-override the run starts all the same and its result is not valid")
	}
	return b.String()
}

func count(n int) string {
	if n == 1 {
		return "1 rule is broken"
	}
	return fmt.Sprintf("%d rules are broken", n)
}
