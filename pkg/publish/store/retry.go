package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// retryer repeats a request a few times, and none any more when nothing at all has
// succeeded for a while: a store that is down must not hold a job on GPUs.
type retryer struct {
	*retry.Standard
	most time.Duration
	now  func() time.Time

	mu     sync.Mutex
	failed time.Time // of the first failure since the last answer; zero is none
}

func newRetryer(attempts int, most time.Duration) *retryer {
	if attempts <= 0 {
		attempts = defaultAttempts
	}
	if most <= 0 {
		most = defaultRetryFor
	}
	return &retryer{
		Standard: retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = attempts }),
		most:     most, now: time.Now,
	}
}

// repeatable adds what was damaged on its way, and leaves out what was damaged before.
func (r *retryer) repeatable(err error) bool {
	return !errors.Is(err, errChanged) && (damaged(err) || r.Standard.IsErrorRetryable(err))
}

// damaged reports an answer that what arrived is not what was sent.
func damaged(err error) bool {
	switch code(err) {
	case "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
		return true
	}
	return false
}

// IsErrorRetryable is asked after every failure.
func (r *retryer) IsErrorRetryable(err error) bool {
	if !r.repeatable(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed.IsZero() || r.now().Sub(r.failed) < r.most
}

// GetAttemptToken notes how the attempt ends.
func (r *retryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	release, err := r.Standard.GetAttemptToken(ctx)
	if err != nil {
		return release, err
	}
	return func(err error) error {
		r.note(err)
		return release(err)
	}, nil
}

// note counts a refusal as an answer: the store is there.
func (r *retryer) note(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil || !r.repeatable(err):
		r.failed = time.Time{}
	case r.failed.IsZero():
		r.failed = r.now()
	}
}
