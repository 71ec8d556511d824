package main

import (
	"testing"

	"github.com/org/agentx-action/pkg/result/validity"
)

func TestGate(t *testing.T) {
	yes, no := true, false
	errors := validity.Finding{Code: validity.ErrorRate, Severity: validity.Untrusted}
	note := validity.Finding{Code: validity.TokenDrift, Severity: validity.Note}
	for name, c := range map[string]struct {
		on   []string
		v    validity.Verdict
		want string
	}{
		"never":                            {[]string{onNothing}, validity.Verdict{SubmissionValid: &no}, ""},
		"clean, without rules":             {[]string{onUntrusted}, validity.Verdict{Trusted: true, Findings: []validity.Finding{note}}, ""},
		"misleading, without rules":        {[]string{onUntrusted}, validity.Verdict{Findings: []validity.Finding{note, errors}}, "the run is not to be trusted: [error_rate]"},
		"valid":                            {[]string{onInvalid}, validity.Verdict{SubmissionValid: &yes, Findings: []validity.Finding{errors}}, ""},
		"valid, but misleading":            {[]string{onInvalid, onUntrusted}, validity.Verdict{SubmissionValid: &yes, Findings: []validity.Finding{errors}}, "the run is not to be trusted: [error_rate]"},
		"what is invalid is not trusted":   {[]string{onUntrusted}, validity.Verdict{SubmissionValid: &no, SubmissionInvalidReasons: []string{"unsafe_override"}, Trusted: true}, "the run does not count: [unsafe_override]"},
		"invalid":                          {[]string{onInvalid}, validity.Verdict{SubmissionValid: &no, SubmissionInvalidReasons: []string{"unsafe_override"}}, "the run does not count: [unsafe_override]"},
		"a regression is another's matter": {[]string{onRegression}, validity.Verdict{SubmissionValid: &no}, ""},
	} {
		f := outputFlags{FailOn: c.on}
		got := ""
		if err := f.gate(&c.v); err != nil {
			got = err.Error()
			if exitCode(err) != exitInvalid {
				t.Errorf("%s: exit code %d", name, exitCode(err))
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
