package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// fault is an error of the store in words that hold no key and no token. What it
// came from is not reachable through it, but for the few that callers tell apart.
type fault struct {
	text string
	kind error // ErrExists, ErrNotFound, an error of a context, errChanged, errUnended, or nil
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.kind }

// fault says what could not be done with which object, why, and what to do.
func (b *bucket) fault(done, name string, err error) error {
	var before *fault
	if errors.As(err, &before) {
		return before
	}
	f := new(fault)
	for _, kind := range []error{ErrExists, ErrNotFound, context.Canceled, context.DeadlineExceeded, errChanged, errUnended} {
		if errors.Is(err, kind) {
			f.kind = kind
		}
	}
	what := b.String()
	if name != "" {
		what = schemeS3 + b.name + "/" + b.key(name)
	}
	c := code(err)
	if c == "NoSuchKey" || c == "NotFound" || c == "" && status(err) == http.StatusNotFound {
		f.kind = ErrNotFound
	}
	switch f.kind {
	case ErrNotFound:
		f.text = fmt.Sprintf("%s %v", what, ErrNotFound)
		return f
	case ErrExists:
		f.text = fmt.Sprintf("%s: %v", what, err)
		return f
	}
	f.text = fmt.Sprintf("%s could not be %s: %s", what, done, printable(b.secrets.scrub(reason(err))))
	if advice := b.advice(err); advice != "" {
		f.text += "; " + advice
	}
	return f
}

// scrubbed is an error in other words.
type scrubbed struct {
	text string
	err  error
}

func (e *scrubbed) Error() string { return e.text }
func (e *scrubbed) Unwrap() error { return e.err }

// reason is what went wrong without the SDK's account of where in it.
func reason(err error) string {
	var api smithy.APIError
	var creds *credentialsError
	var sent *url.Error
	switch {
	case errors.As(err, &creds):
		return creds.Error()
	case errors.As(err, &api):
		text := api.ErrorCode()
		if m := api.ErrorMessage(); m != "" && m != text {
			text += ": " + m
		}
		if s := status(err); s > 0 {
			text += fmt.Sprintf(" (HTTP %d)", s)
		}
		return strings.TrimSpace(text)
	case errors.As(err, &sent): // the address, which says nothing new, is in front of it
		return sent.Err.Error()
	}
	return err.Error()
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func status(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// advice is what to do about it; empty where the reason says it.
func (b *bucket) advice(err error) string {
	var creds *credentialsError
	if errors.As(err, &creds) {
		return creds.advice
	}
	at := "AWS"
	if b.endpoint != "" {
		at = b.endpoint
	}
	switch c := code(err); {
	case c == "NoSuchBucket":
		return fmt.Sprintf("there is no bucket %s at %s (region %s): check its name, the region and the endpoint", b.name, at, b.region)
	case c == "ExpiredToken", c == "ExpiredTokenException", c == "TokenRefreshRequired", c == "RequestExpired":
		return "the credentials have expired: ask for them right before publishing, or name a role to assume, for which they are asked for when needed"
	case c == "InvalidAccessKeyId", c == "SignatureDoesNotMatch", c == "InvalidToken", c == "InvalidClientTokenId", c == "AuthFailure", strings.Contains(c, "UserNotFound"):
		return "the keys are not accepted at " + at + ": check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and that they are for this endpoint"
	case c == "PermanentRedirect", c == "AuthorizationHeaderMalformed", c == "IllegalLocationConstraintException", status(err) == http.StatusMovedPermanently:
		return fmt.Sprintf("the bucket lies in another region than %s%s: give its region", b.region, regionOf(err))
	case c == "RequestTimeTooSkewed":
		return "the clock of this machine is wrong"
	case strings.HasPrefix(c, "KMS."):
		return "check the KMS key and that the credentials may use it (kms:GenerateDataKey, kms:Decrypt)"
	case status(err) == http.StatusForbidden:
		return "the credentials may not do that: they need s3:ListBucket on the bucket, s3:GetObject, s3:PutObject and s3:AbortMultipartUpload below the prefix"
	case status(err) == http.StatusRequestEntityTooLarge:
		return fmt.Sprintf("something before the store takes no requests of %d MiB: raise its limit on bodies", partSize>>20)
	case errors.Is(err, errUnended), errors.Is(err, errChanged), errors.Is(err, context.Canceled): // says it all
	case status(err) == 0:
		return "check the address, " + at + ", and the proxy"
	}
	return ""
}

// regionOf is the region that the store named.
func regionOf(err error) string {
	var response *awshttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		if r := response.Response.Header.Get("x-amz-bucket-region"); r != "" {
			return " (" + printable(r) + ")"
		}
	}
	return ""
}
