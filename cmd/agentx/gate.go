package main

import (
	"errors"
	"slices"

	"github.com/org/agentx-action/pkg/result/validity"
)

// What --fail-on lists.
const (
	onInvalid    = "invalid"
	onUntrusted  = "untrusted" // which what is invalid is too
	onRegression = "regression"
	onNothing    = "never"
)

func (f *outputFlags) failsOn(what string) bool { return slices.Contains(f.FailOn, what) }

// gates refuses a list that contradicts itself.
func (f *outputFlags) gates() error {
	if len(f.FailOn) > 1 && f.failsOn(onNothing) {
		return errors.New("--fail-on: never stands alone")
	}
	return nil
}

// gate fails a run that does not count, where that was asked for.
func (f *outputFlags) gate(v *validity.Verdict) error {
	switch {
	case !f.failsOn(onInvalid) && !f.failsOn(onUntrusted), v.Valid() && (v.Trusted || !f.failsOn(onUntrusted)):
		return nil
	case v.SubmissionValid == nil:
		return &invalidError{[]string{"no rule set was asked for: give --scenario"}}
	case !v.Valid():
		return &invalidError{v.SubmissionInvalidReasons}
	}
	var codes []string
	for _, found := range v.Findings {
		if found.Severity == validity.Untrusted {
			codes = append(codes, found.Code)
		}
	}
	return &invalidError{codes}
}
