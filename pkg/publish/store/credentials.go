package store

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/smithy-go"
)

// credentialsError says why there are no credentials and what to do.
type credentialsError struct {
	reason, advice string
	err            error // of a context, or nil
}

func (e *credentialsError) Error() string { return e.reason }
func (e *credentialsError) Unwrap() error { return e.err }

const adviceNoCredentials = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or name a role to assume with GitHub's token"

// credentialsFault keeps the words of the service that refused, and of nothing below.
func credentialsFault(ctx context.Context, err error) error {
	var own *credentialsError
	if errors.As(err, &own) {
		return own
	}
	if ctx.Err() != nil {
		return &credentialsError{reason: "asking for credentials was cut off", err: ctx.Err()}
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		e := &credentialsError{reason: "no credentials: " + api.ErrorCode() + ": " + api.ErrorMessage()}
		switch api.ErrorCode() {
		case "AccessDenied", "InvalidIdentityToken":
			e.advice = "the role's trust policy must allow this repository and ref (token.actions.githubusercontent.com:sub) with the audience " + audience
		case "ExpiredToken", "ExpiredTokenException":
			e.advice = adviceNoCredentials
		}
		return e
	}
	if strings.Contains(err.Error(), "IMDS") || strings.Contains(err.Error(), "static credentials are empty") {
		return &credentialsError{reason: "there are no credentials", advice: adviceNoCredentials}
	}
	return &credentialsError{reason: "no credentials: " + err.Error(), advice: adviceNoCredentials}
}
