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

// gatesOnRules refuses to ask whether a run counts where nothing says by which rules:
// hours of measuring could only end in that question.
func (f *replayFlags) gatesOnRules() error {
	if f.failsOn(onInvalid) && f.Scenario == "" {
		return errors.New("--fail-on invalid needs a rule set: give --scenario, or --fail-on untrusted")
	}
	return nil
}

// gate fails a run that does not count, where that was asked for. Without a rule set it
// can only be asked whether the figures may mislead.
func (f *outputFlags) gate(v *validity.Verdict) error {
	switch {
	case !f.failsOn(onInvalid) && !f.failsOn(onUntrusted):
		return nil
	case v.SubmissionValid != nil && !*v.SubmissionValid:
		return &invalidError{reasons: v.SubmissionInvalidReasons}
	case v.Trusted || !f.failsOn(onUntrusted):
		return nil
	}
	var codes []string
	for _, found := range v.Findings {
		if found.Severity == validity.Untrusted {
			codes = append(codes, found.Code)
		}
	}
	return &invalidError{untrusted: true, reasons: codes}
}
